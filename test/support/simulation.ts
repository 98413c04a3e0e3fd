import type { HTTPClientRequest, HTTPResponse } from '../../src/http/client.ts'
import type { AnalyticsSettings } from '../../src/settings/settings.ts'
import { AnalyticsOnClock } from './create-analytics.ts'
import { FakeClock } from './fake-clock.ts'

/** What the service says: a status, with a stated wait in seconds; no answer; or a connection that breaks. */
export type Reply = number | { readonly status: number; readonly waitS: number } | 'hang' | 'reset'

export interface Scenario {
  /** Events a second, for this long. */
  readonly rate: number
  readonly seconds: number
  /** Seconds after the last event for what is left. Default: 120. */
  readonly drain?: number
  /** Requests at once. Default: 4. */
  readonly concurrency?: number
  /** Which events are bad: the share, or by number. They make their request fail with `badReply`. */
  readonly bad?: number | ((index: number) => boolean)
  /** Default: 500. */
  readonly badReply?: Reply
  /** From and to, in seconds. */
  readonly outages?: readonly (readonly [from: number, to: number])[]
  /** Default: 503. */
  readonly outageReply?: Reply
  /** The share of requests that fail at random with 500. */
  readonly brown?: number
  /** Requests a second of a token bucket with room for one; others get `limitedReply`. */
  readonly bucket?: number
  /** Default: 429. */
  readonly limitedReply?: Reply
  /** A larger body gets 413. */
  readonly mostBytes?: number
  /** The share of events with a callback. */
  readonly awaited?: number
  /** A flush each so many seconds. */
  readonly flushEvery?: number
  readonly settings?: Partial<AnalyticsSettings>
  /** Round trip. Default: 20. */
  readonly latencyMs?: number
  readonly seed?: number
}

export interface Report {
  readonly good: number
  readonly bad: number
  /** Good events that the service accepted, and events of each outcome. */
  readonly delivered: number
  readonly codes: Readonly<Record<string, number>>
  readonly pending: number
  /** Seconds within which 99 % of the good events were delivered, from the call or from the end of an outage since. */
  readonly p99S: number
  /** The longest wait of a callback, and of a flush, in seconds. */
  readonly toldS: number
  readonly flushS: number
  readonly flushes: { readonly asked: number; readonly resolved: number }
  readonly requests: number
  /** Requests in the first minute of an outage, and the most in a later one. */
  readonly firstMinute: number
  readonly laterMinute: number
  /** After a close with no time: events without an outcome, and timers. */
  readonly left: { readonly pending: number; readonly timers: number }
}

interface Tracked {
  readonly isBad: boolean
  readonly atMs: number
  code?: string
}

/** A service in virtual time, as the scenario has it. */
class Service {
  readonly #scenario: Scenario
  readonly #clock: FakeClock
  readonly #dice: FakeClock
  readonly #events: readonly Tracked[]
  readonly #startMs: number
  readonly times: number[] = []
  #tokens = 1
  #refilledMs: number

  constructor(scenario: Scenario, clock: FakeClock, dice: FakeClock, events: readonly Tracked[]) {
    this.#scenario = scenario
    this.#clock = clock
    this.#dice = dice
    this.#events = events
    this.#startMs = clock.monotonic()
    this.#refilledMs = this.#startMs
  }

