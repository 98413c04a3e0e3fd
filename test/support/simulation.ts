import { Analytics } from '../../src/analytics.ts'
import type { Seams } from '../../src/core/create.ts'
import type { HTTPClientRequest, HTTPResponse } from '../../src/http/client.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { AnalyticsSettings } from '../../src/settings/settings.ts'
import { FakeClock } from './fake-clock.ts'

/** How a bad event, or an outage, shows. */
export type Fault = 500 | 503 | 400 | 403 | 404 | 422 | 'hang' | 'reset' | 'refuse'

export interface Scenario {
  /** Events a second. */
  readonly rate: number
  /** The share of events that make their request fail. */
  readonly bad: number
  readonly seconds: number
  /** Events tracked at once at the start. */
  readonly burst?: number
  /** Seconds after the last event for what is left. Default: 120. */
  readonly drain?: number
  readonly concurrency?: number
  readonly fault?: Fault
  /** The text of a refusal: names the event, always the same, or another each time. */
  readonly text?: 'named' | 'same' | 'random'
  /** From and to, in seconds. */
  readonly outages?: readonly (readonly [number, number])[]
  readonly outageFault?: Fault
  /** The share of requests that fail at random. */
  readonly brown?: number
  /** Requests a second that a token bucket lets through; others get 429. Several: one for each equal part of the time. */
  readonly bucket?: number | readonly number[]
  /** Whether the 429 says how long to wait. */
  readonly isStated?: boolean
  /** The share of events with a callback. */
  readonly awaited?: number
  readonly settings?: Partial<AnalyticsSettings>
  /** Round trip in milliseconds. */
  readonly latencyMs?: number
  readonly seed?: number
}

export interface Report {
  readonly good: number
  readonly bad: number
  readonly delivered: number
  /** Good events that were given up, and bad ones. */
  readonly lost: number
  readonly given: number
  readonly pending: number
  readonly requests: number
  /** Events delivered in more than one accepted request. */
  readonly twice: number
  /** Milliseconds from the call, for the share of 99 % of the good events. */
  readonly p99Ms: number
  /** Milliseconds from the first accepted request after the last outage until the queue was empty. */
  readonly emptyMs: number
  /** The most requests in a minute of an outage, without its first. */
  readonly outageRequests: number
  /** Requests that got 429. */
  readonly limited: number
  /** The most requests in a second. */
  readonly peak: number
  readonly codes: Readonly<Record<string, number>>
}

interface Timer {
  readonly atMs: number
  run: (() => void) | undefined
}

/** Virtual time: jumps from one timer to the next, after all microtasks have run. */
class VirtualClock implements Clock {
  #nowMs = 1_000_000
  /** The next timer is the last one. */
  readonly #timers: Timer[] = []
  readonly #dice: FakeClock

  constructor(seed: number) {
    this.#dice = new FakeClock(undefined, seed)
  }

