import { expect, test, vi } from 'vitest'
import { createAnalytics, trackPurchases } from '../support/create-analytics.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { status } from '../support/scripted-client.ts'

test('a request whose access token comes after the service has limited the rate is not sent', async () => {
  const answers: (() => void)[] = []
  const token = (): Response => new Response(JSON.stringify({ access_token: 'tok', expires_in: 3_600 }))
  const signer = { algorithm: 'RS256', sign: async () => new Uint8Array(256) }
  const httpClient = (): Promise<Response> =>
    new Promise((resolve) => void answers.push(() => resolve(token())))
  const oauthSettings = { clientId: 'id', keyId: 'key', signer, httpClient }
  const settings = { oauthSettings, flushAt: 1, httpRequestTimeout: 86_400_000 }
  let limit = (): void => {}
  const { analytics, client, clock } = createAnalytics(settings, [
    (request) =>
      new Promise((resolve) => {
        limit = () => resolve(status(429, { 'Retry-After': '60' })(request))
      }),
  ])
  trackPurchases(analytics, 1)
  await vi.waitFor(() => expect(answers).toHaveLength(1))
  answers[0]?.()
  await vi.waitFor(() => expect(client.requests).toHaveLength(1))
  await clock.advance(3_600_000)
  trackPurchases(analytics, 1)
  await vi.waitFor(() => expect(answers).toHaveLength(2))
  limit()
  await settled()
  answers[1]?.()
  await vi.waitFor(() => expect(analytics.status).toMatchObject({ queued: 2, inFlight: 0 }))

  expect(client.requests).toHaveLength(1)
})

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
