import type { RequestListener, ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Analytics } from '../../src/analytics.ts'
import type { ErrorEvent } from '../../src/events/events.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import type { AnalyticsSettings, OAuthSettings } from '../../src/settings/settings.ts'
import { AnalyticsOnClock, trackPurchases, WRITE_KEY } from '../support/create-analytics.ts'
import { type Loopback, listen, readBody } from '../support/loopback.ts'
import {
  CLIENT_ID,
  CLIENT_PEM,
  KEY_ID,
  TokenServer,
  type TokenServerOptions,
} from '../support/token-server.ts'

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** An API that accepts batches with a valid token. */
class Api {
  readonly authorizations: (string | undefined)[] = []
  readonly messageIds: string[] = []
  readonly bodies: string[] = []
  /** Status codes of the next responses. Without one, the token decides. */
  readonly statuses: number[] = []
  onRequest = (): void => {}
  /** If this returns true, it has responded, and the API does not. */
  respond: (response: ServerResponse) => boolean = () => false
  loopback: Loopback | undefined

  constructor(readonly tokens: TokenServer) {}

  readonly serve: RequestListener = async (request, response) => {
    const body = await readBody(request)
    this.bodies.push(body)
    this.authorizations.push(request.headers.authorization)
    this.onRequest()
    if (this.respond(response)) return
    const isAccepted = this.tokens.accepts(request.headers.authorization)
    const status = this.statuses.shift() ?? (isAccepted ? 200 : 401)
    if (status === 200) {
      const { batch } = JSON.parse(body) as { batch: { messageId: string }[] }
      this.messageIds.push(...batch.map(({ messageId }) => messageId))
    }
    response.writeHead(status).end('{}')
  }
}

/** Time runs ten times as fast, so that waits of seconds are short. */
const fastHost: Clock = {
  ...systemClock,
  monotonic: () => systemClock.monotonic() * 10,
  setTimer: (run, ms) => systemClock.setTimer(run, ms / 10),
}

async function start(
  oauth: Partial<OAuthSettings> = {},
  settings: Partial<AnalyticsSettings> = {},
  serverOptions: TokenServerOptions = {},
) {
  const tokens = await TokenServer.start(serverOptions)
  const api = new Api(tokens)
  const loopback = await listen(api.serve)
  const oauthSettings = {
    clientId: CLIENT_ID,
    clientKey: CLIENT_PEM,
    keyId: KEY_ID,
    authServer: tokens.url,
    ...oauth,
  }
  const analytics = new AnalyticsOnClock(
    { writeKey: WRITE_KEY, host: loopback.url, flushAt: 5, oauthSettings, ...settings },
    { clock: fastHost },
  )
  const errors: ErrorEvent[] = []
  analytics.on('error', (error) => errors.push(error))
  closers.push(
    loopback.close,
    () => tokens.close(),
    () => analytics.closeAndFlush({ timeout: 100 }),
  )
  return { tokens, api, analytics, errors, codes: () => errors.map(({ reason }) => reason.code) }
}

test('events are sent with a token for a verified assertion, and with the write key in the body', async () => {
  const { tokens, api, analytics } = await start()

  trackPurchases(analytics, 12)
  await analytics.flush()
  trackPurchases(analytics, 3)
  await analytics.flush()

  expect(api.messageIds).toHaveLength(15)
  expect(tokens.requests).toHaveLength(1)
  expect(tokens.refusals).toEqual([])
  expect(new Set(api.authorizations)).toEqual(new Set([`Bearer ${tokens.issued[0]}`]))
  expect(api.bodies.every((body) => JSON.parse(body).writeKey === WRITE_KEY)).toBe(true)
})

