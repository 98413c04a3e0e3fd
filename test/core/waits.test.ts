/** Who waits for the outcome of an event is told in time, and what nobody awaits is kept: docs/spec.md, section 8.1. */
import { describe, expect, test } from 'vitest'
import type { FlushSummary } from '../../src/core/counts.ts'
import { createAnalytics, trackPurchases } from '../support/create-analytics.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { hangUntilAborted, networkError, type Reply, status } from '../support/scripted-client.ts'

/** How the service fails, and how long one request takes then. */
const OUTAGES: readonly (readonly [string, Reply, number])[] = [
  ['refused', networkError('ECONNREFUSED'), 0],
  ['503', status(503), 0],
  ['hanging', hangUntilAborted, 10_000],
]
const LIMITS: readonly (readonly [string, Reply])[] = [
  ['429 without a time', status(429)],
  ['429 with a time', status(429, { 'Retry-After': '60' })],
]
const WAITERS = ['a callback', 'a promise', 'a flush', 'a close'] as const
/** Fire and forget events that wait already. */
const WAITING = 3

interface Told {
  readonly afterMs: number
  readonly summary: FlushSummary | undefined
  readonly code: string | undefined
}

/** Lets somebody wait, from `atMs` of an outage or a rate limit on, then ends that, and delivers what is left. */
async function wait(waiter: (typeof WAITERS)[number], reply: Reply, atMs: number, seed: number) {
  const clock = new FakeClock(undefined, seed)
  const { analytics, client } = createAnalytics({ flushAt: 1 }, [status(200)], clock)
  analytics.on('error', () => {})
  analytics.on('warning', () => {})
  trackPurchases(analytics, 1)
  await clock.advance(1_000)
  client.answerWith(reply)
  trackPurchases(analytics, WAITING)
  // At 0, everything belongs to the turn whose request is the first that fails.
  if (atMs > 0) await clock.advance(atMs)

  const beganMs = clock.elapsedMs
  let told: Told | undefined
  const tell = (summary?: FlushSummary, code?: string): void => {
    told = { afterMs: clock.elapsedMs - beganMs, summary, code }
  }
  const event = { userId: 'ada', event: 'Awaited' }
  if (waiter === 'a callback') analytics.track(event, (error) => tell(undefined, error?.code))
  else if (waiter === 'a promise')
    void analytics.promises.track(event).then(
      () => tell(),
      ({ code }) => tell(undefined, code),
    )
  else if (waiter === 'a flush') void analytics.flush().then(tell)
  else void analytics.closeAndFlush().then(tell)
  await clock.advance(70_000)
  client.answerWith(status(200))
  if (waiter !== 'a close') void analytics.flush()
  await clock.advance(70_000)
  return { told: told as Told | undefined, stats: analytics.stats, clock }
}

