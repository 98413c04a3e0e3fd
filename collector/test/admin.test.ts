import { expect, test } from 'vitest'
import { openCollector, post, track } from './support.ts'

const adminToken = 'correct-horse-battery'
/** The collector does not treat this address as loopback, although only this machine can reach it. */
const publicly = { host: '::ffff:127.0.0.1', allowPublic: true }
const url = (collector: { port: number }) => `http://127.0.0.1:${collector.port}`
const status = async (address: string, init: RequestInit = {}) =>
  (await fetch(address, { redirect: 'manual', ...init })).status
const login = (address: string, token: string) =>
  fetch(`${address}/login`, { method: 'POST', body: new URLSearchParams({ token }), redirect: 'manual' })

test('a public collector without a token accepts events, and shows them to nobody', async () => {
  const address = url(await openCollector(publicly))

  expect((await post({ url: address }, '/v1/track', track())).status).toBe(200)
  for (const path of ['/api/about', '/api/events', '/api/stats', '/api/stream', '/api/faults', '/other']) {
    expect(await status(`${address}${path}`)).toBe(403)
  }
  expect(await status(`${address}/api/events`, { method: 'DELETE' })).toBe(403)
})

test.each([
  ['on a public address', publicly],
  ['on loopback', {}],
])('the API accepts the token as a bearer token, and nothing else, %s', async (_where, options) => {
  const address = url(await openCollector({ ...options, adminToken }))
  const ask = (authorization?: string) =>
    status(`${address}/api/events`, authorization === undefined ? {} : { headers: { authorization } })

  expect(await ask()).toBe(401)
  expect(await ask(`Bearer ${adminToken}x`)).toBe(401)
  expect(await ask(`Basic ${Buffer.from(`:${adminToken}`).toString('base64')}`)).toBe(401)
  expect(await ask(`Bearer ${adminToken}`)).toBe(200)
  expect(await status(`${address}/api/events?token=${adminToken}`)).toBe(401)
  expect((await post({ url: address }, '/v1/track', track())).status).toBe(200)
})

test('a token that is too short is refused', async () => {
  await expect(openCollector({ adminToken: 'abc' })).rejects.toThrow(/adminToken: expected at least 8/)
})

test('the cookie of a login is for this site only, cannot be read by scripts, and does not contain the token', async () => {
  const address = url(await openCollector({ ...publicly, adminToken }))

  const refused = await login(address, 'wrong')
  expect([refused.status, await refused.json()]).toEqual([
    401,
    expect.objectContaining({ code: 'wrong_token' }),
  ])
  expect(refused.headers.get('set-cookie')).toBeNull()

  const opened = await login(address, adminToken)
  expect(opened.status).toBe(204)
  const cookie = opened.headers.get('set-cookie') ?? ''
  expect(cookie).toMatch(/; HttpOnly; SameSite=Strict; Path=\/;/)
  expect(cookie).not.toContain(adminToken)
  const headers = { cookie: `other=1; ${cookie.split(';')[0]}` }
  expect(await status(`${address}/`, { headers })).toBe(200)
  expect(await status(`${address}/api/events`, { headers })).toBe(200)
  expect(await status(`${address}/api/events`, { headers: { cookie: 'trackpost-collector=forged' } })).toBe(
    401,
  )
})

test.each([
  ['127.0.0.1', true],
  ['192.0.2.1', false],
])('behind a TLS proxy with the address %s the cookie is Secure: %s', async (proxy, isSecure) => {
  const address = url(await openCollector({ ...publicly, adminToken, config: { trustedProxies: [proxy] } }))

  const opened = await fetch(`${address}/login`, {
    method: 'POST',
    body: new URLSearchParams({ token: adminToken }),
    headers: { 'x-forwarded-proto': 'https' },
    redirect: 'manual',
  })

  expect(opened.headers.get('set-cookie')?.includes('; Secure')).toBe(isSecure)
})

test.each([
  ['DELETE', '/api/events?q=user:ada'],
  ['POST', '/api/faults?status=503'],
])(
  '%s %s gets 400 and changes nothing, because it would do more than its parameter says',
  async (method, path) => {
    const collector = await openCollector({ config: { destinations: [] } })
    await post(collector, '/v1/track', track())
    const headers = { 'content-type': 'application/json' }

    const response = await fetch(`${collector.url}${path}`, {
      method,
      headers,
      body: method === 'POST' ? '{"status":503}' : null,
    })

    expect([response.status, await response.json()]).toMatchObject([400, { code: 'bad_query' }])
    expect(collector.count()).toBe(1)
    expect(collector.faults().rules).toEqual([])
  },
)

test('a page of another site cannot log a user in', async () => {
  const address = url(await openCollector({ ...publicly, adminToken }))

  const forged = await fetch(`${address}/login`, {
    method: 'POST',
    body: new URLSearchParams({ token: adminToken }),
    headers: { origin: 'https://evil.example' },
    redirect: 'manual',
  })

  expect(forged.status).toBe(403)
  expect(forged.headers.get('set-cookie')).toBeNull()
})
