import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { newFile, run, serve, shareCollector, startCollector, startServer } from './support.ts'

const collector = shareCollector()
const KEY = { TRACKPOST_WRITE_KEY: 'shop' }

interface Check {
  readonly check: string
  readonly state: string
  readonly text: string
  readonly remedy: string | null
}

async function examine(
  env: Record<string, string>,
  ...args: string[]
): Promise<{ code: number | null; checks: Check[]; states: string[] }> {
  const { code, stdout, stderr } = await run(['doctor', '--json', ...args], { env })
  const { ok, checks } = JSON.parse(stdout || stderr) as { ok: boolean; checks: Check[] }
  expect(code).toBe(ok ? 0 : 1)
  return { code, checks, states: checks.map(({ check, state }) => `${check} ${state}`) }
}

const about = (checks: readonly Check[], name: string): Check | undefined =>
  checks.filter(({ check }) => check === name).at(-1)

/** A service that responds to each path with JSON, and to others with 404. */
async function startFake(answers: Record<string, object>): Promise<Record<string, string>> {
  const url = await serve((request, response) => {
    const path = (request.url ?? '').replace(/\?.*/, '')
    request.resume().on('end', () => {
      response.writeHead(path in answers ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answers[path] ?? {}))
    })
  })
  return { ...KEY, TRACKPOST_HOST: url }
}

test('follows one event through the collector, and exits with 0', async () => {
  const { code, stdout, stderr } = await run(['doctor'], { env: collector.env })

  expect([code, stderr]).toEqual([0, ''])
  expect(stdout.trimEnd().split('\n')).toEqual([
    'ok       key      from the environment, 7 characters',
    `ok       address  ${collector.url}/v1/batch accepts the write key (200)`,
    'ok       region   the host from the environment decides',
    'ok       clock    agrees with that of the service',
    'ok       event    delivered, and accepted for the source history',
  ])
  expect(await collector.events()).toMatchObject([
    { status: 'accepted', name: 'Trackpost Doctor', userId: 'trackpost-doctor' },
  ])
})

test('a missing key is a problem, and no event is sent', async () => {
  const none = await examine({ TRACKPOST_HOST: collector.url })

  expect(none.states).toEqual(['key problem', 'address ok', 'region ok', 'clock ok'])
  expect(none.checks[0]?.remedy).toContain('--write-key-file')
  expect(none.checks[1]?.text).toBe(`${collector.url}/v1/batch responds (200)`)
  expect(await collector.events()).toEqual([])
})

test('a key with quotes around it is a problem', async () => {
  const { checks } = await examine({ ...collector.env, TRACKPOST_WRITE_KEY: '"shop"' })

  expect(checks[0]).toMatchObject({
    check: 'key',
    state: 'problem',
    text: 'the one from the environment has quotes or spaces around it',
  })
})

test('a key that the service refuses is a problem, and never printed', async () => {
  const server = await startServer(() => 401)
  const { code, stdout } = await run(['doctor'], {
    env: { ...server.env, TRACKPOST_WRITE_KEY: 'secret-key' },
  })

  expect(code).toBe(1)
  expect(stdout).toContain(`problem  key      ${server.url}/v1/batch refuses it (401`)
  expect(stdout).toContain('copy the key from the settings of the source')
  expect(stdout).not.toContain('secret-key')
})

test.each([
  ['a port without a service', 'http://127.0.0.1:1', 'ECONNREFUSED', 'nothing listens there'],
  ['an unknown host', 'http://nowhere.invalid', 'ENOTFOUND', 'check the spelling of the host'],
])('%s is a problem of the address, with a remedy', async (_label, host, text, remedy) => {
  const { code, states, checks } = await examine({ ...KEY, TRACKPOST_HOST: host })

  expect([code, states]).toEqual([1, ['key ok', 'address problem']])
  expect(checks[1]?.text).toContain(text)
  expect(checks[1]?.remedy).toContain(remedy)
})

const TLS = fileURLToPath(new URL('../../test/support/tls/', import.meta.url))

test.each([
  ['that nobody trusts', 'localhost', undefined, 'the certificate is not trusted'],
  ['for another host', 'localhost', '127.0.0.2', 'the certificate is for another host'],
  ['that has expired', 'expired', 'localhost', 'the certificate is not valid today'],
])('a certificate %s has its own remedy', async (_label, name, host, remedy) => {
  const certificate = `${TLS}${name}.pem`
  const server = createTlsServer({
    cert: readFileSync(certificate),
    key: readFileSync(`${TLS}localhost-key.pem`),
  }).listen(0, host ?? '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const { checks } = await examine({
    ...KEY,
    ...(host !== undefined && { NODE_EXTRA_CA_CERTS: certificate }),
    TRACKPOST_HOST: `https://${host ?? 'localhost'}:${port}`,
  })

  expect(about(checks, 'address')).toMatchObject({
    state: 'problem',
    remedy: expect.stringContaining(remedy),
  })
})

