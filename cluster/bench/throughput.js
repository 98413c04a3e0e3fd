/**
 * What one front and one worker can do, beside the collector on the same machine, with the same requests.
 *
 * Usage: node cluster/bench/throughput.js [--events 100000] [--batch 100] [--rate 1000] [--seconds 20] [--to url]
 *
 * It starts nats-server, a front and a worker. Without --to, the worker writes files. First all --events are sent as fast as they
 * are taken, to the collector and to the front, and the worker starts when the stream has all of them. Then --rate events a
 * second come for --seconds, in single requests, while the lag of the worker is measured.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { percentile, sendLoad } from './load.js'

const folder = mkdtempSync(join(tmpdir(), 'trackpost-bench-'))
const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '100000' },
    batch: { type: 'string', default: '100' },
    rate: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '20' },
    to: { type: 'string', default: pathToFileURL(join(folder, 'files')).href },
  },
})
const [events, batch, rate, seconds] = [values.events, values.batch, values.rate, values.seconds].map(Number)

const started = []
function start(program, args) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  started.push(child)
  let said = ''
  return new Promise((resolve, reject) => {
    const read = (text) => {
      said = `${said}${text}`.slice(-10_000)
      const listens = /listens on (http:[^\s,]+)|Server is ready/.exec(said)
      if (listens) resolve({ child, url: listens[1] && new URL(listens[1]) })
    }
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', read)
    child.once('exit', () => reject(new Error(`${program} has ended: ${said}`)))
    child.once('error', reject)
  })
}

async function stop({ child }) {
  child.removeAllListeners('exit')
  child.kill('SIGTERM')
  await once(child, 'exit')
}

/** CPU time of all threads of a process so far. The clock of /proc ticks 100 times a second. */
function processorSeconds({ child }) {
  const [, rest] = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')
  const fields = rest.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

const pathOf = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const startCollector = () =>
  start(process.execPath, [
    pathOf('collector/bin/trackpost-collector.js'),
    ...['--port', '0', '--store', join(folder, 'events.db')],
  ])
const bin = pathOf('cluster/bin/trackpost-cluster.js')
const log = ['--log', 'nats://127.0.0.1:24222']
const startFront = () => start(process.execPath, [bin, 'front', ...log, '--port', '0'])
const startWorker = () => start(process.execPath, [bin, 'work', ...log, '--to', values.to, '--port', '0'])

async function ready({ url }) {
  while ((await fetch(new URL('/readyz', url))).status !== 200) await wait(50)
}

async function metric({ url }, name) {
  const text = await (await fetch(new URL('/metrics', url))).text()
  return Number(new RegExp(`^trackpost_cluster_${name}\\b.* (\\S+)$`, 'm').exec(text)?.[1])
}

const perSecond = (took) => `${Math.round(events / took)} events per second`
const perEvent = (used) => `${((used / events) * 1e6).toFixed(0)} CPU µs per event`

/** As fast as they are taken. */
async function sendAll(receiver) {
  const { url } = receiver
  const load = { batch, connections: 8, seconds: 1 }
  await sendLoad(url, { ...load, rate: 10 * batch, seconds: 3 })
  const before = processorSeconds(receiver)
  const { tookSeconds, failed } = await sendLoad(url, { ...load, rate: events })
  if (failed > 0) throw new Error(`${failed} events were not taken`)
  return { tookSeconds, usedSeconds: processorSeconds(receiver) - before }
}

try {
  console.log(`${availableParallelism()} cores, load ${loadavg()[0].toFixed(1)} before; batches of ${batch}`)
  const collector = await startCollector()
  const plain = await sendAll(collector)
  await stop(collector)
  console.log(`collector: ${perSecond(plain.tookSeconds)}, ${perEvent(plain.usedSeconds)}`)

  const stream = ['-a', '127.0.0.1', '-p', '24222', '-js', '-sd', join(folder, 'stream')]
  const nats = await start('nats-server', stream)
  const first = await startWorker()
  await ready(first)
  const front = await startFront()
  await ready(front)
  await stop(first)
  const natsBefore = processorSeconds(nats)
  const fronted = await sendAll(front)
  const natsUsed = processorSeconds(nats) - natsBefore
  console.log(
    `front:     ${perSecond(fronted.tookSeconds)}, ${perEvent(fronted.usedSeconds)}, nats-server ${perEvent(natsUsed)}`,
  )

  const startMs = performance.now()
  const worker = await startWorker()
  const behind = async () =>
    (await metric(worker, 'ready')) !== 1 || (await metric(worker, 'lag_events')) !== 0
  while (await behind()) await wait(50)
  console.log(
    `worker:    ${perSecond((performance.now() - startMs) / 1000)} with its start, ` +
      `${perEvent(processorSeconds(worker))}, to ${new URL(values.to).protocol}`,
  )

  const lags = []
  let isOver = false
  const watching = (async () => {
    for (; !isOver; await wait(200)) lags.push(await metric(worker, 'lag_seconds'))
  })()
  const { latencies } = await sendLoad(front.url, { rate, batch: 1, connections: 8, seconds })
  const endMs = performance.now()
  while (await behind()) await wait(20)
  const settledMs = performance.now() - endMs
  isOver = true
  await watching
  lags.sort((one, other) => one - other)
  console.log(
    `lag:       at ${rate} single events per second, median ${percentile(lags, 0.5).toFixed(2)} s, at most ${percentile(lags, 1).toFixed(2)} s; ` +
      `all written ${settledMs.toFixed(0)} ms after the last answer; answers p50 ${percentile(latencies, 0.5).toFixed(1)} ms, p99 ${percentile(latencies, 0.99).toFixed(1)} ms`,
  )
} finally {
  for (const child of started) {
    child.removeAllListeners('exit')
    child.kill('SIGKILL')
  }
  rmSync(folder, { recursive: true, force: true })
}
