import { expect, test } from 'vitest'
import { TIER } from '../../scripts/tiers.mjs'
import type { FlushSummary } from '../../src/core/counts.ts'
import type { HTTPClient, HTTPClientRequest, HTTPResponse } from '../../src/http/client.ts'
import { KINDS } from '../../src/message/wire.ts'
import type { Plugin } from '../../src/pipeline/plugin.ts'
import { AnalyticsOnClock } from './create-analytics.ts'
import { FakeClock, settled } from './fake-clock.ts'

/** The number of interleavings in each of the four tests. `PROPERTY_RUNS=100000` runs for a whole night. */
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? { default: 250, rest: 1_000, full: 2_500 }[TIER])

/** Used instead of expect(), which would take most of the time in this loop. */
function check(holds: boolean, message: string): void {
  if (!holds) throw new Error(message)
}

interface Call {
  outcomes: number
  callbacks: number
  readonly hasCallback: boolean
  /** Whether a callback or the close waits for the event, or `maxRetries` was set. */
  isAwaited: boolean
  readonly sinceMs: number
  /** The number of failed requests that contained the event. */
  failures: number
  /** Whether the last request with the event contained only this event. */
  isAlone: boolean
}

/** `covered` has the indexes of the calls for which the flush waits. */
interface Flush {
  readonly covered: readonly number[]
  readonly isTimed: boolean
  summary: FlushSummary | undefined
}

/**
 * Runs one random interleaving: good and bad calls, flushes with and without a timeout, plugins of every type, and
 * finally a close. The service responds, fails, limits the rate, hangs, resets connections or becomes unreachable.
 * After each step the counts must be consistent. At the end every call must have had exactly one outcome. No event
 * may fail earlier than docs/spec.md, section 8.1, allows. About half of the runs set `maxRetries`.
 */
