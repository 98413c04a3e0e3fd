export interface Instruction {
  name: string
  text: string
}

export function readDockerfile(text: string): Instruction[] {
  const lines = text.replace(/^\s*#.*\n/gm, '').replace(/\\\n/g, ' ')
  return lines.split('\n').flatMap((line) => {
    const [, name, rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line.trim()) ?? []
    return name === undefined ? [] : [{ name, text: rest.replace(/\s+/g, ' ').trim() }]
  })
}