test('F52: a token that is revoked during the run costs one token request and no event, and is not used again', async () => {
  const { tokens, api, analytics } = await start({}, { flushAt: 1 }, { delayMs: 20 })
  let count = 0
  api.onRequest = () => {
    count++
    if (count === 40) tokens.revokeAll()
  }

  for (let round = 0; round < 300; round++) {
    analytics.track({ userId: 'usr_Zoë', event: 'Bestellung', messageId: `order-${round}` })
    if (round % 4 === 3) await analytics.flush({ timeout: 30 })
  }
  await analytics.flush()

  expect(analytics.stats).toMatchObject({ accepted: 300, delivered: 300, failed: 0 })
  expect(new Set(api.messageIds).size).toBe(300)
  expect(tokens.requests).toHaveLength(2)
  const first = api.authorizations.indexOf(`Bearer ${tokens.issued[1]}`)
  expect(first).toBeGreaterThan(39)
  expect(api.authorizations.slice(first)).not.toContain(`Bearer ${tokens.issued[0]}`)
})

test('F53: an API that refuses every token makes events fail with auth after one renewal, without a loop', async () => {
  const { tokens, api, analytics, codes } = await start({}, { flushAt: 1, maxConcurrentRequests: 1 })
  api.statuses.push(...new Array(100).fill(401))

  trackPurchases(analytics, 8)
  const { delivered, failed, pending } = await analytics.flush()

  // A flush gives up after four failures in a row.
  expect([delivered, failed + pending]).toEqual([0, 8])
  expect(new Set(codes())).toEqual(new Set(['auth']))
  expect(tokens.requests).toHaveLength(2)
  expect(api.bodies.length).toBeLessThanOrEqual(9)
})

test.each([
  [403, 'auth', 1, 1],
  [400, 'rejected', 1, 1],
  [511, undefined, 2, 2],
])(
  'F54: after a %d from the API, the failure code is %s',
  async (status, code, tokenRequests, apiRequests) => {
    const { tokens, api, analytics, codes } = await start()
    api.statuses.push(status)

    trackPurchases(analytics, 1)
    await analytics.flush()

    expect(codes()).toEqual(code === undefined ? [] : [code])
    expect(tokens.requests).toHaveLength(tokenRequests)
    expect(api.bodies).toHaveLength(apiRequests)
  },
)

test('S09: a token server cannot redirect the request, and nothing is sent to the target of the redirect', async () => {
  const elsewhere: string[] = []
  const target = await listen((request, response) => {
    elsewhere.push(request.url ?? '')
    response.end()
  })
  closers.push(target.close)
  const { tokens, analytics, errors } = await start()
  tokens.replies.push((_request, response) =>
    response.writeHead(307, { location: `${target.url}/token` }).end(),
  )

  trackPurchases(analytics, 1)
  await analytics.flush()

  expect(elsewhere).toEqual([])
  expect(errors[0]?.reason).toMatchObject({ code: 'auth', status: 307 })
})

describe('a token server that refuses a token', () => {
  test('F67: because of a wrong audience is named in the error only by its host', async () => {
    let url = ''
    const { tokens, analytics, errors } = await start({
      authServer: 'https://oauth2.example.test/geheim',
      httpClient: (_url, request) => fetch(`${url}/token`, request as RequestInit),
    })
    url = tokens.url

    trackPurchases(analytics, 1)
    await analytics.flush()

    expect(tokens.refusals[0]).toContain('aud')
    expect(errors[0]?.reason.message).toContain('no access token from oauth2.example.test:')
    expect(errors[0]?.reason.message).not.toContain('geheim')
  })
})

describe('closing a client with access tokens', () => {
  test('F68: waits for a token request', async () => {
    const { api, analytics } = await start({}, {}, { delayMs: 150 })
    trackPurchases(analytics, 3)

    const summary = await analytics.closeAndFlush({ timeout: 5_000 })

    expect(summary).toEqual({ delivered: 3, failed: 0, pending: 0 })
    expect(api.messageIds).toHaveLength(3)
  })
})

test("S10: two clients never use each other's token", async () => {
  const [one, other] = [await start(), await start()]

  trackPurchases(one.analytics, 1)
  trackPurchases(other.analytics, 1)
  await Promise.all([one.analytics.flush(), other.analytics.flush()])

  expect(one.api.authorizations).toEqual([`Bearer ${one.tokens.issued[0]}`])
  expect(other.api.authorizations).toEqual([`Bearer ${other.tokens.issued[0]}`])
})

