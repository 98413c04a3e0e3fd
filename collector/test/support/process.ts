import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const launcher = fileURLToPath(new URL('../../bin/trackpost-collector.js', import.meta.url))

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'trackpost-collector-'))
}

/** The path of a database that does not exist yet. */
export function newDatabaseFile(): string {
  return join(newFolder(), 'events.db')
}

/** Starts the command in a folder of its own. The caller ends it, as hooks have to. */
function spawnCommand(args: readonly string[], added: Record<string, string>) {
  const cwd = newFolder()
  const ofMachine = Object.entries(process.env).filter(([name]) => !name.startsWith('TRACKPOST_'))
  // By default, events are stored in the user's data folder, which is this one.
  const env = { ...Object.fromEntries(ofMachine), HOME: cwd, XDG_DATA_HOME: cwd, LOCALAPPDATA: cwd, ...added }
  return spawn(process.execPath, [launcher, ...args], { cwd, env })
}

/** Starts a collector. The caller ends it. `listens` is its address, as soon as it has one. */
export function startUnowned(args: readonly string[], added: Record<string, string> = {}) {
  const child = spawnCommand(args, added)
  const lines: string[] = []
  let rest = ''
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  /** Resolves when all output has been read. */
  const ended = once(child, 'close') as Promise<[code: number | null, signal: string | null]>
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
  return { child, listens, lines, ended }
}

/** Starts a collector, kills it when the test ends, and resolves when it listens. */
export async function start(args: readonly string[], added: Record<string, string> = {}) {
  const { listens, ...started } = startUnowned(args, added)
  onTestFinished(() => void started.child.kill('SIGKILL'))
  return { ...started, url: await listens }
}

/** Runs the command until it ends. */
export async function run(args: readonly string[], added: Record<string, string> = {}) {
  const child = spawnCommand(args, added)
  onTestFinished(() => void child.kill('SIGKILL'))
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