  async makeRequest({ body }: HTTPClientRequest): Promise<HTTPResponse> {
    const { latencyMs = 20 } = this.#scenario
    this.times.push(this.#clock.monotonic() - this.#startMs)
    await new Promise<void>((resolve) => this.#clock.setTimer(resolve, latencyMs))
    const reply = this.#reply(body)
    if (reply === 'hang') return new Promise(() => {})
    if (reply === 'reset') throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
    const { status, waitS } = typeof reply === 'number' ? { status: reply, waitS: undefined } : reply
    const headers = waitS === undefined ? {} : { 'retry-after': String(waitS) }
    return { status, statusText: '', headers, text: async () => '' }
  }

  #reply(body: string): Reply {
    const { outages = [], brown = 0, bucket, mostBytes = Number.POSITIVE_INFINITY } = this.#scenario
    const { outageReply = 503, limitedReply = 429, badReply = 500 } = this.#scenario
    const nowMs = this.#clock.monotonic()
    const nowS = (nowMs - this.#startMs) / 1_000
    if (outages.some(([from, to]) => nowS >= from && nowS < to)) return outageReply
    if (bucket !== undefined) {
      this.#tokens = Math.min(1, this.#tokens + ((nowMs - this.#refilledMs) / 1_000) * bucket)
      this.#refilledMs = nowMs
      if (this.#tokens < 1) return limitedReply
      this.#tokens--
    }
    if (body.length > mostBytes) return 413
    const { batch } = JSON.parse(body) as { batch: { properties: { index: number } }[] }
    if (batch.some(({ properties }) => this.#events[properties.index]?.isBad)) return badReply
    return this.#dice.random() < brown ? 500 : 200
  }
}

/**
 * Runs the real client on virtual time against a service, and reports what came of each event.
 *
 * @see docs/spec.md, section 8
 */
export async function simulate(scenario: Scenario): Promise<Report> {
  const { rate, seconds, drain = 120, concurrency = 4, bad = 0, outages = [] } = scenario
  const { awaited = 0, flushEvery, seed = 1 } = scenario
  const clock = new FakeClock(undefined, seed)
  const dice = new FakeClock(undefined, seed + 1_000)
  const startMs = clock.monotonic()
  const events: Tracked[] = []
  const service = new Service(scenario, clock, dice, events)
  const latencies: number[] = []
  const told: number[] = []
  const flushed: number[] = []
  let asked = 0
  const analytics = new AnalyticsOnClock(
    {
      writeKey: 'key',
      httpClient: service,
      maxConcurrentRequests: concurrency,
      logger: SILENT,
      ...scenario.settings,
    },
    { clock },
  )
  const conclude = (index: number, code: string): void => {
    const event = events[index] as Tracked
    if (event.code !== undefined) throw new Error(`event ${index} has two outcomes: ${event.code}, ${code}`)
    event.code = code
    if (event.isBad || code !== 'delivered') return
    const ends = outages.map(([, to]) => startMs + to * 1_000).filter((endMs) => endMs <= clock.monotonic())
    latencies.push(Math.max(0, clock.monotonic() - Math.max(event.atMs, ...ends)))
  }
  analytics.on('track', ({ event }) => conclude(event.properties?.['index'] as number, 'delivered'))
  analytics.on('error', ({ reason, ctx }) =>
    conclude(ctx?.event.properties?.['index'] as number, reason.code),
  )
  const arrive = (): void => {
    const index = events.length
    const isBad = typeof bad === 'function' ? bad(index) : dice.random() < bad
    const atMs = clock.monotonic()
    events.push({ isBad, atMs })
    const callback = (): void => void told.push(clock.monotonic() - atMs)
    const params = { userId: 'ada', event: 'Ordered', properties: { index } }
    analytics.track(params, dice.random() < awaited ? callback : undefined)
    const nextMs = (1_000 / rate) * (0.5 + dice.random())
    if (clock.monotonic() - startMs + nextMs < seconds * 1_000) clock.setTimer(arrive, nextMs)
  }
  const flush = (): void => {
    const atMs = clock.monotonic()
    asked++
    void analytics.flush().then(() => flushed.push(clock.monotonic() - atMs))
    if (atMs - startMs < seconds * 1_000) clock.setTimer(flush, (flushEvery as number) * 1_000)
  }
  arrive()
  if (flushEvery !== undefined) clock.setTimer(flush, flushEvery * 500)
  await clock.advance((seconds + drain) * 1_000)
  const { pending } = analytics.stats
  const codes: Record<string, number> = {}
  for (const { code = 'pending' } of events) codes[code] = (codes[code] ?? 0) + 1
  const good = events.filter(({ isBad }) => !isBad)
  const delivered = good.filter(({ code }) => code === 'delivered').length
  void analytics.closeAndFlush({ timeout: -1 })
  await clock.advance(10_000)
  const minutes = outages.map(([from, to]) => minutesOf(service.times, from * 1_000, to * 1_000))
  latencies.sort((one, other) => one - other)
  return {
    good: good.length,
    bad: events.length - good.length,
    delivered,
    codes,
    pending,
    p99S: (latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN) / 1_000,
    toldS: Math.max(0, ...told) / 1_000,
    flushS: Math.max(0, ...flushed) / 1_000,
    flushes: { asked, resolved: flushed.length },
    requests: service.times.length,
    firstMinute: Math.max(0, ...minutes.map(([first]) => first)),
    laterMinute: Math.max(0, ...minutes.map(([, later]) => later)),
    left: { pending: analytics.stats.pending, timers: clock.timerCount },
  }
}

/** The requests in the first minute, and the most in any later minute. */
function minutesOf(times: readonly number[], fromMs: number, toMs: number): [number, number] {
  const count = (startMs: number): number =>
    times.filter((ms) => ms >= startMs && ms < Math.min(startMs + 60_000, toMs)).length
  let later = 0
  for (let atMs = fromMs + 60_000; atMs + 60_000 <= toMs; atMs += 5_000) later = Math.max(later, count(atMs))
  return [count(fromMs), later]
}

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
