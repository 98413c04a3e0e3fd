import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { findPostgres } from '../scripts/find-postgres.mjs'

const launcher = fileURLToPath(new URL('../../collector/bin/trackpost-collector.js', import.meta.url))
const loader = fileURLToPath(new URL('./cluster-load.js', import.meta.url))
const NATS = process.env.NATS_SERVER ?? 'nats-server'

/** @param cores Cores in the form of `taskset`; undefined = any. */
function launch(cores, program, args, options) {
  return cores === undefined
    ? spawn(program, args, options)
    : spawn('taskset', ['-c', cores, program, ...args], options)
}

/** `seconds` is the CPU time of the process and its children. */
function running(child, cleanUp = () => {}) {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  return {
    seconds: () => processorSeconds(child.pid),
    ended,
    /** @param look Called after the process has ended, while its files still exist. */
    async stop(signal = 'SIGTERM', look = () => {}) {
      child.kill(signal)
      await ended
      look()
      cleanUp()
    },
  }
}

/** PostgreSQL with more memory and WAL than by default. Commits still wait for the disk: their cost is measured too. */
export async function startPostgres(cores) {
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-bench-'))
  const bin = findPostgres()
  const user = {}
  if (userInfo().uid === 0) {
    for (const [name, flag] of [
      ['uid', '-u'],
      ['gid', '-g'],
    ])
      user[name] = Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
    chownSync(folder, user.uid, user.gid)
  }
  const data = join(folder, 'data')
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '--locale', 'C', '-E', 'UTF8'],
    {
      ...user,
      cwd: folder,
      stdio: 'ignore',
    },
  )
  const port = await freePort()
  const settings = [
    'shared_buffers=512MB',
    'max_wal_size=4GB',
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
  ]
  const args = ['-D', data, '-p', port, ...settings.flatMap((setting) => ['-c', setting])]
  const child = launch(cores, join(bin, 'postgres'), args, { ...user, cwd: folder, stdio: 'ignore' })
  const address = `postgres://postgres@127.0.0.1:${port}/postgres`
  const ask = async (text) => {
    const client = new pg.Client({ connectionString: address })
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }
  await until(() => ask('SELECT 1'))
  const server = running(child, () => rmSync(folder, { recursive: true, force: true }))
  return {
    ...server,
    stop: () => server.stop('SIGINT'),
    ask,
    async newDatabase() {
      const name = `bench_${randomBytes(4).toString('hex')}`
      await ask(`CREATE DATABASE ${name}`)
      const url = address.replace(/postgres$/, name)
      const bytes = async () => Number((await ask(`SELECT pg_database_size('${name}') AS bytes`))[0].bytes)
      return { url, bytes, drop: () => ask(`DROP DATABASE ${name} WITH (FORCE)`) }
    },
  }
}

export async function startNats(cores) {
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-bench-'))
  const port = await freePort()
  const child = launch(cores, NATS, ['-a', '127.0.0.1', '-p', port, '-js', '-sd', folder], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await new Promise((resolve, reject) => {
    child.stderr.on('data', (text) => String(text).includes('Server is ready') && resolve())
    child.once('error', reject)
  })
  return {
    ...running(child, () => rmSync(folder, { recursive: true, force: true })),
    url: `nats://127.0.0.1:${port}`,
  }
}

/** A collector as users run it. */
export async function startCollector(cores, ...args) {
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-bench-'))
  const child = launch(cores, process.execPath, [launcher, ...args, '--port', '0'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise((resolve, reject) => {
    child.stdout.once('data', (line) => resolve(new URL(/http:\S+(?=,)/.exec(String(line))[0])))
    child.once('exit', () => reject(new Error('a collector did not start')))
  })
  return { ...running(child, () => rmSync(folder, { recursive: true, force: true })), url, folder }
}

/**
 * Sends load from a separate process; resolves with its results.
 *
 * @param load.urls Connections are opened to these in turn, as by a load balancer.
 * @param load.rate Events a second; undefined = each connection sends as soon as it has a response.
 */
export async function sendLoad(cores, load) {
  const args = [loader, JSON.stringify({ ...load, urls: load.urls.map(String) })]
  const child = launch(cores, process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  await new Promise((resolve) => child.once('close', resolve))
  return JSON.parse(text)
}

/** The clock of /proc ticks 100 times a second. The figures of a process include its children that have ended. */
function processorSeconds(pid) {
  const own = (file) => readFileSync(file, 'utf8').split(') ')[1].split(' ').map(Number)
  const ticks = (fields) => fields[11] + fields[12] + fields[13] + fields[14]
  let sum = ticks(own(`/proc/${pid}/stat`))
  for (const other of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const fields = own(`/proc/${other}/stat`)
      if (fields[1] === pid) sum += ticks(fields)
    } catch {
      // The process has ended in the meantime.
    }
  }
  return sum / 100
}

/** Repeats a function until it succeeds, for at most ten seconds. */
async function until(attempt) {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt()
    } catch (cause) {
      if (tries > 200) throw cause
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
