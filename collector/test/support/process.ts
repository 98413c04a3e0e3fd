import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export const launcher = fileURLToPath(new URL('../../bin/trackpost-collector.js', import.meta.url))

/** A collector in a process of its own, from its start. */
export interface Started {
  child: ChildProcess
  /** Its address, as soon as it listens. */
  listens: Promise<string>
  /** Lines of the log so far. */
  lines: string[]
  stderr(): string
  /** Exit code and signal; resolves when all output has been read. */
  ended: Promise<[code: number | null, signal: string | null]>
}

export interface Running extends Omit<Started, 'listens'> {
  url: string
}

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'trackpost-collector-'))
}

/** The path of a database that does not exist yet. */
export function newDatabaseFile(): string {
  return join(newFolder(), 'events.db')
}

/** The environment of a process in a test, without the Trackpost variables of this machine. */
export function environment(added: Record<string, string> = {}): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('TRACKPOST_'))
  return { ...Object.fromEntries(entries), ...added }
}

/** Starts the command in a folder of its own. The caller ends it, as hooks have to. */
function spawnCommand(args: readonly string[], added: Record<string, string>, cwd = newFolder()) {
  // By default, events are stored in the user's data folder, which is this one.
  const env = environment({ HOME: cwd, XDG_DATA_HOME: cwd, LOCALAPPDATA: cwd, ...added })
  return spawn(process.execPath, [launcher, ...args], { cwd, env })
}

/** Starts the command in a folder of its own, and kills it when the test ends. */
export function launch(args: readonly string[], added: Record<string, string> = {}, cwd?: string) {
  const child = spawnCommand(args, added, cwd)
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Starts a collector. The caller ends it. */
export function startUnowned(
  args: readonly string[],
  added: Record<string, string> = {},
  cwd?: string,
): Started {
  const child = spawnCommand(args, added, cwd)
  const lines: string[] = []
  let rest = ''
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const ended = once(child, 'close') as Promise<[number | null, string | null]>
  const listens = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      rest += chunk
      const complete = rest.split('\n')
      rest = complete.pop() ?? ''
      lines.push(...complete)
      const url = / listens on (\S+),/.exec(lines.join('\n'))?.[1]
      if (url !== undefined) resolve(url)
    })
    child.once('close', () => reject(new Error(`ended before it listened: ${stderr}`)))
  })
  return { child, listens, lines, stderr: () => stderr, ended }
}

/** Starts a collector, kills it when the test ends, and resolves when it listens. */
export async function start(
  args: readonly string[],
  added: Record<string, string> = {},
  cwd?: string,
): Promise<Running> {
  const { listens, ...started } = startUnowned(args, added, cwd)
  onTestFinished(() => void started.child.kill('SIGKILL'))
  return { ...started, url: await listens }
}

export async function run(args: readonly string[], added: Record<string, string> = {}) {
  const child = launch(args, added)
  let out = ''
  let err = ''
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  const [code] = await once(child, 'close')
  return { code: code as number | null, out, err }
}