  now(): number {
    return 1_700_000_000_000 + this.#nowMs
  }
  monotonic(): number {
    return this.#nowMs
  }
  random(): number {
    return this.#dice.random()
  }
  setTimer(run: () => void, ms: number): () => void {
    const timer: Timer = { atMs: this.#nowMs + ms, run }
    let index = this.#timers.length
    while (index > 0 && (this.#timers[index - 1] as Timer).atMs <= timer.atMs) index--
    this.#timers.splice(index, 0, timer)
    return () => {
      timer.run = undefined
    }
  }
  hold(): () => void {
    return () => {}
  }

  async runUntil(endMs: number): Promise<void> {
    for (;;) {
      await microtasks()
      const next = this.#timers.at(-1)
      if (next === undefined || next.atMs > endMs) break
      this.#timers.pop()
      if (next.run === undefined) continue
      this.#nowMs = Math.max(this.#nowMs, next.atMs)
      next.run()
    }
    this.#nowMs = endMs
  }
}

function microtasks(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

const codeOf: Partial<Record<Fault, string>> = { reset: 'ECONNRESET', refuse: 'ECONNREFUSED' }

/**
 * Runs the real client on virtual time against a scripted service, and reports what came of each event.
 *
 * @see docs/spec.md, section 8
 */
export async function simulate(scenario: Scenario): Promise<Report> {
  const { rate, bad, seconds, drain = 120, fault = 500, text = 'same', outages = [], brown = 0 } = scenario
  const { concurrency = 4, latencyMs = 20, seed = 1, awaited = 0, isStated = false } = scenario
  const buckets = scenario.bucket === undefined ? [] : [scenario.bucket].flat()
  const clock = new VirtualClock(seed)
  const chance = new VirtualClock(seed + 1_000)
  const startMs = clock.monotonic()
  const isDown = (): boolean =>
    outages.some(
      ([from, to]) => clock.monotonic() - startMs >= from * 1_000 && clock.monotonic() - startMs < to * 1_000,
    )
  const events: { readonly isBad: boolean; readonly atMs: number; delivered: number; code?: string }[] = []
  const requestTimes: number[] = []
  const latencies: number[] = []
  let tokens = buckets[0] ?? 0
  let limited = 0
  let refilledMs = startMs
  let firstAcceptedMs: number | undefined
  let emptyAtMs: number | undefined

  const bucketNow = (): number | undefined => {
    const part = Math.floor(((clock.monotonic() - startMs) / (seconds * 1_000)) * buckets.length)
    return buckets[Math.min(part, buckets.length - 1)]
  }
  const after = (ms: number): Promise<void> => new Promise((resolve) => clock.setTimer(resolve, ms))
  const respond = async (
    how: Fault | 200 | 429,
    body: string,
    signal?: AbortSignal,
  ): Promise<HTTPResponse> => {
    if (how === 'hang') {
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    }
    await after(latencyMs)
    if (typeof how === 'string') throw Object.assign(new Error(how), { code: codeOf[how] })
    const headers =
      how === 429 && isStated ? { 'retry-after': String(Math.ceil(1 / (bucketNow() ?? 1))) } : {}
    return { status: how, statusText: '', headers, text: async () => body }
  }
  const client = {
    async makeRequest({ body, signal }: HTTPClientRequest): Promise<HTTPResponse> {
      requestTimes.push(clock.monotonic() - startMs)
      const { batch } = JSON.parse(body) as { batch: { properties: { index: number } }[] }
      const indexes = batch.map(({ properties }) => properties.index)
      if (isDown()) return respond(scenario.outageFault ?? 503, '', signal as AbortSignal)
      const bucket = bucketNow()
      if (bucket !== undefined) {
        tokens = Math.min(Math.max(1, bucket), tokens + ((clock.monotonic() - refilledMs) / 1_000) * bucket)
        refilledMs = clock.monotonic()
        if (tokens < 1) {
          limited++
          return respond(429, '')
        }
        tokens--
      }
      const culprit = indexes.find((index) => events[index]?.isBad)
      if (culprit !== undefined) {
        const texts = { named: `event ${culprit} is bad`, same: 'bad', random: String(chance.random()) }
        return respond(fault, texts[text], signal as AbortSignal)
      }
      if (chance.random() < brown) return respond(fault, 'brown', signal as AbortSignal)
      const response = await respond(200, '')
      for (const index of indexes) {
        const event = events[index] as (typeof events)[number]
        event.delivered++
        if (event.delivered === 1) latencies.push(clock.monotonic() - event.atMs)
      }
      const lastOutage = outages[outages.length - 1]
      if (lastOutage !== undefined && clock.monotonic() - startMs >= lastOutage[1] * 1_000)
        firstAcceptedMs ??= clock.monotonic()
      return response
    },
  }
  const create = Analytics as unknown as new (settings: object, seams: Seams) => Analytics
  const analytics = new create(
    {
      writeKey: 'key',
      httpClient: client,
      maxConcurrentRequests: concurrency,
      logger: SILENT,
      ...scenario.settings,
    },
    { clock },
  )
  const conclude = (index: number, code: string): void => {
    const event = events[index] as (typeof events)[number]
    if (event.code !== undefined) throw new Error(`event ${index} has two outcomes: ${event.code}, ${code}`)
    event.code = code
  }
  analytics.on('error', ({ reason, ctx }) =>
    conclude(ctx?.event.properties?.['index'] as number, reason.code),
  )
  const track = (): void => {
    const index = events.length
    events.push({ isBad: chance.random() < bad, atMs: clock.monotonic(), delivered: 0 })
    const callback = chance.random() < awaited ? (): void => {} : undefined
    analytics.track({ userId: 'ada', event: 'Ordered', properties: { index } }, callback)
  }
  const arrive = (): void => {
    track()
    const nextMs = (1_000 / rate) * (0.5 + chance.random())
    if (clock.monotonic() - startMs + nextMs < seconds * 1_000) clock.setTimer(arrive, nextMs)
    if (firstAcceptedMs !== undefined && emptyAtMs === undefined && analytics.status.queued < rate * 2 + 20) {
      emptyAtMs = clock.monotonic()
    }
  }
  for (let left = scenario.burst ?? 0; left > 0; left--) track()
  arrive()
  await clock.runUntil(startMs + (seconds + drain) * 1_000)

  const good = events.filter(({ isBad }) => !isBad)
  latencies.sort((a, b) => a - b)
  const codes: Record<string, number> = {}
  for (const { code, delivered } of events) {
    const name = code ?? (delivered > 0 ? 'delivered' : 'pending')
    codes[name] = (codes[name] ?? 0) + 1
  }
  let outageRequests = 0
  for (const [from, to] of outages) {
    for (let atMs = (from + 60) * 1_000; atMs + 60_000 <= to * 1_000; atMs += 5_000) {
      const inMinute = requestTimes.filter((ms) => ms >= atMs && ms < atMs + 60_000).length
      outageRequests = Math.max(outageRequests, inMinute)
    }
  }
  const perSecond = new Map<number, number>()
  for (const ms of requestTimes)
    perSecond.set(Math.floor(ms / 1_000), (perSecond.get(Math.floor(ms / 1_000)) ?? 0) + 1)
  const report = {
    good: good.length,
    bad: events.length - good.length,
    delivered: good.filter(({ delivered }) => delivered > 0).length,
    lost: good.filter(({ code }) => code !== undefined).length,
    given: events.filter(({ isBad, code }) => isBad && code !== undefined).length,
    pending: analytics.stats.pending,
    requests: requestTimes.length,
    twice: events.filter(({ delivered }) => delivered > 1).length,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
    emptyMs:
      firstAcceptedMs === undefined ? Number.NaN : (emptyAtMs ?? Number.POSITIVE_INFINITY) - firstAcceptedMs,
    outageRequests,
    limited,
    peak: Math.max(0, ...perSecond.values()),
    codes,
  }
  void analytics.closeAndFlush({ timeout: -1 })
  await clock.runUntil(clock.monotonic() + 1_000)
  return report
}

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
