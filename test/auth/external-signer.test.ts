import { createPublicKey, sign as signWith } from 'node:crypto'
import { jwtVerify } from 'jose'
import { describe, expect, test, vi } from 'vitest'
import { Analytics } from '../../src/analytics.ts'
import type { DeliveryError } from '../../src/errors/errors.ts'
import type { HTTPFetchFn } from '../../src/http/client.ts'
import type { AnalyticsSettings, OAuthSettings } from '../../src/settings/settings.ts'
import type { Signer } from '../../src/settings/signer.ts'
import { createAnalytics, recordOutcomes, trackPurchases, WRITE_KEY } from '../support/create-analytics.ts'
import { CLIENT_ID, CLIENT_KEY, CLIENT_PEM, KEY_ID } from '../support/token-server.ts'

type Sign = Signer['sign']

const sign: Sign = async (data) => new Uint8Array(signWith('sha256', data, CLIENT_KEY))

/** `answers` handle the first calls of the signer; later calls return valid signatures. */
function start(
  answers: Sign[],
  oauth: Partial<OAuthSettings> = {},
  settings: Partial<AnalyticsSettings> = {},
) {
  const assertions: string[] = []
  let signatures = 0
  const signer: Signer = {
    algorithm: 'RS256',
    sign: (data) => (answers[signatures++] ?? sign)(data),
  }
  const httpClient: HTTPFetchFn = async (_, { body }) => {
    assertions.push(new URLSearchParams(String(body)).get('client_assertion') ?? '')
    return new Response(JSON.stringify({ access_token: `tok-${assertions.length}`, expires_in: 3_600 }))
  }
  const oauthSettings = {
    clientId: CLIENT_ID,
    keyId: KEY_ID,
    authServer: 'https://oauth2.example.test',
    signer,
    httpClient,
    ...oauth,
  }
  const harness = createAnalytics({ oauthSettings, flushAt: 2, httpRequestTimeout: 4_000, ...settings })
  const errors: DeliveryError[] = []
  harness.analytics.on('error', ({ reason }) => errors.push(reason as DeliveryError))
  return { ...harness, assertions, errors, signatures: () => signatures }
}

/** Waits in real time: the fake clock cannot make the code for tokens load. */
async function loaded(isDone: () => boolean): Promise<void> {
  await vi.waitFor(() => expect(isDone()).toBe(true), { timeout: 60_000, interval: 5 })
}

test('events are sent with a token that was requested with an external signature', async () => {
  const { analytics, client, assertions } = start([])
  const { outcomes, callback } = recordOutcomes()

  trackPurchases(analytics, 2, callback)
  await loaded(() => outcomes.length === 2)

  expect(outcomes).toEqual(['delivered', 'delivered'])
  expect(client.requests[0]?.headers['Authorization']).toBe('Bearer tok-1')
  const { protectedHeader } = await jwtVerify(assertions[0] as string, createPublicKey(CLIENT_PEM), {
    currentDate: new Date('2026-11-20T09:30:00.000Z'),
  })
  expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'JWT', kid: KEY_ID })
})

describe('a signer that', () => {
  const broken: [string, Sign, RegExp][] = [
    ['rejects', () => Promise.reject(new Error('kms:Sign is denied')), /kms:Sign is denied/],
    [
      'rejects with a TimeoutError of its own',
      () => Promise.reject(Object.assign(new Error('KMS is slow'), { name: 'TimeoutError' })),
      /KMS is slow/,
    ],
    ['returns nothing', async () => undefined as never, /did not return a Uint8Array/],
    ['hangs', () => new Promise(() => {}), /took longer than 4000 ms/],
  ]

  test.each(broken)(
    '%s makes events fail with auth after the retries, and later ones are sent',
    async (...row) => {
      const [, bad, message] = row
      const { analytics, clock, client, errors, signatures } = start([bad, bad], {}, { maxRetries: 1 })

      trackPurchases(analytics, 2)
      await loaded(() => signatures() > 0)
      await clock.advance(4_000)
      await clock.advance(1_000)
      await clock.advance(4_000)
      await loaded(() => errors.length === 2)

      expect(errors.map(({ code }) => code)).toEqual(['auth', 'auth'])
      expect(errors[0]?.message).toMatch(/^no access token from oauth2.example.test: .*could not be signed/)
      expect(errors[0]?.message).toMatch(message)
      expect(client.requests).toEqual([])
      expect(analytics.stats).toMatchObject({ accepted: 2, failed: 2, pending: 0 })

      trackPurchases(analytics, 2)
      await clock.advance(10_000)
      await loaded(() => analytics.stats.delivered === 2)
    },
  )

  test('quotes the client id and the key id in its error: the error of the event does not contain them', async () => {
    const bad: Sign = (data) => {
      const [header, payload] = Buffer.from(data).toString('utf8').split('.') as [string, string]
      const [kid, iss] = [header, payload].map((part) => Buffer.from(part, 'base64url').toString('utf8'))
      return Promise.reject(new Error(`cannot sign ${kid} ${iss}`, { cause: new Error(`for ${iss}`) }))
    }
    const { analytics, errors } = start([bad], {}, { maxRetries: 0 })

    trackPurchases(analytics, 2)
    await loaded(() => errors.length === 2)

    const text = errors.map(({ message, cause }) => `${message} ${(cause as Error).message}`).join()
    expect(text).toContain('cannot sign')
    expect(text).not.toMatch(new RegExp(`${CLIENT_ID}|${KEY_ID}`))
  })
})

test.each(['RS256', 'RS512', 'PS384', 'ES256', 'EdDSA'])('a signer may use %s', (algorithm) => {
  const oauthSettings = { clientId: CLIENT_ID, keyId: KEY_ID, signer: { sign, algorithm } }

  expect(() => new Analytics({ writeKey: WRITE_KEY, oauthSettings })).not.toThrow()
})
