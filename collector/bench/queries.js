// Fills a store with events of 600 bytes, and measures each query of the page, the start, and ingest beside ten open pages.
// Usage, after a build: node bench/queries.js [events, default 100000] [keep]
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { startCollector } from '../dist/index.js'

const events = Number(process.argv[2] ?? 100_000)
const folder = mkdtempSync(join(tmpdir(), 'trackpost-bench-'))
const store = join(folder, 'events.db')
const agent = new Agent({ keepAlive: true, maxSockets: 16 })

const NAMES = ['Order Completed', 'Product Viewed', 'Cart Updated', 'Signed Up', 'Searched']
const PAD = 'lorem ipsum dolor sit amet consectetur '.repeat(5)

let sent = 0
function newEvent() {
  sent++
  const type = sent % 20 === 0 ? 'identify' : sent % 7 === 0 ? 'page' : 'track'
  const user = `user-${sent % 5000}`
  return {
    ...{ type, messageId: `message-${sent}`, anonymousId: `cookie-${sent % 7000}` },
    ...(sent % 3 === 0 ? {} : { userId: user }),
    ...(type === 'track' && {
      event: NAMES[sent % 5],
      properties: { total: sent % 1000, currency: 'EUR', pad: PAD },
    }),
    ...(type === 'page' && { name: `Page ${sent % 40}`, properties: { path: `/p/${sent % 40}`, pad: PAD } }),
    ...(type === 'identify' && { traits: { name: `Name ${user}`, email: `${user}@example.com`, pad: PAD } }),
    context: { app: { version: sent > events / 2 ? '2.0' : '1.9' }, locale: 'de-DE' },
  }
}

function post(url, body) {
  const started = performance.now()
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', authorization: 'Basic c2hvcDo=' }
    const out = request(`${url}/v1/batch`, { method: 'POST', agent, headers }, (response) => {
      response.resume().on('end', () => resolve([response.statusCode, performance.now() - started]))
    })
    out.on('error', reject).end(body)
  })
}

async function fill(url, count, clients = 8) {
  const bodies = Array.from({ length: Math.ceil(count / 100) }, () =>
    JSON.stringify({ batch: Array.from({ length: 100 }, newEvent) }),
  )
  const times = []
  const cpu = process.cpuUsage()
  const started = performance.now()
  const client = async () => {
    for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) {
      const [status, ms] = await post(url, body)
      if (status !== 200) throw new Error(`answered ${status}`)
      times.push(ms)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  times.sort((a, b) => a - b)
  const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))].toFixed(0)
  const { user, system } = process.cpuUsage(cpu)
  const perCpuSecond = Math.round(count / ((user + system) / 1e6))
  return {
    perSecond: Math.round(count / ((performance.now() - started) / 1000)),
    perCpuSecond,
    p50: at(0.5),
    p99: at(0.99),
  }
}

const keep = Number(process.argv[3] ?? Math.max(events, 100_000))
const options = { port: 0, store, keep }
let collector = await startCollector(options)
console.log(`fill, 100 a request, 8 clients: ${JSON.stringify(await fill(collector.url, events))}`)
await collector.close()
const before = performance.now()
collector = await startCollector(options)
console.log(`start with ${collector.count()} events: ${(performance.now() - before).toFixed(0)} ms`)

const QUERIES = [
  'events?order=newest&limit=200&view=summary',
  'events?order=newest&limit=200&view=summary&q=lorem',
  'events?order=newest&q=nowhere',
]
QUERIES.push(
  'events?q=properties.total:7',
  'events?q=properties.none:7',
  'events?q=properties.total>998',
  'events?q=user:user-17',
  'events?q=event:"Signed Up" properties.total<0',
)
QUERIES.push(
  'count?q=properties.total:7',
  'count?q=status:accepted',
  'count?q=context.app.version:2.0',
  'requests?limit=200',
  'requests?q=nowhere',
)
QUERIES.push(
  'overview',
  'overview?from=-1d',
  'catalogue',
  'catalogue?format=schema',
  'catalogue/track:Order%20Completed',
  'users',
  'users?q=user-17',
  'users?q=name',
  'users/user-18',
)
QUERIES.push('problems', 'destinations', 'stats', 'events/77', 'changes')
for (const path of QUERIES) {
  const times = []
  let status
  for (let round = 0; round < 3; round++) {
    // Time of the processor, the client's included: the clock would measure what else the machine does.
    const started = process.cpuUsage()
    const response = await fetch(`${collector.url}/api/${path}`)
    await response.text()
    status = response.status
    const { user, system } = process.cpuUsage(started)
    times.push((user + system) / 1000)
  }
  console.log(
    `${String(Math.min(...times).toFixed(0)).padStart(6)} ms  ${path}${status === 200 ? '' : ` (${status})`}`,
  )
}

// Ten pages: each follows the stream, and asks for the newest events with each message.
const pages = Array.from({ length: 10 }, async () => {
  const response = await fetch(`${collector.url}/api/stream`)
  for await (const _ of response.body)
    await (await fetch(`${collector.url}/api/events?order=newest&limit=50&view=summary`)).text()
})
console.log(`beside ten pages: ${JSON.stringify(await fill(collector.url, 20_000, 4))}`)
const heap = process.memoryUsage().rss / 1e6
console.log(`memory of this process, clients included: ${heap.toFixed(0)} MB`)
await collector.close()
await Promise.allSettled(pages)
rmSync(folder, { recursive: true, force: true })
process.exit()
