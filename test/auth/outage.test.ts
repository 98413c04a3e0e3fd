import { expect, test, vi } from 'vitest'
import { createAnalytics, recordOutcomes, trackPurchases } from '../support/create-analytics.ts'

/** A client whose token server gives these answers, and then tokens. */
async function start(answer: () => Response | undefined) {
  let asked = 0
  const oauthSettings = {
    clientId: 'client',
    keyId: 'key',
    authServer: 'https://oauth2.example.test',
    signer: { algorithm: 'RS256' as const, sign: async () => new Uint8Array(256) },
    httpClient: async () => {
      asked++
      return answer() ?? new Response(JSON.stringify({ access_token: 'tok', expires_in: 3_600 }))
    },
  }
  const harness = createAnalytics({ oauthSettings, flushAt: 2 })
  const warnings: string[] = []
  harness.analytics.on('warning', ({ reason }) => warnings.push((reason as Error).message))
  const { outcomes, callback } = recordOutcomes()
  trackPurchases(harness.analytics, 1)
  trackPurchases(harness.analytics, 1, callback)
  // The code for tokens is loaded in real time.
  await vi.waitFor(() => expect(asked).toBe(1), { timeout: 60_000, interval: 5 })
  const pass = async (seconds: number): Promise<void> => {
    for (; seconds > 0; seconds--) {
      await harness.clock.advance(1_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { ...harness, outcomes, warnings, pass }
}

test('while the token server is down, whoever awaits an event is told within seconds, and others wait', async () => {
  let isDown = true
  const { analytics, client, outcomes, warnings, pass } = await start(() =>
    isDown ? new Response('', { status: 503 }) : undefined,
  )
  const flushing = analytics.flush()
  await pass(20)

  expect(outcomes).toEqual(['retries_exhausted'])
  expect(await flushing).toEqual({ delivered: 0, failed: 1, pending: 1 })
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toContain('no access token from oauth2.example.test: [503]')
  isDown = false
  await pass(60)
  expect(analytics.stats).toMatchObject({ delivered: 1, failed: 1, pending: 0 })
  expect(client.requests).toHaveLength(1)
})

test('a 429 of the token server is a rate limit: whoever awaits an event is told after ten seconds', async () => {
  let isLimited = true
  const { analytics, outcomes, pass } = await start(() =>
    isLimited ? new Response('', { status: 429, headers: { 'retry-after': '60' } }) : undefined,
  )
  await pass(9)
  expect(outcomes).toEqual([])
  await pass(2)
  expect(outcomes).toEqual(['retries_exhausted'])
  isLimited = false
  await pass(80)

  expect(analytics.stats).toMatchObject({ delivered: 1, failed: 1, pending: 0 })
})
