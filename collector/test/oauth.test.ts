import { createHmac, generateKeyPairSync } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import type { Collector, CollectorOptions } from '../src/index.ts'
import { type AssertionParts, assertion, config, publicPem, requestToken, startMs } from './support/oauth.ts'
import { basic, fakeClock, openCollector, postPlain, track } from './support.ts'

const theirs = generateKeyPairSync('rsa', { modulusLength: 2048 })
const nowSeconds = startMs / 1000

function open(options: CollectorOptions = {}) {
  return openCollector({ clock: fakeClock(startMs), config, ...options })
}

async function tokenFor(collector: Collector): Promise<string> {
  return (await requestToken(collector, await assertion(collector))).access_token ?? ''
}

test('an assertion is exchanged for a bearer token, with which events are accepted', async () => {
  const collector = await open()

  const answer = await requestToken(collector, await assertion(collector))
  const response = await postPlain(
    collector,
    '/v1/batch',
    { writeKey: 'shop-key', batch: [track()] },
    {
      authorization: `Bearer ${answer.access_token}`,
    },
  )

  expect(answer).toMatchObject({
    status: 200,
    expires_in: 60,
    token_type: 'Bearer',
    scope: 'tracking_api:write',
  })
  expect(response.status).toBe(200)
  expect(collector.events()).toMatchObject([{ source: 'shop', status: 'accepted' }])
})

test.each(['', '/', '/token'])('aud can be the address of the collector followed by %j', async (suffix) => {
  const collector = await open()
  const aud = `${collector.url.replace('127.0.0.1', 'localhost')}${suffix}`

  expect(await requestToken(collector, await assertion(collector, { claims: { aud } }))).toMatchObject({
    status: 200,
  })
})

const badAssertions: Array<[what: string, parts: AssertionParts, description: RegExp]> = [
  ['expired', { claims: { iat: nowSeconds - 120, exp: nowSeconds - 60 } }, /expired/],
  ['from the future', { claims: { iat: nowSeconds + 60, exp: nowSeconds + 90 } }, /not yet valid/],
  ['with nbf in the future', { claims: { nbf: nowSeconds + 60 } }, /not yet valid/],
  ['that lives too long', { claims: { exp: nowSeconds + 61 } }, /longer than 60 s/],
  ['for another audience', { claims: { aud: 'https://oauth2.example.com' } }, /aud/],
  ['with another subject', { claims: { sub: 'someone' } }, /sub/],
  ['of an unknown application', { claims: { iss: 'someone', sub: 'someone' } }, /issuer and key id/],
  ['with an unknown kid', { header: { kid: 'k2' } }, /issuer and key id/],
  ['without a kid', { header: { kid: undefined } }, /issuer and key id/],
  ['signed with another key', { key: theirs.privateKey }, /signature/],
  ['signed with PS256', { header: { alg: 'PS256' } }, /algorithm/],
  ['without jti', { claims: { jti: undefined } }, /jti/],
  ['with a jti that is too long', { claims: { jti: 'x'.repeat(257) } }, /jti/],
  ['without exp', { claims: { exp: undefined } }, /exp/],
  ['without iat', { claims: { iat: undefined } }, /iat/],
]

test.each(badAssertions)(
  'an assertion %s is refused as invalid_client',
  async (_what, parts, description) => {
    const collector = await open()

    const answer = await requestToken(collector, await assertion(collector, parts))

    expect(answer).toMatchObject({ status: 401, error: 'invalid_client' })
    expect(answer.error_description).toMatch(description)
  },
)