test.each([
  ['of the OAuth settings, and events the other one', true, 'own /token'],
  ['for events, if they have none of their own', false, 'events /token'],
])('token requests use the HTTP client %s', async (_, hasOwn, tokenRequest) => {
  const used: string[] = []
  const client = (name: string) => (url: string, request: object) => {
    used.push(`${name} ${new URL(url).pathname}`)
    return fetch(url, request as RequestInit)
  }
  const oauth = hasOwn ? { httpClient: client('own') } : {}
  const { analytics } = await start(oauth, { httpClient: client('events') })

  trackPurchases(analytics, 1)
  await analytics.flush()

  expect(used).toEqual([tokenRequest, 'events /v1/batch'])
})

describe('no secret is shown', () => {
  test('S01, S03, S04: by errors, events, inspection and JSON, whatever the servers answer', async () => {
    const { tokens, api, analytics, errors } = await start({}, { flushAt: 1, maxRetries: 0 })
    const seen: unknown[] = [errors]
    for (const name of ['initialize', 'http_request', 'http_response', 'track', 'drained'] as const) {
      analytics.on(name, (...args: unknown[]) => seen.push(args))
    }
    const warnings: unknown[] = []
    const onWarning = (warning: Error) => warnings.push(warning)
    process.on('warning', onWarning)
    closers.push(() => process.off('warning', onWarning))

    api.statuses.push(200, 503, 401, 401, 403, 413, 200)
    for (let round = 0; round < 6; round++) {
      trackPurchases(analytics, 1, (error, ctx) => seen.push([error, ctx, JSON.stringify(ctx)]))
      await analytics.flush()
    }
    tokens.revokeAll()
    tokens.replies.push((_request, response, body) =>
      tokens.send(response, 400, { error: 'invalid_request', error_description: body }),
    )
    trackPurchases(analytics, 1, (error) => seen.push(error))
    await analytics.flush({ timeout: 60_000 })
    await analytics.closeAndFlush({ timeout: 100 })
    seen.push(
      warnings,
      analytics,
      JSON.stringify(analytics),
      inspect(analytics, { showHidden: true, depth: 20 }),
    )

    const shown = inspect(seen, { depth: 30, showHidden: true, maxArrayLength: null, maxStringLength: null })
    expect(errors.length).toBeGreaterThan(2)
    const keyLines = CLIENT_PEM.split('\n').slice(1, -2)
    const assertions = tokens.requests.map((form) => form.get('client_assertion') as string)
    const basic = Buffer.from(`${WRITE_KEY}:`).toString('base64')
    const secrets = [...keyLines, ...tokens.issued, ...assertions, WRITE_KEY, basic, CLIENT_ID, KEY_ID]
    expect(tokens.issued.length).toBeGreaterThan(1)
    for (const secret of secrets) {
      expect(shown).not.toContain(secret)
      expect(shown).not.toContain(encodeURIComponent(secret))
      expect(shown).not.toContain(Buffer.from(secret).toString('base64'))
    }
  })
})

describe('S11: tokens over plain http', () => {
  function warningsOf(settings: Partial<AnalyticsSettings>, oauth: Partial<OAuthSettings> = {}): string[] {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const oauthSettings = { clientId: CLIENT_ID, clientKey: CLIENT_PEM, keyId: KEY_ID, ...oauth }
    new Analytics({ writeKey: WRITE_KEY, oauthSettings, ...settings })
    const messages = warn.mock.calls.map(([message]) => String(message))
    warn.mockRestore()
    return messages
  }

  test.each([
    ['host', { host: 'http://api.example.test' }, {}],
    ['oauthSettings.authServer', {}, { authServer: 'http://oauth2.example.test' }],
    ['host', { host: 'http://127.0.0.1.example.test' }, {}],
    ['host', { host: 'http://notlocalhost' }, {}],
  ])('to another machine cause a warning when the client is created: %s', (name, settings, oauth) => {
    const messages = warningsOf(settings, oauth)

    expect(messages).toHaveLength(1)
    expect(messages[0]).toContain(`${name}: `)
    expect(messages[0]).toContain('plain http')
  })

  test.each([
    ['to this machine', { host: 'http://127.0.0.1:8080' }, { authServer: 'http://localhost:8081' }],
    ['to this machine by IPv6', { host: 'http://[::1]:8080' }, { authServer: 'http://auth.localhost' }],
    ['over https', { host: 'https://api.example.test' }, { authServer: 'https://oauth2.example.test' }],
    ['that are not used', { oauthSettings: undefined }, { authServer: 'http://oauth2.example.test' }],
  ])('no warning is caused by tokens %s', (_, settings, oauth) => {
    expect(warningsOf(settings, oauth)).toEqual([])
  })
})

