/**
 * Makes one measured run in its own process: `node child.mjs '{"shape":"burst","adapter":"floor",...}'`. Prints the result as
 * JSON, in the last line of stdout.
 */
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { loadAdapter } from './adapters/index.mjs'
import { makeEvent } from './payload.mjs'

const run = JSON.parse(process.argv[2])

/** Events of the warm-up have negative numbers: the sink (the server of the benchmark) counts only events from 0 on. */
let warmUpSeq = -1

const shapes = {
  /** Makes `events` calls, with a turn of the event loop after every 100 calls. Ends when all events are delivered. */
  async burst(open) {
    const client = await open()
    return measure(async () => {
      await burst(client, run.events)
      await client.close()
    })
  },

  /** Makes `perSecond` calls a second, some every 10 ms, until `events` calls are made. Ends when all events are delivered. */
  async paced(open) {
    const client = await open()
    return measure(async () => {
      const startMs = performance.now()
      let sent = 0
      while (sent < run.events) {
        const due = Math.min(run.events, Math.floor(((performance.now() - startMs) * run.perSecond) / 1000))
        while (sent < due) client.track(makeEvent(sent++))
        await sleep(10)
      }
      await client.close()
    })
  },

  /** Sends up to `events` events, one at a time, and awaits the delivery of each. Stops after `budgetMs`. */
  async confirm(open) {
    const client = await open()
    const millis = []
    const cpu = process.cpuUsage()
    const endMs = performance.now() + run.budgetMs
    while (millis.length < run.events && performance.now() < endMs) {
      const event = makeEvent(millis.length)
      const start = performance.now()
      await client.confirm(event)
      millis.push(performance.now() - start)
    }
    const { user, system } = process.cpuUsage(cpu)
    await client.close()
    return { events: millis.length, cpuMicros: (user + system) / millis.length, ...percentiles(millis) }
  },

  /** Measures the memory of `events` events while the service does not respond. */
  async waiting(open) {
    const client = await open({ url: run.holdingUrl })
    const before = await settledMemory()
    for (let seq = 0; seq < run.events; seq++) {
      client.track(makeEvent(seq))
      if (seq % 100 === 99) await turn()
    }
    await sleep(run.settleMs)
    const after = await settledMemory()
    return {
      events: run.events,
      heapBytesPerEvent: (after.heap - before.heap) / run.events,
      rssBytesPerEvent: (after.rss - before.rss) / run.events,
    }
  },

  /** `repeats` times, makes `events` calls in one turn of the event loop, and waits until all events are delivered. */
  async queued(open) {
    const client = await open()
    let seq = 0
    return measure(async () => {
      for (let repeat = 0; repeat < run.repeats; repeat++) {
        for (let index = 0; index < run.events; index++) client.track(makeEvent(seq++))
        await client.flush()
      }
      await client.close()
    }, run.events * run.repeats)
  },
}

async function burst(client, events, seqOf = (index) => index) {
  for (let index = 0; index < events; index++) {
    client.track(makeEvent(seqOf(index)))
    if (index % 100 === 99) await turn()
  }
}

/** Measures a function: the CPU time of all threads per event, and the total wall time. */
async function measure(work, events = run.events) {
  const cpu = process.cpuUsage()
  const startMs = performance.now()
  await work()
  const { user, system } = process.cpuUsage(cpu)
  return {
    events,
    cpuMicros: (user + system) / events,
    wallMs: performance.now() - startMs,
  }
}

async function settledMemory() {
  for (let pass = 0; pass < 3; pass++) {
    globalThis.gc()
    await sleep(20)
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heap: heapUsed + external, rss }
}

function percentiles(values) {
  const sorted = Float64Array.from(values).sort()
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
  return { p50: at(0.5), p99: at(0.99) }
}

/** Makes Node.js compile the code before the measured client begins. */
async function warmUp(open) {
  const client = await open({ url: run.url })
  if (run.shape === 'confirm') {
    const endMs = performance.now() + 1000
    for (let index = 0; index < run.warmUp && performance.now() < endMs; index++) {
      await client.confirm(makeEvent(warmUpSeq--))
    }
  } else {
    await burst(client, run.warmUp, () => warmUpSeq--)
  }
  await client.close()
}

const adapter = await loadAdapter(run.adapter)
const open = (overrides) =>
  adapter.open({
    url: run.url,
    flushAt: run.flushAt,
    isDefault: run.isDefault,
    maxWaiting: run.maxWaiting,
    plugins: run.plugins,
    feature: run.feature,
    ...overrides,
  })

const rssAtStart = process.memoryUsage.rss()
if (run.warmUp > 0) await warmUp(open)
const result = await shapes[run.shape](open)
const peakRssBytes = process.resourceUsage().maxRSS * 1024
process.stdout.write(
  `\n${JSON.stringify({ rssGrowthBytes: peakRssBytes - rssAtStart, peakRssBytes, ...result })}\n`,
  // Some clients have timers and sockets that would keep the process alive.
  () => process.exit(0),
)
