/**
 * Sustained throughput of the collector as users run it: its own process, the database in a file.
 *
 * Usage: node bench/throughput.js [--seconds 20] [--rate 20000] [--batch 100] [--connections 8] [--pages 0] [--search] [--database path]
 *
 * --batch 1 is single events; --pages opens so many streams as pages do; --search has somebody search all the time.
 *
 * Sends at a fixed rate whatever the answers take, so that a stall shows as latency and not as a lower rate.
 * Prints what was accepted, the latency of a request from the moment at which it was due, and the collector's memory.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    rate: { type: 'string', default: '20000' },
    batch: { type: 'string', default: '100' },
    connections: { type: 'string', default: '8' },
    pages: { type: 'string', default: '0' },
    search: { type: 'boolean', default: false },
    database: { type: 'string' },
  },
})
const seconds = Number(values.seconds)
const rate = Number(values.rate)
const batchSize = Number(values.batch)
const connections = Number(values.connections)

const folder = mkdtempSync(join(tmpdir(), 'trackpost-bench-'))
const database = values.database ?? join(folder, 'events.db')
const launcher = fileURLToPath(new URL('../bin/trackpost-collector.js', import.meta.url))
const collector = spawn(process.execPath, [launcher, '--port', '0', '--database', database], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const url = await new Promise((resolve) => {
  collector.stdout.once('data', (line) => resolve(new URL(/http:\S+(?=,)/.exec(String(line))[0])))
})

const agent = new Agent({ keepAlive: true, maxSockets: connections })
const run = Math.random().toString(36).slice(2, 10)
let nextId = 0

/** Strings rather than objects: the load must cost little beside what it measures. */
function makeBatch() {
  const items = []
  for (let i = 0; i < batchSize; i++) {
    const id = nextId++
    items.push(
      `{"type":"track","userId":"user-${id % 5000}","event":"Order Completed","messageId":"${run}-${id.toString(36)}-4f6e-9a55-1c0ffee",` +
        `"timestamp":"2026-05-17T09:30:00.000Z","properties":{"orderId":"order-${id}","total":19.9,"currency":"EUR","items":["kettle","Größe L"]},` +
        `"context":{"library":{"name":"trackpost","version":"0.1.0"},"locale":"de-DE"},"integrations":{},"_metadata":{"nodeVersion":"20.0.0","jsRuntime":"node"}}`,
    )
  }
  return Buffer.from(`{"batch":[${items.join(',')}],"sentAt":"2026-05-17T09:30:00.100Z"}`)
}

const headers = {
  'content-type': 'application/json',
  authorization: `Basic ${Buffer.from('bench:').toString('base64')}`,
}

function send(body) {
  return new Promise((resolve) => {
    const outgoing = request(
      { host: url.hostname, port: url.port, path: '/v1/batch', method: 'POST', agent, headers },
      (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode))
      },
    )
    outgoing.on('error', () => resolve(0))
    outgoing.setHeader('content-length', body.length)
    outgoing.end(body)
  })
}

function memoryMb() {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${collector.pid}/status`, 'utf8'))[1]) / 1024
  } catch {
    return Number.NaN
  }
}

/** Processor time that the collector has used, seconds; the clock of /proc ticks 100 times a second. */
function processorSeconds() {
  try {
    const [, rest] = readFileSync(`/proc/${collector.pid}/stat`, 'utf8').split(') ')
    const fields = rest.split(' ')
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return Number.NaN
  }
}

/** What people do meanwhile: pages that are open, and one that searches without end. */
const besides = new AbortController()
const searches = []
async function readStream() {
  const response = await fetch(new URL('/api/stream', url), { signal: besides.signal })
  for await (const _ of response.body);
}
async function searchOn() {
  while (!besides.signal.aborted) {
    const startedMs = performance.now()
    const response = await fetch(new URL('/api/events?order=newest&view=summary&q=nowhere', url), {
      signal: besides.signal,
    })
    await response.arrayBuffer()
    searches.push(performance.now() - startedMs)
  }
}
const company = Array.from({ length: Number(values.pages) }, readStream)
if (values.search) company.push(searchOn())
const leaving = Promise.allSettled(company)

const latencies = []
const memory = []
let accepted = 0
let failed = 0
const total = Math.floor((seconds * rate) / batchSize)
const intervalMs = (1000 * batchSize) / rate
const pending = new Set()

for (let i = 0; i < 50; i++) await send(makeBatch())
const startMs = performance.now()
const processorBefore = processorSeconds()
for (let sent = 0; sent < total; ) {
  const due = Math.min(total, Math.floor((performance.now() - startMs) / intervalMs) + 1)
  for (; sent < due; sent++) {
    const dueMs = startMs + sent * intervalMs
    const one = send(makeBatch()).then((status) => {
      latencies.push(performance.now() - dueMs)
      if (status === 200) accepted += batchSize
      else failed += batchSize
      pending.delete(one)
    })
    pending.add(one)
    if (sent % Math.max(1, Math.floor(total / 20)) === 0) memory.push(Math.round(memoryMb()))
  }
  await new Promise((resolve) => setTimeout(resolve, 1))
}
await Promise.all(pending)
besides.abort()
await leaving
const processorUsed = processorSeconds() - processorBefore
const tookSeconds = (performance.now() - startMs) / 1000
memory.push(Math.round(memoryMb()))

const stats = await (await fetch(new URL('/api/stats', url))).json()
collector.kill('SIGTERM')
await new Promise((resolve) => collector.once('exit', resolve))
const fileMb = statSync(database).size / 1_000_000
agent.destroy()
rmSync(folder, { recursive: true, force: true })

latencies.sort((a, b) => a - b)
const percentile = (p) =>
  latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * p))].toFixed(1)
const expected = accepted + 50 * batchSize
console.log(
  `accepted   ${accepted} events in ${tookSeconds.toFixed(1)} s = ${Math.round(accepted / tookSeconds)} a second, ${failed} failed`,
)
console.log(
  `latency    p50 ${percentile(0.5)} ms, p99 ${percentile(0.99)} ms, p99.9 ${percentile(0.999)} ms, max ${percentile(1)} ms`,
)
console.log(
  `processor  ${processorUsed.toFixed(1)} s used by the collector, ${((processorUsed / accepted) * 1e6).toFixed(0)} µs an event`,
)
if (searches.length > 0) {
  searches.sort((a, b) => a - b)
  const at = (p) => searches[Math.min(searches.length - 1, Math.floor(searches.length * p))].toFixed(0)
  console.log(`searches   ${searches.length}, p50 ${at(0.5)} ms, max ${at(1)} ms`)
}
console.log(`memory     ${memory.join(' ')} MB`)
console.log(`database   ${fileMb.toFixed(0)} MB`)
if (stats.accepted !== expected) {
  console.error(`the collector counts ${stats.accepted} events, expected ${expected}`)
  process.exitCode = 1
}
