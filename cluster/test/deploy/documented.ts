import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const guide = readFileSync(fileURLToPath(new URL('../../../docs/cluster.md', import.meta.url)), 'utf8')

/** Returns the first code block of docs/cluster.md after the text `after`, with replacements. */
export function documented(after: string, replaced: Readonly<Record<string, string>>): string {
  const start = guide.indexOf(after)
  if (start < 0) throw new Error(`the guide does not say ${after}`)
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(guide.slice(start)) ?? []
  let commands = block
  for (const [text, other] of Object.entries(replaced)) {
    if (!block.includes(text)) throw new Error(`the commands after "${after}" do not have ${text}`)
    commands = commands.replaceAll(text, other)
  }
  return commands
}
