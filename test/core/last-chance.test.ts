/** A close in an outage that ends before its timeout: docs/spec.md, section 6. */
import { expect, test } from 'vitest'
import { createAnalytics, trackPurchases } from '../support/create-analytics.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { hangUntilAborted, status } from '../support/scripted-client.ts'

const EVENTS = 40

test('F145, S25: flushes that end at their timeout leave nothing behind', async () => {
  const { analytics, clock } = createAnalytics({ flushAt: 1 }, [hangUntilAborted])
  trackPurchases(analytics, 1)
  await clock.advance(10)
  const timers = clock.timerCount

  for (let count = 0; count < 2_000; count++) {
    const flushed = analytics.flush({ timeout: 1 })
    await clock.advance(2)
    expect(await flushed).toEqual({ delivered: 0, failed: 0, pending: 1 })
  }

  expect(clock.timerCount).toBeLessThanOrEqual(timers)
})

async function close(seed: number, downMs: number) {
  const clock = new FakeClock(undefined, seed)
  const { analytics, client } = createAnalytics({}, [status(503)], clock)
  analytics.on('error', () => {})
  analytics.on('warning', () => {})
  trackPurchases(analytics, EVENTS)
  const closed = analytics.closeAndFlush()
  await clock.advance(downMs)
  const requests = client.requests.length
  client.answerWith(status(200))
  await clock.advance(25_000)
  return { ...(await closed), requests }
}

test('a close delivers everything if the service is up 2 s before its timeout, whatever the backoff has drawn', async () => {
  const closes = await Promise.all(Array.from({ length: 100 }, (_, seed) => close(seed, 22_900)))

  expect(closes.filter(({ delivered }) => delivered < EVENTS)).toEqual([])
})

test('a close in an outage sends few requests', async () => {
  const closes = await Promise.all(Array.from({ length: 100 }, (_, seed) => close(seed, 30_000)))

  expect(closes.filter(({ failed }) => failed < EVENTS)).toEqual([])
  // At 0 s twice, then after waits that double to 8 s, each drawn from its upper half, and at 23 s.
  expect(Math.max(...closes.map(({ requests }) => requests))).toBeLessThanOrEqual(10)
})

test('a defect while an answer is taken in loses no event: those that are nowhere wait again', async () => {
  class FaultyClock extends FakeClock {
    faults = 1
    override random(): number {
      if (this.faults-- > 0) throw new Error('a defect')
      return super.random()
    }
  }
  const clock = new FaultyClock()
  const { analytics, client } = createAnalytics({}, [status(401)], clock)
  const warnings: unknown[] = []
  analytics.on('warning', (warning) => warnings.push(warning))
  trackPurchases(analytics, 3)
  void analytics.flush()
  await clock.advance(10)
  client.answerWith(status(200))
  await clock.advance(120_000)

  expect(clock.faults).toBeLessThan(1)
  expect(analytics.stats).toMatchObject({ delivered: 3, pending: 0 })
})

test('an event that comes while the settings are wrong is tried after flushInterval, not at the next look', async () => {
  const { analytics, client, clock } = createAnalytics({ flushInterval: 10_000 }, [status(401)])
  analytics.on('error', () => {})
  trackPurchases(analytics, 1)
  await clock.advance(20_000)
  expect(client.requests).toHaveLength(1)

  trackPurchases(analytics, 1)
  await clock.advance(10_000)

  expect(client.requests).toHaveLength(2)
})

test('a defect while the next request is chosen does not end the program', async () => {
  class FaultyClock extends FakeClock {
    isFaulty = false
    override setTimer(run: () => void, ms: number): () => void {
      if (!this.isFaulty) return super.setTimer(run, ms)
      this.isFaulty = false
      throw new Error('a defect')
    }
  }
  const clock = new FaultyClock()
  const { analytics, client } = createAnalytics({ flushAt: 1 }, [status(503)], clock)
  analytics.on('http_response', () => {
    clock.isFaulty = true
  })
  trackPurchases(analytics, 1)
  await clock.advance(10)
  expect(clock.isFaulty).toBe(false)

  client.answerWith(status(200))
  const flushed = analytics.flush()
  await clock.advance(60_000)

  expect(await flushed).toEqual({ delivered: 1, failed: 0, pending: 0 })
})
