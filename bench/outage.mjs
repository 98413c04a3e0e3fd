/**
 * Measures memory in an outage: 1,000,000 events of 1 KB are tracked in one turn of the event loop, with default settings,
 * while no server listens at the address. Usage: `node bench/outage.mjs`, or `node bench/outage.mjs callbacks` with a callback
 * for each call. Exits with 1 unless every event fails and every callback is called once.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'

const EVENTS = 1_000_000
const MIB = 1_048_576
const hasCallbacks = process.argv[2] === 'callbacks'
const filler = 'x'.repeat(690)

const { Analytics } = await import(new URL('../dist/index.js', import.meta.url).href)
const analytics = new Analytics({ writeKey: 'benchmark-key', host: `http://127.0.0.1:${await closedPort()}` })
const outcomes = new Uint8Array(hasCallbacks ? EVENTS : 0)
const rssBefore = process.memoryUsage.rss()
for (let seq = 0; seq < EVENTS; seq++) {
  const event = { userId: `user-${seq}`, event: 'e', properties: { filler, seq } }
  analytics.track(event, hasCallbacks ? () => outcomes[seq]++ : undefined)
}
await analytics.closeAndFlush({ timeout: 1_000 })

const growthMiB = (process.resourceUsage().maxRSS * 1_024 - rssBefore) / MIB
const { accepted, failed } = analytics.stats
const isOnce = outcomes.every((count) => count === 1)
const told = hasCallbacks ? `, callbacks ${isOnce ? 'called once each' : 'MISSING OR TWICE'}` : ''
console.log(`${EVENTS} events: RSS at most +${growthMiB.toFixed(0)} MiB; ${failed} failed${told}`)
process.exit(isOnce && accepted === EVENTS && failed === EVENTS ? 0 : 1)

async function closedPort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
