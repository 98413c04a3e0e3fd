import { expect, test } from 'vitest'
import { createAnalytics, trackPurchases } from '../support/create-analytics.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { status } from '../support/scripted-client.ts'

test('code of the library that throws while it handles a failed request is reported, and loses no event', async () => {
  const clock = new FakeClock()
  const codes: unknown[] = []
  const warn = ({ code }: { code?: unknown }): number => codes.push(code)
  const logger = { debug: () => {}, info: () => {}, warn, error: () => {} }
  const { analytics, client } = createAnalytics({ flushAt: 1, logger }, [status(200), status(503)], clock)
  trackPurchases(analytics, 1)
  await analytics.flush()
  clock.random = () => {
    clock.random = () => 0
    throw new Error('a fault')
  }
  trackPurchases(analytics, 1)
  await settled()
  client.answerWith(status(200))
  await clock.advance(499)
  expect(client.batchSizes).toHaveLength(2)
  await clock.advance(1)

  expect(client.batchSizes).toHaveLength(3)
  expect(codes).toEqual(['delivery_fault'])
  expect(analytics.stats).toMatchObject({ delivered: 2, pending: 0 })
})