export async function interleave(
  seed: number,
): Promise<{ calls: number; requests: number; outcomes: Set<string> }> {
  const clock = new FakeClock(undefined, seed)
  const chance = (share: number): boolean => clock.random() < share
  const below = (limit: number): number => Math.floor(clock.random() * limit)
  const pick = <T>(choices: readonly T[]): T => choices[below(choices.length)] as T

  const calls: Call[] = []
  const flushes: Flush[] = []
  const outcomes = new Set<string>()
  const violations: string[] = []
  const signals: (AbortSignal | undefined)[] = []
  let requests = 0
  let accepted = 0
  const failedAtMs: number[] = []
  const limitedAtMs: number[] = []
  let callsInside = 0
  let isDown = false
  let isClosing = false
  /**
   * The time at which `advance` last ended. It counts as the time of calls, because the client may not have noticed
   * that time has passed since then, for instance in a stall.
   */
  let turnMs = 0
  const flushAt = pick([1, 2, 5, 15])
  const maxRetries = chance(0.5) ? undefined : below(4)
  const maxConcurrentRequests = pick([1, 2, 4])
  const maxTotalBackoffDuration = pick([2, 43_200])
  const maxRateLimitDuration = pick([2, 43_200])
  const isHandedOver = chance(0.1)
  // No callback and no flush waits for events, while the service becomes unreachable and reachable again.
  const isQuiet = chance(0.25)
  // In some runs the service accepts only few events in a request. In some it refuses a batch, or fails, because of
  // one bad event.
  const mostEvents = chance(0.3) ? 1 + below(4) : Number.POSITIVE_INFINITY
  const badShare = chance(0.3) ? pick([0.02, 0.2, 1]) : 0
  const isNamed = chance(0.5)
  const badStatus = pick([400, 503])
  const isBad = (index: number): boolean => ((index * 2_654_435_761) % 1_000) / 1_000 < badShare

  const client: HTTPClient = {
    makeRequest(request) {
      requests++
      const indexes = indexesIn(request)
      if (flushAt === 1 && indexes.length > 1) violations.push('a request of several events, with flushAt 1')
      if (indexes.length === 0) violations.push('a request without events')
      const carried = indexes.map((index) => calls[index] as Call)
      for (const one of carried) {
        one.isAlone = carried.length === 1
        if (one.outcomes > 0) violations.push('an event was sent again after its outcome')
      }
      const fail = (): void => {
        failedAtMs.push(clock.monotonic())
        for (const one of carried) one.failures++
      }
      const bad = indexes.find(isBad)
      if (indexes.length > mostEvents && chance(0.9)) return respond(413)
      if (bad !== undefined && chance(0.9)) {
        if (badStatus === 503) fail()
        return respond(badStatus, isNamed ? `event ${bad} is bad` : 'bad')
      }
      const dice = isDown ? pick([0, 2, LOST, 6, NEVER]) : below(12)
      if (dice === NEVER) signals.push(request.signal)
      const note = (): void => {
        if (FAILURES.includes(dice)) fail()
        else if (dice > 8) accepted++
        if (dice === 1 || dice === 2) limitedAtMs.push(clock.monotonic())
      }
      return answerAtRandom(request, clock, dice, below(3_000), note)
    },
  }
  const analytics = new AnalyticsOnClock(
    {
      writeKey: 'key',
      httpClient: client,
      flushAt,
      maxRetries,
      maxQueueSize: pick([3, 10, 1_000]),
      maxConcurrentRequests,
      maxTotalBackoffDuration,
      maxRateLimitDuration,
      disable: chance(0.03),
      ...(isHandedOver ? { waitUntil: () => {} } : {}),
    },
    { clock },
  )

  const failuresSince = (sinceMs: number): number => failedAtMs.filter((ms) => ms >= sinceMs).length
  /** Whether docs/spec.md, section 8.1, allows this outcome now. */
  const mayEnd = (call: Call, outcome: string): boolean => {
    const shortestMs = Math.min(maxTotalBackoffDuration, maxRateLimitDuration) * 1_000
    // The client rounds deadlines by up to 0.1 %.
    if (outcome === 'deadline') return clock.monotonic() - call.sinceMs >= 0.999 * shortestMs
    if (outcome !== 'retries_exhausted') return true
    const attempts = (maxRetries ?? DEFAULT_RETRIES) + 1
    const hasFailedAlone = call.failures >= attempts && call.isAlone && accepted > 0
    if (hasFailedAlone || (isClosing && failedAtMs.length >= attempts)) return true
    if (!call.isAwaited) return false
    // In an outage: after its attempts in a row; or after the next one, once the outage has that many behind it.
    const isOutage = failedAtMs.length >= attempts && failuresSince(call.sinceMs) > 0
    const waitedMs = clock.monotonic() - call.sinceMs
    // Eight events refused alone, in a row, are failures too.
    const areRefused = badStatus === 400 && badShare > 0 && failuresSince(call.sinceMs) > 0
    return isOutage || areRefused || waitedMs >= 10_000
  }
  const conclude = (index: number, outcome: string): void => {
    const call = calls[index] as Call
    call.outcomes++
    outcomes.add(outcome)
    if (!mayEnd(call, outcome)) violations.push(`call ${index} ended as ${outcome} too early`)
    const hasOutlived = !call.isAwaited && failuresSince(call.sinceMs) > DEFAULT_RETRIES
    if (hasOutlived && outcome === 'delivered') outcomes.add('delivered after an outage')
    // Collects violations instead of throwing: the client ignores errors of listeners.
    if (callsInside > 0) violations.push(`call ${index} had its outcome before it returned`)
  }
  analytics.on('warning', () => {})
  analytics.on('error', ({ reason, ctx }) => {
    // The error of a plugin that did not make the event fail is reported, but is not an outcome.
    if (ctx !== undefined && ctx.failedDelivery()?.reason !== reason) return
    // An invalid call has no context with its index, so its outcome is counted by its callback.
    if (ctx === undefined) outcomes.add(reason.code)
    else conclude(ctx.event.properties?.['index'] as number, reason.code)
  })
  for (const kind of KINDS) {
    analytics.on(kind, (ctx) => conclude(ctx.event.properties?.['index'] as number, 'delivered'))
  }

  const call = (): void => {
    const index = calls.length
    const hasCallback = !isQuiet && chance(0.5)
    const bad = chance(0.1)
    const record: Call = {
      outcomes: 0,
      callbacks: 0,
      hasCallback: hasCallback || bad,
      isAwaited: hasCallback || bad || maxRetries !== undefined || isHandedOver,
      sinceMs: turnMs,
      failures: 0,
      isAlone: false,
    }
    calls.push(record)
    const callback = (): void => {
      record.callbacks++
      if (bad) record.outcomes++
    }
    const note = chance(0.02) ? 'é'.repeat(20_000) : 'Grüße'
    callsInside++
    analytics.track(
      {
        ...(bad ? {} : { userId: `user ${index}` }),
        event: 'Order Completed',
        properties: { index, note },
      } as never,
      record.hasCallback ? callback : undefined,
    )
    callsInside--
  }
  /** Tracks an event from inside a plugin, unless the run has too many calls already. */
  const trackInside = (): void => {
    if (calls.length < MAX_CALLS) call()
  }
  const open = (): number[] => calls.flatMap(({ outcomes }, index) => (outcomes > 0 ? [] : [index]))
  const flush = (isTimed: boolean): void => {
    const covered = open()
    const record: Flush = { covered, isTimed, summary: undefined }
    flushes.push(record)
    void analytics.flush(isTimed ? { timeout: 1 + below(5_000) } : {}).then((summary) => {
      record.summary = summary
      if (isTimed) return
      const troubles = failedAtMs.length + limitedAtMs.length
      const mayRefuse = badStatus === 400 && badShare > 0
      if (summary.pending > 0) check(troubles > 0 || mayRefuse, 'a flush resolved with events pending')
      else for (const index of covered) check(calls[index]?.outcomes === 1, `a flush missed call ${index}`)
    })
  }
  const checkAccount = (): void => {
    const { accepted, delivered, failed, pending, failures } = analytics.stats
    check(accepted === delivered + failed + pending, 'the account does not balance')
    check(accepted === calls.length, 'a call was not counted')
    const counted = Object.values(failures).reduce((sum, count) => sum + count, 0)
    check(counted === failed, 'the reasons do not add up')
    check(pending >= 0, 'more outcomes than calls')
  }

  const steps = 5 + below(25)
  for (let step = 0; step < steps; step++) {
    const dice = clock.random()
    if (dice < 0.5) for (let count = 1 + below(8); count > 0; count--) call()
    else if (dice < 0.65 && isQuiet) isDown = !isDown
    else if (dice < 0.65) flush(chance(0.3))
    else if (dice < 0.75) void analytics.register(randomPlugin(step, clock, below, trackInside))
    else if (dice < 0.78) void analytics.deregister(`plugin ${below(step + 1)}`)
    else if (dice < 0.85) await settled()
    // A jump of the wall clock by an hour, or a blocked event loop.
    else if (dice < 0.87) clock.jump((below(3) - 1) * 3_600_000)
    else if (dice < 0.89) clock.stall(below(20_000))
    else if (dice < 0.92) isDown = !isDown
    else {
      await clock.advance(below(isQuiet ? 60_000 : 8_000))
      turnMs = clock.monotonic()
    }
    checkAccount()
  }
  const timeout = pick([1, 500, 20_000])
  const acceptedAtClose = calls.length
  isClosing = true
  const closed = analytics.closeAndFlush({ timeout })
  for (let count = below(3); count > 0; count--) call()
  let summary: FlushSummary | undefined
  void closed.then((result) => {
    summary = result
    checkAccount()
    // Plugins may have tracked events since the call of close. These fail, and are reported in this turn.
    const isDone = calls.slice(0, acceptedAtClose).every(({ outcomes }) => outcomes === 1)
    if (!isDone) violations.push('closed with events pending')
  })
  await clock.advance(timeout + 5_000)

  checkAccount()
  check(summary !== undefined, 'close did not resolve')
  check(summary?.pending === 0 && analytics.stats.pending === 0, 'events are pending after close')
  for (const [index, { outcomes, callbacks, hasCallback }] of calls.entries()) {
    check(outcomes === 1, `call ${index} has ${outcomes} outcomes`)
    check(callbacks === (hasCallback ? 1 : 0), `call ${index} had ${callbacks} callbacks`)
  }
  for (const { summary, covered } of flushes) {
    check(summary !== undefined, 'a flush never resolved')
    const { delivered, failed, pending } = summary as FlushSummary
    check(delivered + failed + pending === covered.length, 'a summary does not add up')
  }
  check(clock.holdCount === 0, 'something still holds the process')
  check(
    signals.every((signal) => signal?.aborted),
    'a request is still open after close',
  )
  const requestsAtClose = requests
  await clock.advance(100_000)
  check(requests === requestsAtClose, 'requests after close')
  check(clock.timerCount === 0, 'timers after close')
  check(violations.length === 0, violations.join())
  return { calls: calls.length, requests, outcomes }
}

