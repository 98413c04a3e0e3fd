/** The load of bench/cluster.js, in a separate process so that its cost is not measured. */
import { Connection } from '../../collector/bench/connection.js'
import { eventMaker } from '../../collector/bench/events.js'

const { urls, rate, batch, connections, seconds } = JSON.parse(process.argv[2])

const targets = Array.from({ length: connections }, (_, index) => new URL(urls[index % urls.length]))
const open = await Promise.all(targets.map((url) => Connection.open(url.port, url.hostname)))
const make = eventMaker(targets[0].host)
const counts = { accepted: 0, failed: 0 }
const latencies = []
const startMs = performance.now()
const endMs = startMs + seconds * 1000

/** One connection: sends at its share of the rate, or without a rate, as soon as it has a response. */
async function run(connection, nth) {
  const intervalMs = rate === undefined ? 0 : (1000 * batch * connections) / rate
  for (let dueMs = startMs + (nth * intervalMs) / connections; dueMs < endMs; dueMs += intervalMs) {
    const now = performance.now()
    if (now >= endMs) return
    if (dueMs > now) await new Promise((resolve) => setTimeout(resolve, dueMs - now))
    if (rate === undefined) dueMs = performance.now()
    const status = await connection.send(make(batch))
    latencies.push(performance.now() - dueMs)
    counts[status === 200 ? 'accepted' : 'failed'] += batch
  }
}

await Promise.all(open.map(run))
const tookSeconds = (performance.now() - startMs) / 1000
for (const one of open) one.close()
const { user, system } = process.cpuUsage()
latencies.sort((a, b) => a - b)
const at = (p) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * p))] ?? null
process.stdout.write(
  JSON.stringify({
    ...counts,
    tookSeconds,
    processorSeconds: (user + system) / 1e6,
    p50: at(0.5),
    p99: at(0.99),
  }),
)
