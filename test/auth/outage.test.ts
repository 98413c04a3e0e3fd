import { expect, test, vi } from 'vitest'
import type { AnalyticsSettings } from '../../src/settings/settings.ts'
import { createAnalytics, recordOutcomes, trackPurchases } from '../support/create-analytics.ts'
import { status } from '../support/scripted-client.ts'

/** A client whose token server gives these answers, and then tokens, which the API accepts for `seconds`. */
async function start(
  answer: (request: number) => Response | undefined,
  { seconds = 3_600, ...settings }: Partial<AnalyticsSettings> & { seconds?: number } = {},
) {
  const asked: number[] = []
  const harness = createAnalytics({
    oauthSettings: {
      clientId: 'client',
      keyId: 'key',
      authServer: 'https://oauth2.example.test',
      signer: { algorithm: 'RS256' as const, sign: async () => new Uint8Array(256) },
      httpClient: async () => {
        asked.push(harness.clock.elapsedMs)
        const token = { access_token: `tok-${asked.length}`, expires_in: seconds }
        return answer(asked.length) ?? new Response(JSON.stringify(token))
      },
    },
    flushAt: 2,
    ...settings,
  })
  const warnings: string[] = []
  harness.analytics.on('warning', ({ reason }) => warnings.push((reason as Error).message))
  const { outcomes, callback } = recordOutcomes()
  trackPurchases(harness.analytics, 1)
  trackPurchases(harness.analytics, 1, callback)
  // The code for tokens is loaded in real time.
  await vi.waitFor(() => expect(asked.length).toBeGreaterThan(0), { timeout: 60_000, interval: 5 })
  const pass = async (seconds: number): Promise<void> => {
    for (; seconds > 0; seconds--) {
      await harness.clock.advance(1_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { ...harness, asked, outcomes, callback, warnings, pass }
}

const down = (headers: Record<string, string> = {}): Response => new Response('', { status: 503, headers })
const limited = (seconds: number): Response =>
  new Response('', { status: 429, headers: { 'retry-after': String(seconds) } })

test('while the token server is down, whoever awaits an event is told within seconds, and others wait', async () => {
  let isDown = true
  const { analytics, client, outcomes, warnings, pass } = await start(() => (isDown ? down() : undefined))
  const flushing = analytics.flush()
  await pass(1)
  expect(analytics.status.lastError).toMatchObject({ message: expect.stringContaining('[503]'), status: 503 })
  expect(outcomes).toEqual([])
  await pass(19)

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
  const { analytics, outcomes, pass } = await start(() => (isLimited ? limited(60) : undefined))
  await pass(9)
  expect(outcomes).toEqual([])
  await pass(2)
  expect(outcomes).toEqual(['retries_exhausted'])
  isLimited = false
  await pass(80)

  expect(analytics.stats).toMatchObject({ delivered: 1, failed: 1, pending: 0 })
})

test('after a minute without tokens, whoever awaits an event has it delivered as soon as there is a token', async () => {
  let isDown = true
  const { analytics, asked, callback, pass } = await start(() => (isDown ? down() : undefined))
  for (let second = 0; second < 60; second++) {
    await pass(1)
    if (second % 5 === 4) trackPurchases(analytics, 2, callback)
  }
  expect(asked.length).toBeGreaterThan(6)
  expect(asked.length).toBeLessThanOrEqual(15)
  isDown = false
  const late = recordOutcomes()
  trackPurchases(analytics, 2, late.callback)
  await pass(10)

  expect(late.outcomes).toEqual(['delivered', 'delivered'])
  expect(analytics.stats.pending).toBe(0)
})

test('after a failure of the token server, a token that the API refuses is renewed', async () => {
  const { analytics, client, outcomes, pass } = await start((request) => (request === 1 ? down() : undefined))
  client.answerWith(status(401), status(200))
  await pass(10)

  expect(outcomes).toEqual(['delivered'])
  expect(analytics.stats).toMatchObject({ delivered: 2, pending: 0 })
})
