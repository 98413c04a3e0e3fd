import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const launcher = fileURLToPath(
  process.env.COLL_BIN
    ? new URL(process.env.COLL_BIN)
    : new URL('../bin/trackpost-collector.js', import.meta.url),
)
const watcher = new URL('./loop-delay.js', import.meta.url).href

/**
 * Starts a collector as users run it: in a separate process, with the database in a file.
 *
 * @param options.database An existing file; by default a new one, removed at the end.
 * @param options.bin The program; by default that of this checkout.
 * @param options.profile A folder for a CPU profile of its main thread.
 * @param options.args More arguments of its command line.
 */
export async function startCollectorProcess({ database, profile, bin = launcher, args = [] } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-bench-'))
  const path = database ?? join(folder, 'events.db')
  const flags = ['--import', watcher]
  if (profile !== undefined) flags.push('--cpu-prof', '--cpu-prof-dir', profile)
  const startedMs = performance.now()
  const child = spawn(process.execPath, [...flags, bin, '--port', '0', '--store', path, ...args], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const url = await new Promise((resolve, reject) => {
    child.stdout.once('data', (line) => resolve(new URL(/http:\S+(?=,)/.exec(String(line))[0])))
    ended.then(() => reject(new Error('the collector did not start')))
  })
  const startMs = performance.now() - startedMs
  const memory = []
  const timer = setInterval(() => memory.push(memoryMb(child.pid)), 500)
  return {
    url,
    path,
    startMs,
    memory,
    /** CPU time of all its threads so far. */
    processorSeconds: () => processorSeconds(child.pid),
    /** Megabytes that it has written to files so far. */
    writtenMb: () => writtenMb(child.pid),
    /** How long its event loop was blocked since the last call, in milliseconds. */
    loopDelay: () =>
      new Promise((resolve) => {
        child.once('message', resolve)
        child.send('loop delay')
      }),
    fileMb: () => statSync(path).size / 1_000_000,
    async stop() {
      clearInterval(timer)
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function memoryMb(pid) {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024
  } catch {
    return Number.NaN
  }
}

function writtenMb(pid) {
  try {
    return Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))[1]) / 1_000_000
  } catch {
    return Number.NaN
  }
}

/** The clock of /proc ticks 100 times a second. */
export function processorSeconds(pid) {
  try {
    const [, rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const fields = rest.split(' ')
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return Number.NaN
  }
}
