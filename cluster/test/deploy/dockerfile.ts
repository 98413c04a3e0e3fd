import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

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

/** The equivalent of an image: a folder instead of `/`, and the command that starts the program in it. */
export interface Image {
  root: string
  environment: Record<string, string>
  uid: number | undefined
  workdir: string
  entrypoint: string[]
  healthcheck: string[]
  exposed: number[]
  from: string
}

/**
 * Does the work of `docker build` in folders, without a daemon. The build and the result use the Node.js, npm and shell of this
 * machine instead of those of the base images.
 */
export function build(
  instructions: readonly Instruction[],
  folder: string,
  args: Record<string, string>,
): Image {
  const stages = new Map<string, Image>()
  let image: Image | undefined
  for (const { name, text } of instructions) {
    if (name === 'FROM') {
      const [from = '', , alias = 'final'] = text.split(' ')
      const root = join(folder, alias)
      mkdirSync(root)
      chmodSync(root, 0o755)
      image = {
        root,
        environment: {},
        uid: undefined,
        workdir: root,
        entrypoint: [],
        healthcheck: [],
        exposed: [],
        from,
      }
      stages.set(alias, image)
      continue
    }
    if (image === undefined) throw new Error(`${name} before FROM`)
    run(image, name, text, args, stages)
  }
  if (image === undefined) throw new Error('no FROM')
  return image
}

function run(
  image: Image,
  name: string,
  text: string,
  args: Record<string, string>,
  stages: Map<string, Image>,
): void {
  const { root, environment } = image
  const inside = (path: string) => join(root, path)
  if (name === 'WORKDIR') {
    image.workdir = inside(text)
    mkdirSync(image.workdir, { recursive: true })
  } else if (name === 'ARG') {
    const [key = '', value = ''] = text.split('=')
    environment[key] = args[key] ?? value.replaceAll('"', '')
  } else if (name === 'ENV') {
    for (const [, key = '', value = ''] of text.matchAll(/(\w+)=(\S+)/g)) environment[key] = value
  } else if (name === 'RUN') {
    const command = text.replace(/(?<=\s)\/(?=\w)/g, `${root}/`)
    execFileSync('sh', ['-ec', command], {
      cwd: image.workdir,
      env: { ...process.env, ...environment },
      stdio: 'pipe',
    })
  } else if (name === 'COPY') copy(image, text, stages)
  else if (name === 'USER') image.uid = Number(text.split(':')[0])
  else if (name === 'EXPOSE') image.exposed.push(Number(text))
  else if (name === 'ENTRYPOINT') image.entrypoint = JSON.parse(text)
  else if (name === 'HEALTHCHECK') image.healthcheck = JSON.parse(text.slice(text.indexOf('CMD ') + 4))
  else if (name !== 'VOLUME') throw new Error(`unknown instruction ${name}`)
}

function copy({ root }: Image, text: string, stages: Map<string, Image>): void {
  const words = text.split(' ')
  const option = (name: string) => words.find((word) => word.startsWith(`--${name}=`))?.split('=')[1]
  const [source = '', target = ''] = words.filter((word) => !word.startsWith('--'))
  const stage = stages.get(option('from') ?? '')
  if (stage === undefined) throw new Error(`COPY without a stage: ${text}`)
  cpSync(join(stage.root, source), join(root, target), { recursive: true, verbatimSymlinks: true })
  const [uid, gid] = (option('chown') ?? '').split(':').map(Number)
  if (uid !== undefined && gid !== undefined && process.getuid?.() === 0) {
    for (const path of [
      target,
      ...readdirSync(join(root, target), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(target, name),
      ),
    ]) {
      chownSync(join(root, path), uid, gid)
    }
  }
}

/** The program runs as the user of the image only if this process is root. */
export function runImage(
  image: Image,
  command: readonly string[],
  added: Record<string, string> = {},
): ChildProcess {
  const [program, ...args] = command.map((part) =>
    part === '/nodejs/bin/node' ? process.execPath : part.replace(/^\/(?=app|data)/, `${image.root}/`),
  )
  const isRoot = process.getuid?.() === 0 && image.uid !== undefined
  return spawn(program ?? '', args, {
    cwd: image.workdir,
    env: { ...image.environment, ...added },
    ...(isRoot && { uid: image.uid, gid: image.uid }),
  })
}
