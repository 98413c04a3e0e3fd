/**
 * A process with a spool, which the tests kill. Usage: child.mjs DIRECTORY HOST MODE NAME. With the HOST `none`, every
 * request fails with 503; with `stub`, every request succeeds. The modes:
 *
 * - `track`: tracks five events every 5 ms; prints `stored N` when the first N events are stored
 * - `burst`: tracks COUNT events; prints `stored COUNT` when they are stored, and keeps running
 * - `exit`, `throw`: tracks one event, and ends in the same turn of the event loop
 * - `kill`, `memory`, `thread`: tracks one event, and ends in the next turn: by SIGKILL, out of memory, as a terminated thread
 * - `drain`: tracks nothing; ends when no event is left in the directory, and prints its counts, time and memory
 */
import { readdirSync } from 'node:fs'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { Analytics } from '../../../dist/index.js'
import { FileSpool } from '../../../dist/spool.js'
import { eventOf } from './events.mjs'

const [directory, host, mode, name] = process.argv.slice(2)
const count = Number(process.env.COUNT ?? 1)
const httpClient = host === 'none' ? async () => new Response('', { status: 503 }) : undefined
const stub = host === 'stub' ? async () => new Response('', { status: 200 }) : httpClient

if (mode === 'thread' && isMainThread) {
  const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) })
  await new Promise((resolve) => worker.once('message', resolve))
  await worker.terminate()
  process.exit()
}

const startMs = performance.now()
const startRss = process.memoryUsage().rss
let peakRss = startRss
const analytics = new Analytics({
  writeKey: 'wk_spool',
  ...(stub === undefined ? { host } : { httpClient: stub }),
  flushAt: 50,
  flushInterval: 20,
  // A journal holds what memory holds.
  ...(mode === 'burst' && { maxQueueSize: 2_000_000, maxQueueBytes: 1_000_000_000 }),
  spool: new FileSpool(directory),
})
const keepAlive = setInterval(() => {
  peakRss = Math.max(peakRss, process.memoryUsage().rss)
}, 20)
let tracked = 0

function track(events) {
  for (let index = 0; index < events; index++) analytics.track(eventOf(`${name}-${++tracked}`))
  const upTo = tracked
  void analytics.stored().then((isStored) => {
    if (isStored) process.stdout.write(`stored ${upTo}\n`)
  })
}

if (mode === 'track') setInterval(() => track(5), 5)
else if (mode === 'burst') {
  const more = () => {
    for (let index = 0; index < 1_000 && tracked < count; index++)
      analytics.track(eventOf(`${name}-${++tracked}`))
    if (tracked < count) return setImmediate(more)
    void analytics.stored().then(() => process.stdout.write(`stored ${tracked}\n`))
  }
  more()
} else if (mode === 'drain') await drain()
else {
  track(1)
  if (mode === 'exit') process.exit(0)
  if (mode === 'throw') throw new Error('as intended')
  await new Promise((resolve) => setImmediate(resolve))
  if (mode === 'kill') process.kill(process.pid, 'SIGKILL')
  if (mode === 'thread') parentPort.postMessage('tracked')
  const all = []
  while (mode === 'memory') all.push(Array.from({ length: 1_000 }, () => ({ mode })))
}

async function drain() {
  const deadline = Date.now() + 600_000
  do {
    await new Promise((resolve) => setTimeout(resolve, 20))
  } while (hasEvents() && Date.now() < deadline)
  clearInterval(keepAlive)
  const { recovered, delivered } = analytics.stats
  const ms = performance.now() - startMs
  await analytics.closeAndFlush()
  process.stdout.write(`${JSON.stringify({ recovered, delivered, ms, grownBytes: peakRss - startRss })}\n`)
}

/** A process that has taken over a file and has sent its events removes it. */
function hasEvents() {
  return readdirSync(directory).some((path) => path.endsWith('.jsonl'))
}