/** The number of calls in one run after which plugins track no more events. */
const MAX_CALLS = 400

/** The default of `maxRetries`. */
const DEFAULT_RETRIES = 3

/** Values of `dice`. NEVER: no response comes. LOST: the connection is lost before the response. */
const NEVER = 7
const LOST = 5
/** The values of `dice` with which the service fails. */
const FAILURES = [0, LOST, 6, NEVER, 8]

function indexesIn({ body }: HTTPClientRequest): number[] {
  const { batch } = JSON.parse(body) as { batch: { properties: { index: number } }[] }
  return batch.map(({ properties }) => properties.index)
}

function respond(status: number, body = ''): Promise<HTTPResponse> {
  return Promise.resolve({ status, statusText: 'Scripted', headers: {}, text: async () => body })
}

/** @param note Called when the request ends, with or without a response. */
function answerAtRandom(
  { signal }: HTTPClientRequest,
  clock: FakeClock,
  dice: number,
  delayMs: number,
  note: () => void,
): Promise<HTTPResponse> {
  const answer = (status: number, headers: Record<string, string> = {}): Promise<HTTPResponse> =>
    new Promise((resolve) => {
      const arrive = (): void => {
        note()
        resolve({ status, statusText: 'Scripted', headers })
      }
      clock.setTimer(arrive, delayMs)
    })
  if (dice === LOST || dice === 6 || dice === 8) note()
  switch (dice) {
    case 0:
      return answer(503)
    case 1:
      return answer(429, { 'Retry-After': '2' })
    case 2:
      return answer(429)
    case 3:
      return answer(413)
    case 4:
      return answer(400)
    case LOST:
      return Promise.reject(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }))
    case 6:
      throw new Error('a client that throws')
    case NEVER:
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => {
          note()
          reject(signal.reason)
        })
      })
    case 8:
      return Promise.resolve(undefined as never)
    default:
      return answer(200, dice === 9 ? { 'retry-after': '1' } : {})
  }
}