/** Builds a JWT without a library, because no library would make such a token. */
function forged(header: object, payload: object, secret?: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part(header)}.${part(payload)}`
  const signature = secret === undefined ? '' : createHmac('sha256', secret).update(text).digest('base64url')
  return `${text}.${signature}`
}

test('S06: an assertion with alg none, with HS256 and the public key as secret, or with a key in its header is refused', async () => {
  const collector = await open()
  const claims = {
    iss: 'app',
    sub: 'app',
    aud: collector.url,
    iat: nowSeconds,
    exp: nowSeconds + 60,
    jti: 'x',
  }
  const jwk = theirs.publicKey.export({ format: 'jwk' })

  const answers = await Promise.all([
    requestToken(collector, forged({ alg: 'none', kid: 'k1' }, claims)),
    requestToken(collector, forged({ alg: 'HS256', kid: 'k1' }, claims, publicPem)),
    requestToken(collector, await assertion(collector, { header: { jwk }, key: theirs.privateKey })),
  ])

  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401])
})

test.each([
  ['the grant type', { grant_type: 'password' }, 'unsupported_grant_type'],
  ['the assertion type', { client_assertion_type: 'x' }, 'invalid_request'],
  ['an assertion that is not a JWT', { client_assertion: 'x.y' }, 'invalid_request'],
  ['a missing assertion', { client_assertion: '' }, 'invalid_request'],
  ['the scope', { scope: 'admin' }, 'invalid_scope'],
])('a token request is refused because of %s', async (_what, form, error) => {
  const collector = await open()

  expect(await requestToken(collector, await assertion(collector), form)).toMatchObject({
    status: 400,
    error,
  })
})

test('a token request with another content type gets 415', async () => {
  const collector = await open()

  expect((await postPlain(collector, '/token', {})).status).toBe(415)
})

test('S50, F115: an assertion can be used only once, even by parallel requests', async () => {
  const collector = await open()
  const same = await assertion(collector)

  const answers = await Promise.all([requestToken(collector, same), requestToken(collector, same)])
  const third = await requestToken(collector, same)

  expect(answers.map(({ status }) => status).sort()).toEqual([200, 401])
  expect(third).toMatchObject({ status: 401, error: 'invalid_client' })
})

const badHeaders: Array<[what: string, header: (collector: Collector) => string | Promise<string>]> = [
  ['an unknown key', () => basic('nobody')],
  ['a key that is nearly right', () => basic('shop-kex')],
  ['an empty key', () => basic('')],
  ['no colon', () => `Basic ${Buffer.from('shop-key').toString('base64')}`],
  ['invalid base64', () => 'Basic ***'],
  ['base64 with an invalid character', () => `${basic('nobody')}*`],
  ['Basic with nothing', () => 'Basic'],
  ['another scheme', () => 'Digest username="shop-key"'],
  ['Bearer with nothing', () => 'Bearer '],
  ['a bearer that is not a JWT', () => 'Bearer abc'],
  ['a bearer with alg none', () => `Bearer ${forged({ alg: 'none' }, { sub: 'app' })}`],
  ['a bearer with HS256', () => `Bearer ${forged({ alg: 'HS256', kid: 'k1' }, { sub: 'app' }, publicPem)}`],
  ['an assertion as bearer', async (collector) => `Bearer ${await assertion(collector)}`],
  ['a bearer of another collector', async () => `Bearer ${await tokenFor(await open())}`],
  [
    'a bearer with a changed signature',
    async (collector) => `Bearer ${(await tokenFor(collector)).slice(0, -8)}AAAAAAAA`,
  ],
]

test.each(badHeaders)('S47, F114: %s gets 401 with WWW-Authenticate', async (_what, header) => {
  const collector = await open({ config: { ...config, rejectUnknownKeys: true } })

  const body = { writeKey: 'shop-key', ...track() }
  const response = await postPlain(collector, '/v1/track', body, { authorization: await header(collector) })

  expect(response.status).toBe(401)
  expect(response.headers.get('www-authenticate')).toMatch(/^(Basic|Bearer) realm=/)
  expect(await response.json()).toEqual({
    success: false,
    code: 'bad_credentials',
    message: 'the credentials are missing, malformed, unknown or expired',
  })
  expect(collector.count({ status: 'accepted' })).toBe(0)
})

test.each(badHeaders.slice(2, 10))('%s gets 401 even if any write key is accepted', async (_what, header) => {
  const collector = await openCollector()

  const body = { writeKey: 'shop-key', ...track() }
  const response = await postPlain(collector, '/v1/track', body, { authorization: await header(collector) })

  expect(response.status).toBe(401)
})

test('expired and revoked tokens get 401', async () => {
  const clock = fakeClock(startMs)
  const collector = await open({ clock: clock })
  const send = (token: string) =>
    postPlain(collector, '/v1/track', track({ writeKey: 'shop-key' }), { authorization: `Bearer ${token}` })
  const first = await tokenFor(collector)
  const second = await tokenFor(collector)
  const statuses = [(await send(first)).status]

  const revoked = collector.revokeTokens()
  statuses.push((await send(second)).status)
  await revoked
  const third = await tokenFor(collector)
  clock.advance(59_000)
  statuses.push((await send(third)).status)
  clock.advance(1000)
  const expired = await send(third)

  expect([...statuses, expired.status]).toEqual([200, 401, 200, 401])
  expect(expired.headers.get('www-authenticate')).toContain('error="invalid_token"')
})

let smallKey = ''
beforeAll(() => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  smallKey = publicKey.export({ type: 'spki', format: 'pem' }).toString()
})

test('unusable public keys are reported at the start', async () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ecPem = ec.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const withKey = (publicKey: string) => ({
    oauth: { applications: [{ clientId: 'app', keys: [{ keyId: 'k1', publicKey }] }] },
  })

  await expect(openCollector({ config: withKey('nonsense') })).rejects.toThrow(
    /"k1" of "app": not a public key/,
  )
  await expect(openCollector({ config: withKey(smallKey) })).rejects.toThrow(/at least 2048 bits/)
  await expect(openCollector({ config: withKey(ecPem) })).rejects.toThrow(/expected an RSA key/)
})
