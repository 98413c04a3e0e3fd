/**
 * The cost of an event in each part of a cluster, and the maximum throughput of each part.
 *
 * Usage: node bench/cluster.js [--seconds 10] [--rate 3000] [--batch 100] [--only cost,fronts,store]
 *
 * `cost`: the same load on one process with SQLite, on one with PostgreSQL, and on a front, a log, a worker and PostgreSQL. The
 * CPU time of each process comes from /proc. `fronts`: the throughput of one front and of two, each on its own core. `store`:
 * the throughput of PostgreSQL, with one process and with two. The benchmark needs two cores, and should have the machine to
 * itself.
 */
import { statSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sendLoad, startCollector, startNats, startPostgres } from './cluster-servers.js'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    rate: { type: 'string', default: '3000' },
    batch: { type: 'string', default: '100' },
    only: { type: 'string', default: 'cost,fronts,store' },
  },
})
const [seconds, rate, batch] = [values.seconds, values.rate, values.batch].map(Number)
const wanted = new Set(values.only.split(','))
const WARM_UP = { rate: 2000, batch: 50, connections: 4, seconds: 3 }
const CONNECTIONS = 16
/** Events per second for each front, few enough that the front has idle time. */
const FRONT_RATE = 6000
/** Rounds of a comparison. Each measures all sides in turn, since the load of a machine changes. */
const ROUNDS = 5

console.log(`load of the machine at the start: ${loadavg()[0].toFixed(1)}; ${batch} events a request`)
if (wanted.has('cost')) {
  await costOfSqlite()
  await costOfPostgres()
  await costOfLog()
}
if (wanted.has('fronts')) await fronts()
if (wanted.has('store')) await store()
console.log(`load of the machine at the end: ${loadavg()[0].toFixed(1)}`)

async function measured(name, parts, load, finish = async () => {}, cores = undefined) {
  await sendLoad(cores, { ...WARM_UP, urls: load.urls })
  await finish()
  const before = Object.entries(parts).map(([part, { seconds }]) => [part, seconds()])
  const result = await sendLoad(cores, load)
  await finish()
  const { accepted, failed, tookSeconds } = result
  const micros = (used) => Math.round((used / accepted) * 1e6)
  const used = before.map(([part, start]) => [part, parts[part].seconds() - start])
  console.log(
    `${name}: ${Math.round(accepted / tookSeconds)} events per second, ${failed} failed, p50 ${result.p50.toFixed(1)} ms, p99 ${result.p99.toFixed(1)} ms; ` +
      `CPU µs per event: ${used.map(([part, spent]) => `${part} ${micros(spent)}`).join(', ')}; load ${micros(result.processorSeconds)}`,
  )
  return { ...result, used: Object.fromEntries(used) }
}

async function costOfSqlite() {
  const one = await startCollector()
  const { accepted } = await measured(
    'SQLite',
    { process: one },
    { urls: [one.url], rate, batch, seconds, connections: CONNECTIONS },
  )
  const events = accepted + WARM_UP.rate * WARM_UP.seconds
  const path = join(one.folder, 'trackpost-collector.db')
  await one.stop('SIGTERM', () => {
    console.log(`SQLite: ${Math.round(statSync(path).size / events)} bytes of the file per event`)
  })
}

async function costOfPostgres() {
  const postgres = await startPostgres()
  const database = await postgres.newDatabase()
  const one = await startCollector(undefined, '--store', database.url)
  const empty = await database.bytes()
  const { accepted } = await measured(
    'PostgreSQL',
    { process: one, postgres },
    { urls: [one.url], rate, batch, seconds, connections: CONNECTIONS },
  )
  const events = accepted + WARM_UP.rate * WARM_UP.seconds
  console.log(
    `PostgreSQL: ${Math.round(((await database.bytes()) - empty) / events)} bytes of the database per event`,
  )
  await one.stop()
  await postgres.stop()
}

async function costOfLog() {
  const [postgres, nats] = [await startPostgres(), await startNats()]
  const database = await postgres.newDatabase()
  const worker = await startCollector(undefined, 'work', '--log', nats.url, '--store', database.url)
  const front = await startCollector(undefined, '--log', nats.url)
  const drained = async () => {
    for (;;) {
      const { log } = await (await fetch(new URL('/api/stats', worker.url))).json()
      if (log.waiting === 0) return
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  const load = { urls: [front.url], rate, batch, seconds, connections: CONNECTIONS }
  await measured('front, log, worker', { front, log: nats, worker, postgres }, load, drained)
  for (const one of [front, worker, nats, postgres]) await one.stop()
}

/**
 * There are no workers: they would use the cores of the fronts, and a front never waits for a worker. The load and the log are
 * on the second core. The calculated figures come from runs with the same rate for each front, since an event costs less at a
 * higher rate.
 */
async function fronts() {
  const run = async (count, rate) => {
    const nats = await startNats('1')
    const all = []
    for (let nth = 0; nth < count; nth++) all.push(await startCollector(String(nth), '--log', nats.url))
    const parts = Object.fromEntries(all.map((front, nth) => [`front ${nth + 1}`, front]))
    const load = { urls: all.map(({ url }) => url), rate, batch, seconds, connections: CONNECTIONS }
    const name = `${count} front${count > 1 ? 's' : ''}${rate === undefined ? ' at full speed' : ''}`
    const result = await measured(name, { ...parts, log: nats }, load, undefined, '1')
    for (const one of [...all, nats]) await one.stop()
    const sum = all.reduce((total, _, nth) => total + result.used[`front ${nth + 1}`], 0)
    return { rate: result.accepted / result.tookSeconds, capacity: (count * result.accepted) / sum }
  }
  const seen = { measured: [], calculated: [], one: [], two: [] }
  for (let round = 0; round < ROUNDS; round++) {
    const [one, two] = [await run(1), await run(2)]
    seen.measured.push(two.rate / one.rate)
    const [oneOf, twoOf] = [await run(1, FRONT_RATE), await run(2, 2 * FRONT_RATE)]
    seen.one.push(oneOf.capacity)
    seen.two.push(twoOf.capacity)
    seen.calculated.push(twoOf.capacity / oneOf.capacity)
  }
  const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)]
  console.log(
    `two fronts, medians of ${ROUNDS}: ${median(seen.measured).toFixed(2)} times as many events as one, measured; ${median(seen.calculated).toFixed(2)} times, ` +
      `calculated: ${Math.round(median(seen.one))} and ${Math.round(median(seen.two))} events a second with a whole core for each front`,
  )
}

async function store() {
  for (const count of [1, 2]) {
    const postgres = await startPostgres()
    const database = await postgres.newDatabase()
    const all = []
    for (let nth = 0; nth < count; nth++) all.push(await startCollector(undefined, '--store', database.url))
    const parts = Object.fromEntries(all.map((process, nth) => [`process ${nth + 1}`, process]))
    const load = { urls: all.map(({ url }) => url), batch, seconds, connections: CONNECTIONS * 2 }
    const { accepted, used } = await measured(`store, ${count} at full speed`, { ...parts, postgres }, load)
    console.log(
      `  calculated: at most ${Math.round(accepted / used.postgres)} events a second by one core of the server, since appends go one after the other`,
    )
    for (const one of [...all, postgres]) await one.stop()
  }
}
