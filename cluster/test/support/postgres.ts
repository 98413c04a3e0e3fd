import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { test } from 'vitest'
import { TIER } from '../../../scripts/tiers.mjs'
import { holdPort } from '../../../test/support/held-port.ts'
import { findPostgres } from '../../scripts/find-postgres.mjs'

const bin = TIER === 'default' ? undefined : findPostgres()

/** `test`, or `test.skip` without PostgreSQL, so that the tests count as skipped. */
export const postgresTest = bin === undefined ? test.skip : test

export const hasPostgres = bin !== undefined

export interface PostgresServer {
  readonly port: number
  /** Creates an empty database; resolves with its address. */
  newDatabase(): Promise<string>
  /** Kills the server and all its processes at once. The files that they have written remain, unlike after a power cut. */
  kill(): Promise<void>
  /** Stops all processes of the server: connections stay open, but get no response. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** Starts the server again after `kill`, with the same port and data. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** PostgreSQL refuses to run as root. If the tests run as root, PostgreSQL runs as the user `postgres`, or as `nobody`. */
export function serverUser(): { uid: number; gid: number } | Record<string, never> {
  if (userInfo().uid !== 0) return {}
  const idOf = (flag: string, user: string) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }))
  for (const user of ['postgres', 'nobody']) {
    try {
      return { uid: idOf('-u', user), gid: idOf('-g', user) }
    } catch {
      // This system does not know the user.
    }
  }
  throw new Error('no user to run PostgreSQL as')
}

export async function startPostgres(): Promise<PostgresServer> {
  if (bin === undefined) throw new Error('this machine has no PostgreSQL')
  const user = serverUser()
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-postgres-'))
  if ('uid' in user) chownSync(folder, user.uid as number, user.gid as number)
  const data = join(folder, 'data')
  const flags = '-U postgres -A trust -E UTF8 --locale C --no-sync --no-instructions'.split(' ')
  execFileSync(join(bin, 'initdb'), ['-D', data, ...flags], {
    ...user,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const { port, release } = await holdPort()
  let child = await launch(data, folder, port, user)
  const killed = async () => {
    const ended = hasEnded(child)
    signalAll(await processesOf(child), 'SIGKILL')
    await ended
  }
  return {
    port,
    newDatabase: () => createDatabase(port),
    kill: killed,
    async pause() {
      signalAll(await processesOf(child), 'SIGSTOP')
    },
    async resume() {
      signalAll(await processesOf(child), 'SIGCONT')
    },
    async restart() {
      for (;;) {
        try {
          child = await launch(data, folder, port, user)
          return
        } catch (cause) {
          // Processes of the killed server may still be ending.
          if (!/still in use|already exists/.test((cause as Error).message)) throw cause
        }
      }
    },
    async close() {
      await killed()
      release()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function launch(
  data: string,
  folder: string,
  port: number,
  user: ReturnType<typeof serverUser>,
): Promise<ChildProcess> {
  const settings = [
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'max_connections=200',
    'shared_buffers=64MB',
    // Data only has to survive the death of processes; power cuts are not tested here.
    'fsync=off',
    'full_page_writes=off',
  ]
  const args = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])]
  const child = spawn(join(bin as string, 'postgres'), args, {
    ...user,
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said = `${said}${chunk}`.slice(-4000)
  })
  // Kills the server when this process exits, even if the test has not closed the server.
  const end = () => child.pid !== undefined && child.exitCode === null && process.kill(-child.pid, 'SIGKILL')
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
  for (;;) {
    try {
      await runAsAdmin(port, 'SELECT 1')
      return child
    } catch (cause) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`PostgreSQL has ended: ${said}`, { cause })
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** Stops the server, so that it starts no processes. Returns the ids of its child processes, followed by its own id. */
async function processesOf({ pid, exitCode, signalCode }: ChildProcess): Promise<number[]> {
  if (pid === undefined || exitCode !== null || signalCode !== null) return []
  process.kill(pid, 'SIGSTOP')
  const listed = await new Promise<string>((resolve) => {
    execFile('ps', ['-o', 'pid=', '--ppid', String(pid)], (_error, output) => resolve(output))
  })
  return [...listed.split('\n').map(Number).filter(Boolean), pid]
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch (cause) {
      // The process has ended in the meantime.
      if ((cause as NodeJS.ErrnoException).code !== 'ESRCH') throw cause
    }
  }
}

function hasEnded(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => child.once('exit', () => resolve()))
}

async function runAsAdmin(port: number, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: `postgres://postgres@127.0.0.1:${port}/postgres` })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

async function createDatabase(port: number): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await runAsAdmin(port, `CREATE DATABASE ${name}`)
  return `postgres://postgres@127.0.0.1:${port}/${name}`
}