describe('the settings', () => {
  const good = { clientId: CLIENT_ID, clientKey: CLIENT_PEM, keyId: KEY_ID }
  const signed = { clientId: CLIENT_ID, keyId: KEY_ID }
  const sign = async (data: Uint8Array) => data
  test.each<[string, unknown, RegExp]>([
    ['null', null, /^oauthSettings: expected an object, got null/],
    ['no client id', { ...good, clientId: undefined }, /^oauthSettings.clientId: .*got undefined/],
    ['a client id with CR LF', { ...good, clientId: 'a\r\nb' }, /^oauthSettings.clientId/],
    ['no key id', { ...good, keyId: undefined }, /^oauthSettings.keyId/],
    ['no key', { ...good, clientKey: undefined }, /^oauthSettings.clientKey/],
    [
      'a token server without a scheme',
      { ...good, authServer: 'oauth2.segment.io' },
      /^oauthSettings.authServer/,
    ],
    ['an empty scope', { ...good, scope: '' }, /^oauthSettings.scope/],
    ['-1 retries', { ...good, maxRetries: -1 }, /^oauthSettings.maxRetries/],
    ['an HTTP client without makeRequest', { ...good, httpClient: {} }, /^oauthSettings.httpClient/],
    [
      'a signer and a key',
      { ...good, signer: { algorithm: 'RS256', sign } },
      /^oauthSettings.signer: expected either/,
    ],
    ['null as signer', { ...signed, signer: null }, /^oauthSettings.signer: expected an object, got null/],
    ...[undefined, 'HS256', 'none', 'RS256\r\n'].map((algorithm): [string, unknown, RegExp] => [
      `the algorithm ${algorithm}`,
      { ...signed, signer: { sign, algorithm } },
      /^oauthSettings.signer.algorithm: expected a JWS algorithm/,
    ]),
    [
      'a signer that cannot sign',
      { ...signed, signer: { algorithm: 'RS256' } },
      /^oauthSettings.signer.sign/,
    ],
  ])('are refused with %s, and the error names the setting', (_, oauthSettings, message) => {
    expect(() => new Analytics({ writeKey: WRITE_KEY, oauthSettings } as AnalyticsSettings)).toThrow(message)
  })

  test('do not include an inherited clientKey', () => {
    const polluted = Object.create({ clientKey: CLIENT_PEM }) as object
    const oauthSettings = Object.assign(polluted, { clientId: CLIENT_ID, keyId: KEY_ID })

    expect(() => new Analytics({ writeKey: WRITE_KEY, oauthSettings } as AnalyticsSettings)).toThrow(
      /clientKey/,
    )
  })

  test.each([
    ['default', 'https://oauth2.segment.io/token'],
    ['eu', 'https://oauth2.eu1.segmentapis.com/token'],
  ] as const)('the region %s uses its token server', async (region, url) => {
    const urls: string[] = []
    const httpClient = async (to: string) => {
      urls.push(to)
      return { status: 400, statusText: '' }
    }
    const analytics = new Analytics({ writeKey: WRITE_KEY, region, oauthSettings: { ...good, httpClient } })
    analytics.on('error', () => {})

    analytics.track({ userId: 'usr_Zoë', event: 'Bestellung' })
    await analytics.closeAndFlush()

    expect(urls).toEqual([url])
  })
})
