/** Rate limits by `Retry-After` and by the headers `(X-)RateLimit`. The names begin with the row of docs/faults.md. */
import { afterEach, expect, test, vi } from 'vitest'
import { createAnalytics } from '../support/create-analytics.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { type Reply, status } from '../support/scripted-client.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

const EVENT = { userId: 'u', event: 'Limited' }

/** The milliseconds between a first request, which gets `reply`, and the second one. */
async function waitAfter(reply: Reply, clock = new FakeClock()): Promise<number> {
  const { analytics, client } = createAnalytics({}, [reply, status(200)], clock)
  analytics.track(EVENT)
  void analytics.flush()
  while (client.requests.length < 2 && clock.elapsedMs < 400_000) await clock.advance(1_000)
  await settled()
  expect(analytics.stats).toMatchObject({ accepted: 1, delivered: 1, pending: 0 })
  return client.gapsMs[0] as number
}

/** A stated wait becomes up to a fifth longer at random. */
function expectStated(waitMs: number, statedMs: number, what = ''): void {
  expect(waitMs, what).toBeGreaterThan(statedMs)
  expect(waitMs, what).toBeLessThanOrEqual(statedMs * 1.2 + 1)
}

test('F41 X-RateLimit-Reset, RateLimit-Reset and RateLimit in all their forms: 2 s in all', async () => {
  const nowMs = new FakeClock().now()
  for (const headers of [
    { 'X-RateLimit-Reset': '2' },
    { 'X-RateLimit-Reset': String(nowMs / 1_000 + 2) },
    { 'X-RateLimit-Reset': String(nowMs + 2_000) },
    { 'RateLimit-Reset': '2' },
    { RateLimit: '"d";r=0;t=2' },
  ] as Record<string, string>[]) {
    expectStated(await waitAfter(status(429, headers)), 2_000, JSON.stringify(headers))
  }
})

test('F46 429 + 5 s while 50 batches are ready: one request before, one probe on opening, then 4 in flight', async () => {
  const answers: (() => void)[] = []
  const held: Reply = (request) => new Promise((resolve) => answers.push(() => resolve(status(200)(request))))
  const { analytics, client, clock } = createAnalytics({ flushAt: 10_000 }, [
    status(429, { 'retry-after': '5' }),
    held,
  ])
  const properties = { fill: 'x'.repeat(30_000) }
  analytics.track({ ...EVENT, properties })
  void analytics.flush()
  await settled()
  for (let n = 0; n < 50 * 16; n++) analytics.track({ ...EVENT, properties })
  void analytics.flush()
  await clock.advance(4_900)
  expect(client.requests).toHaveLength(1)

  await clock.advance(1_200)
  expect(client.requests).toHaveLength(2)
  for (const answer of answers.splice(0)) answer()
  await settled()
  await settled()
  expect(client.requests).toHaveLength(2 + 4)

  while (analytics.stats.pending > 0) {
    for (const answer of answers.splice(0)) answer()
    await settled()
  }
  expect(client.mostOpen).toBe(4)
  expect(analytics.stats).toMatchObject({ delivered: 801, failed: 0 })
})

test('F47 429 for ever, with a header of 1 s: stops at maxRateLimitDuration with deadline; attempts <= elapsed / 1 s + 1', async () => {
  const { analytics, client, clock } = createAnalytics(
    { maxRateLimitDuration: 10, maxQueueSize: 100, flushAt: 10 },
    [status(429, { 'retry-after': '1' })],
  )
  for (let n = 0; n < 500; n++) analytics.track(EVENT)
  while (analytics.stats.pending > 0 && clock.elapsedMs < 60_000) await clock.advance(1_000)
  expect(analytics.stats.failures).toMatchObject({ queue_full: 400, deadline: 100 })
  expect(clock.elapsedMs).toBeLessThanOrEqual(12_000)
  expect(client.requests.length).toBeLessThanOrEqual(clock.elapsedMs / 1_000 + 1)
})

test('F33 200 clients, an outage that ends at 60 s: at most 25 % of them in the first second after it', async () => {
  const herd = Array.from({ length: 200 }, (_, index) =>
    createAnalytics(
      {},
      [(request) => status(request.atMs < 60_000 ? 503 : 200)(request)],
      new FakeClock(undefined, index * 7_919 + 1),
    ),
  )
  for (const { analytics, clock } of herd) {
    // Otherwise each outage would be printed.
    analytics.on('warning', () => {})
    analytics.track(EVENT)
    void analytics.flush()
    await clock.advance(125_000)
  }
  const returns = herd.flatMap(({ client }) =>
    client.requests.map(({ atMs }) => atMs).filter((atMs) => atMs >= 60_000),
  )
  expect(returns).toHaveLength(200)
  expect(returns.filter((atMs) => atMs < 61_000).length).toBeLessThanOrEqual(50)
  expect(herd.every(({ analytics }) => analytics.stats.delivered === 1)).toBe(true)
})

test('a flush is told no sooner than its events, even if its turn went on for a while after the call', async () => {
  const { analytics, clock } = createAnalytics({}, [status(429, { 'retry-after': '5' })])
  const codes: (string | undefined)[] = []
  analytics.track({ userId: 'ada', event: 'Order Completed' }, (error) => codes.push(error?.code))
  const flushing = analytics.flush()
  clock.stall(30)
  await clock.advance(20_000)

  expect(await flushing).toEqual({ delivered: 0, failed: 1, pending: 0 })
  expect(codes).toEqual(['retries_exhausted'])
})