function randomPlugin(
  index: number,
  clock: FakeClock,
  below: (limit: number) => number,
  track: () => void,
): Plugin {
  const temper = below(6)
  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      clock.setTimer(resolve, ms)
    })
  return {
    name: `plugin ${index}`,
    type: (['before', 'enrichment', 'destination', 'after', 'utility'] as const)[below(5)] as Plugin['type'],
    isLoaded: () => true,
    load: () => (below(3) === 0 ? wait(below(7_000)) : undefined),
    track(ctx) {
      const mood = below(40)
      if (mood === 0) throw new Error('a plugin that throws')
      if (mood === 1) ctx.cancel('not this one')
      if (mood === 2) return new Promise<never>(() => {})
      if (mood === 3) return Promise.reject(new Error('a plugin that rejects'))
      if (mood === 4) return 'nonsense' as never
      if (mood === 5) track()
      if (mood === 6)
        return wait(below(500))
          .then(track)
          .then(() => ctx)
      if (temper === 0) return wait(below(2_000)).then(() => ctx)
      ctx.event.context['seenBy'] = index
      return ctx
    },
  }
}

/** The series are divided among several files, which run concurrently. */
export function testInterleavings(series: number): void {
  const first = series * RUNS + 1
  const last = first + RUNS - 1
  test(`every event has one outcome and every flush waits for its events, interleavings ${first} to ${last}`, async () => {
    const seen = new Set<string>()
    let calls = 0
    let requests = 0

    for (let seed = first; seed <= last; seed++) {
      try {
        const run = await interleave(seed)
        calls += run.calls
        requests += run.requests
        for (const outcome of run.outcomes) seen.add(outcome)
      } catch (error) {
        throw new Error(`interleaving ${seed}: ${(error as Error).message}`, { cause: error })
      }
    }

    // Checks that the runs have covered everything that can happen to an event.
    expect(calls).toBeGreaterThan(10 * (last - first))
    expect(requests).toBeGreaterThan(last - first)
    expect([...seen].sort()).toEqual(
      expect.arrayContaining([
        'delivered',
        'invalid',
        'plugin',
        'queue_full',
        'rejected',
        'shutdown_timeout',
      ]),
    )
    expect(seen).toContain('retries_exhausted')
    expect(seen).toContain('delivered after an outage')
    expect(seen).toContain('deadline')
    expect(seen).toContain('too_large')
    expect(seen).toContain('closed')
  }, 600_000)
}
