/** Parts while nothing else gets through: docs/spec.md, section 8, sentence 4. */
import { expect, test } from 'vitest'
import { createAnalytics, trackPurchases } from '../support/create-analytics.ts'
import { type Reply, status } from '../support/scripted-client.ts'

/** Fails each request that contains one of these, and accepts the others. */
const failing =
  (isBad: (id: string) => boolean): Reply =>
  (request) =>
    status(request.messageIds.some(isBad) ? 500 : 200)(request)

const numberOf = (id: string): number => Number(id.slice('purchase-'.length))

test.each([1, 4])(
  'good events get through although all parts hold a bad one, %i requests at once',
  async (most) => {
    const EVENTS = 60
    const settings = { maxConcurrentRequests: most, flushAt: EVENTS }
    // Two neighbours of three are bad, so that each half of a part holds one until it is an event alone.
    const { analytics, clock, client } = createAnalytics(settings, [failing((id) => numberOf(id) % 3 > 0)])
    analytics.on('error', () => {})
    analytics.on('warning', () => {})
    trackPurchases(analytics, EVENTS)
    // The service fails while the batch is halved, and nothing follows.
    await clock.advance(50)
    client.answerWith(status(503))
    await clock.advance(60_000)
    client.answerWith(failing((id) => numberOf(id) % 3 > 0))
    await clock.advance(600_000)

    expect(analytics.stats.delivered).toBe(EVENTS / 3)
  },
)

test('a number of retries that was set ends an event that is left alone', async () => {
  const { analytics, clock, client } = createAnalytics({ maxRetries: 4, flushAt: 4 }, [
    failing((id) => id === 'purchase-2'),
  ])
  const codes: string[] = []
  analytics.on('error', ({ reason }) => codes.push(reason.code))
  analytics.on('warning', () => {})
  trackPurchases(analytics, 4)
  await clock.advance(600_000)

  expect(codes).toEqual(['retries_exhausted'])
  expect(analytics.stats).toMatchObject({ delivered: 3, pending: 0 })
  const alone = client.requests.filter(({ messageIds }) => messageIds.join() === 'purchase-2')
  expect(alone).toHaveLength(5)
})

test.each([undefined, 10])('parts make few requests in an outage, maxRetries: %s', async (maxRetries) => {
  const EVENTS = 64
  const { analytics, clock, client } = createAnalytics({ maxRetries, flushAt: EVENTS }, [
    (request) => status(request.batch.length > 1 ? 500 : 200)(request),
  ])
  analytics.on('error', () => {})
  analytics.on('warning', () => {})
  trackPurchases(analytics, EVENTS)
  await clock.advance(10)
  const { delivered } = analytics.stats
  client.answerWith(status(503))
  await clock.advance(1)
  const before = client.requests.length
  await clock.advance(60_000)

  expect([delivered > 0, analytics.stats.pending > 30]).toEqual([true, true])
  expect(client.requests.length - before).toBeLessThanOrEqual(20)
})
