/**
 * Measures the CPU cost of scopes. Calls get the context of their request from `with()` or from `trackpost/scope`, and are
 * compared with calls to which the same context is passed. Usage: node bench/scopes.mjs [rounds]
 *
 * The three ways take turns in one process. The HTTP client responds at once, so that only the work of the SDK is measured.
 * Prints, as medians of all rounds, the CPU time per event and its ratio to that of `explicit` in the same round.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { makeEvent } from './payload.mjs'
import { median } from './runner.mjs'

const { Analytics } = await import(new URL('../dist/index.js', import.meta.url).href)
const { currentScope, runWithScope } = await import(new URL('../dist/scope.js', import.meta.url).href)

const ROUNDS = Number(process.argv[2] ?? 60)
const REQUESTS = 400
const CALLS_PER_REQUEST = 5

/** The context that `requestScope` reads from a browser's request. */
const makeContext = () => ({
  ip: '203.0.113.66',
  userAgent:
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36',
  locale: 'de-CH',
  page: { url: 'https://shop.example/fr/panier?step=4', path: '/fr/panier', search: '?step=4' },
})

const httpClient = { makeRequest: async () => ({ status: 200, statusText: 'OK', headers: {} }) }
const settings = { writeKey: 'benchmark-key', httpClient, flushAt: 100 }
const plain = new Analytics(settings)
const scoped = new Analytics({ ...settings, scope: currentScope })

/** Each function handles one request of a server. */
const WAYS = {
  explicit(events) {
    const context = makeContext()
    for (const event of events) {
      event.context = context
      plain.track(event)
    }
  },
  with(events) {
    const tracker = plain.with({ context: makeContext() })
    for (const event of events) tracker.track(event)
  },
  scope(events) {
    runWithScope({ context: makeContext() }, () => {
      for (const event of events) scoped.track(event)
    })
  },
}

async function measure(handle) {
  const before = process.cpuUsage()
  for (let request = 0; request < REQUESTS; request++) {
    handle(
      Array.from({ length: CALLS_PER_REQUEST }, (_, call) => makeEvent(request * CALLS_PER_REQUEST + call)),
    )
    if (request % 20 === 19) await turn()
  }
  await Promise.all([plain.flush(), scoped.flush()])
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (REQUESTS * CALLS_PER_REQUEST)
}

const names = Object.keys(WAYS)
const micros = Object.fromEntries(names.map((name) => [name, []]))
// The first rounds are the warm-up.
for (let round = -10; round < ROUNDS; round++) {
  for (let index = 0; index < names.length; index++) {
    const name = names[(Math.abs(round) + index) % names.length]
    const result = await measure(WAYS[name])
    if (round >= 0) micros[name].push(result)
  }
}
for (const name of names) {
  const ratios = micros[name].map((value, round) => value / micros.explicit[round])
  const [cpu, ratio] = [median(micros[name]).toFixed(1), median(ratios).toFixed(3)]
  console.log(`${name.padEnd(10)} ${cpu} µs CPU per event, ${ratio} of explicit`)
}