describe.each(OUTAGES)('in an outage (%s)', (_name, reply, requestMs) => {
  test.each(WAITERS)(
    'F144: %s is told in time, and what nobody awaits is delivered afterwards',
    async (waiter) => {
      for (const atMs of [0, 0.001, 1, 2, 3, 5, 8, 13, 30, 61, 120, 600].map((seconds) => seconds * 1_000)) {
        for (const seed of [1, 2, 3]) {
          const { told, stats } = await wait(waiter, reply, atMs, seed)

          // Four requests with up to 1, 2 and 4 s between them; for who joins then, up to four more, after up to 8 s; later one.
          const isFirst = atMs === 0
          const isEarly = atMs < 7_000 + 4 * requestMs
          const limitMs = (isFirst ? 7_000 : isEarly ? 15_000 : 8_000) + (isEarly ? 4 : 1) * requestMs
          expect(told?.afterMs, `at ${atMs} ms`).toBeLessThanOrEqual(limitMs)
          const isAwaited = waiter === 'a callback' || waiter === 'a promise'
          if (isAwaited) expect(told?.code).toBe('retries_exhausted')
          if (waiter === 'a flush')
            expect(told?.summary).toEqual({ delivered: 0, failed: 0, pending: WAITING })
          if (waiter === 'a close') {
            expect(stats).toMatchObject({ pending: 0, failed: WAITING })
            continue
          }
          const failed = isAwaited ? 1 : 0
          expect(stats).toMatchObject({ delivered: 1 + WAITING, failed, pending: 0 })
        }
      }
    },
  )

  test('F144: a flush every two seconds of 60 s loses nothing, and no timer is left', async () => {
    const { analytics, client, clock } = createAnalytics({}, [status(200)])
    const losses: unknown[] = []
    analytics.on('warning', () => {})
    analytics.on('error', ({ reason }) => losses.push(reason.code))
    let flushes = 0
    for (let second = 0; second < 100; second++) {
      if (second === 10) client.answerWith(reply)
      if (second === 70) client.answerWith(status(200))
      trackPurchases(analytics, 2)
      if (second % 2 === 0) void analytics.flush().then(() => flushes++)
      await clock.advance(1_000)
    }
    void analytics.flush().then(() => flushes++)
    await clock.advance(60_000)

    expect(losses).toEqual([])
    expect(analytics.stats).toMatchObject({ delivered: 200, pending: 0 })
    expect(flushes).toBe(51)
    expect([clock.timerCount, clock.holdCount]).toEqual([0, 0])
  })
})

describe.each(LIMITS)('under a rate limit (%s)', (_name, reply) => {
  test.each(['a callback', 'a promise', 'a flush'] as const)(
    'F144: %s is told after 10 s, and what nobody awaits is delivered afterwards',
    async (waiter) => {
      for (const atMs of [0, 1_000, 5_000, 20_000, 100_000]) {
        const { told, stats } = await wait(waiter, reply, atMs, 1)

        expect(told?.afterMs, `at ${atMs} ms`).toBeLessThanOrEqual(10_100)
        if (waiter === 'a flush') expect(told?.summary?.pending).toBe(WAITING)
        else expect([told?.code, told?.afterMs]).toEqual(['retries_exhausted', 10_000])
        const failed = waiter === 'a flush' ? 0 : 1
        expect(stats).toMatchObject({ delivered: 1 + WAITING, failed, pending: 0 })
      }
    },
  )
})

test('an accepted request that asks for a wait of a minute limits the rate: an awaited event is told after 10 s', async () => {
  const { analytics, client, clock } = createAnalytics({ flushAt: 1 })
  client.answerWith(status(200, { 'Retry-After': '60' }))
  trackPurchases(analytics, 1)
  await clock.advance(1_000)
  const told: (string | number | undefined)[] = []
  const tell = (error?: Error): number => told.push(error?.message, clock.elapsedMs)
  analytics.track({ userId: 'ada', event: 'Awaited' }, tell)
  trackPurchases(analytics, 1)
  await clock.advance(100_000)

  expect(told).toEqual(['the service asks for a wait of 60 s', 11_000])
  expect(analytics.stats).toMatchObject({ delivered: 2, failed: 1, pending: 0 })
})

test('F145: 10,000 flushes with a timeout leave nothing while one event waits', async () => {
  const { analytics, client, clock } = createAnalytics({ flushAt: 1 }, [
    status(429, { 'Retry-After': '300' }),
  ])
  trackPurchases(analytics, 1)
  await clock.advance(1_000)
  const timers = clock.timerCount
  let resolved = 0
  for (let round = 0; round < 100; round++) {
    for (let count = 0; count < 100; count++) void analytics.flush({ timeout: 1 }).then(() => resolved++)
    await clock.advance(1)
  }

  expect(resolved).toBe(10_000)
  expect([clock.timerCount, clock.holdCount]).toEqual([timers, 0])
  expect(analytics.stats.pending).toBe(1)
  // The flushes that have resolved do not count the outcome any more.
  client.answerWith(status(200))
  await clock.advance(400_000)
  expect(analytics.stats).toMatchObject({ delivered: 1, pending: 0 })
  expect(clock.timerCount).toBe(0)
})