test('https to a port that speaks http is a problem of the scheme, not of a certificate', async () => {
  const host = collector.url.replace('http:', 'https:')
  const { checks } = await examine({ ...KEY, TRACKPOST_HOST: host })

  expect(about(checks, 'address')?.remedy).toContain('write http://')
})

test.each([
  [301, 'the address to which it redirects'],
  [404, 'check the host: is it the base URL'],
  [429, 'the service limits the rate'],
  [503, 'the service fails'],
  [407, 'a proxy on the way'],
])('a service that responds with %i does not accept events', async (status, remedy) => {
  const server = await startServer(() => status)
  const { code, checks } = await examine(server.env)

  expect(code).toBe(1)
  expect(about(checks, 'address')).toMatchObject({
    state: 'problem',
    remedy: expect.stringContaining(remedy),
  })
})

test('a host that is no URL is a problem of the address', async () => {
  const { checks } = await examine({ ...KEY, TRACKPOST_HOST: 'ftp://example.com' })

  expect(about(checks, 'address')).toMatchObject({ state: 'problem', text: expect.stringContaining('host') })
})

test('a web page instead of a service is a problem', async () => {
  const server = await startServer((_request, _ids, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Log in</title>')
    return 'open'
  })
  const { code, checks } = await examine(server.env)

  expect(code).toBe(1)
  expect(about(checks, 'address')).toMatchObject({
    state: 'problem',
    remedy: expect.stringContaining('proxies'),
  })
})

test('a proxy in the environment is a note if the address is reached, and a problem if not', async () => {
  const proxy = { HTTPS_PROXY: 'http://127.0.0.1:1' }
  const reached = await examine({ ...collector.env, ...proxy })
  const not = await examine({ ...KEY, ...proxy, TRACKPOST_HOST: 'http://127.0.0.1:1' })

  expect([reached.code, about(reached.checks, 'proxy')?.state]).toEqual([0, 'note'])
  expect([not.code, about(not.checks, 'proxy')?.state]).toEqual([1, 'problem'])
  expect(about(not.checks, 'proxy')?.remedy).toContain('httpClient')
})

test('a clock that is an hour behind that of the service is a problem', async () => {
  const server = await startServer((_request, _ids, response) => {
    response.setHeader('date', new Date(Date.now() + 3_600_000).toUTCString())
    return undefined
  })
  const { code, checks } = await examine(server.env)

  expect(code).toBe(1)
  expect(about(checks, 'clock')).toMatchObject({
    state: 'problem',
    text: expect.stringMatching(/^(59 min \d+ s|1 h 0 min) behind that of the service$/),
    remedy: expect.stringContaining('NTP'),
  })
})

test('without a collector at the address, no event is sent, and the rest is checked', async () => {
  const env = await startFake({ '/v1/batch': { success: true } })
  const { code, states } = await examine(env)

  expect([code, states]).toEqual([0, ['key ok', 'address ok', 'region ok', 'clock ok', 'event note']])
})

test('a collector with an admin token needs it to follow the event', async () => {
  const own = await startCollector('--admin-token', 'let-me-look')
  const without = await examine(own.env)
  const file = newFile('token', 'let-me-look\n')
  const withToken = await examine(own.env, '--admin-token-file', file)

  expect(about(without.checks, 'event')).toMatchObject({
    state: 'note',
    text: expect.stringContaining('admin token'),
  })
  expect(about(withToken.checks, 'event')).toMatchObject({ state: 'ok' })
})

test.each([
  ['rejected', { status: 'rejected', reason: 'no_event' }, 'received, but not accepted: no_event'],
  [
    'not delivered to a destination',
    { status: 'accepted', destinations: [{ name: 'Hook', state: 'failed', reason: 'answered 401' }] },
    'delivered, and accepted for the source web; Hook failed (answered 401)',
  ],
])('an event that was %s is a problem', async (_label, fields, text) => {
  const env = await startFake({
    '/v1/batch': { success: true },
    '/api/about': { version: '0.1.0' },
    '/api/events': { events: [{ source: 'web', reason: null, ...fields }], next: null, head: '' },
  })
  const { code, checks } = await examine(env)

  expect(code).toBe(1)
  expect(about(checks, 'event')).toMatchObject({ state: 'problem', text })
})
