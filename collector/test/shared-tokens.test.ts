import { expect, test } from 'vitest'
import { TokenServer } from '../src/auth/tokens.ts'
import { parseConfig } from '../src/config/load.ts'
import type { KeptText, TokenKeyStore } from '../src/store/ports.ts'
import { assertion, config, requestToken, startMs } from './support/oauth.ts'
import { fakeClock, openCollector, postPlain, track } from './support.ts'

/** A store in memory that several processes share. */
class Shared implements TokenKeyStore {
  state: 'there' | 'unavailable' | 'silent' = 'there'
  kept: KeptText | undefined
  reads = 0
  readonly #used = new Set<string>()
  readonly assertions = {
    use: async (jti: string) => !this.#used.has(jti) && Boolean(this.#used.add(jti)),
  }

  async read(): Promise<KeptText | undefined> {
    this.reads++
    await this.#respond()
    return this.kept
  }

  async replace(version: string | undefined, text: string): Promise<string | undefined> {
    await this.#respond()
    if (this.kept?.version !== version) return undefined
    this.kept = { text, version: text }
    return text
  }

  async #respond(): Promise<void> {
    if (this.state === 'unavailable') throw new Error('the store is unavailable')
    if (this.state === 'silent') await new Promise(() => {})
  }
}

const url = 'http://127.0.0.1:1'
const { oauth } = parseConfig(config, 'config')

function process(shared: Shared, clock = fakeClock(startMs), publicUrl?: string) {
  if (oauth === undefined) throw new Error('expected OAuth settings in the config')
  const server = new TokenServer({ oauth, publicUrl }, clock, {
    assertions: shared.assertions,
    tokenKeys: shared,
  })
  server.setAddress(url)
  const issue = async () => {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await assertion({ url }, { nowMs: clock.now() }),
    })
    return (await server.issue(form)).access_token
  }
  return { server, clock, issue, verify: (token: string) => server.verify(token) }
}

test('all processes accept a token of one of them, even if their addresses differ or they start later', async () => {
  const shared = new Shared()
  const [one, two] = [process(shared), process(shared)]
  two.server.setAddress('http://10.0.0.7:8787')

  const [first, second] = await Promise.all([one.issue(), one.issue()])

  for (const { verify } of [one, two, process(shared, fakeClock(startMs + 30_000))]) {
    expect(await verify(first)).toMatchObject({ clientId: 'app', sources: ['shop'] })
    expect(await verify(second)).toMatchObject({ clientId: 'app' })
  }
  expect(await process(new Shared()).verify(first)).toBe('invalid')
})

test('a token of a process whose clock is 50 s ahead is accepted, but not if it is 110 s ahead', async () => {
  const shared = new Shared()
  const ahead = process(shared, fakeClock(startMs + 50_000))

  expect(await process(shared).verify(await ahead.issue())).toMatchObject({ clientId: 'app' })
  expect(await process(shared, fakeClock(startMs - 60_000)).verify(await ahead.issue())).toBe('invalid')
})

test('a revoked token is refused at once in the process that revoked it, and within a second in the others', async () => {
  const shared = new Shared()
  const [one, two] = [process(shared), process(shared)]
  const token = await one.issue()
  await two.verify(token)

  const revoked = one.server.revokeTokens()
  expect(await one.verify(token)).toBe('expired')
  await revoked
  two.clock.advance(1001)

  expect(await two.verify(token)).toBe('expired')
  expect(await one.verify(await two.issue())).toMatchObject({ clientId: 'app' })
})

test('a token that was signed with a key that another process has just made is accepted', async () => {
  const shared = new Shared()
  const [one, two] = [process(shared), process(shared)]
  await two.verify(await one.issue())
  await one.server.revokeTokens()
  two.clock.advance(10)

  expect(await two.verify(await one.issue())).toMatchObject({ clientId: 'app' })
})

test('if several processes revoke tokens at the same time, all succeed, and one key is left', async () => {
  const shared = new Shared()
  const processes = [process(shared), process(shared), process(shared)]
  const token = await processes[0]?.issue()

  await Promise.all(processes.map(({ server }) => server.revokeTokens()))

  const kept = JSON.parse(shared.kept?.text ?? '')
  expect(kept.revoked).toHaveLength(3)
  for (const { verify } of processes) expect(await verify(token ?? '')).toBe('expired')
})

test('if the store is unavailable, tokens are accepted for ten seconds; after that, checking a token fails', async () => {
  const shared = new Shared()
  const { clock, issue, verify } = process(shared)
  const token = await issue()

  shared.state = 'unavailable'
  clock.advance(9999)
  const reads = shared.reads
  expect(await verify(token)).toMatchObject({ clientId: 'app' })
  expect(await verify(token)).toMatchObject({ clientId: 'app' })
  // The store is not queried for each request.
  expect(shared.reads).toBe(reads + 1)
  clock.advance(1)
  await expect(verify(token)).rejects.toThrow('the store is unavailable')
  await expect(issue()).rejects.toThrow('the store is unavailable')

  shared.state = 'there'
  clock.advance(1000)
  expect(await verify(token)).toMatchObject({ clientId: 'app' })
})

test('a request waits at most two seconds for a store that does not respond', async () => {
  const shared = new Shared()
  const { clock, issue, verify } = process(shared)
  const token = await issue()
  shared.state = 'silent'
  clock.advance(1001)

  const verified = verify(token)
  await expect.poll(() => clock.delays()).toEqual([2000])
  clock.advance(2000)

  expect(await verified).toMatchObject({ clientId: 'app' })
})

test('a token that an unknown key signed is invalid; while the store is unavailable, checking the token fails with the error of the store', async () => {
  const shared = new Shared()
  const { clock, issue, verify } = process(shared)
  const token = await issue()
  const foreign = await process(new Shared()).issue()
  expect([await verify(foreign), await verify(`${token}x`), await verify('x.y.z')]).toEqual(
    Array(3).fill('invalid'),
  )

  shared.state = 'unavailable'
  clock.advance(10)
  await expect(verify(foreign)).rejects.toThrow('the store is unavailable')
})

const secret = Buffer.alloc(32, 'secret').toString('base64')
const signing = { id: 'x', secret }

test.each([
  ['no JSON', `${secret}{`],
  ['another format', JSON.stringify({ format: 2, signing })],
  [
    'a short key',
    JSON.stringify({ format: 1, signing: { id: 'x', secret: secret.slice(0, 24) }, revoked: [] }),
  ],
])(
  'unreadable keys, %s: the error quotes no part of them, and revoking all tokens replaces them',
  async (_what, text) => {
    const shared = new Shared()
    shared.kept = { text, version: text }
    const { clock, issue, server } = process(shared)

    const error = await issue().then(String, (cause: Error) => `${cause.stack} ${JSON.stringify(cause)}`)
    expect(error).toContain('was it changed')
    expect(error).not.toContain(secret.slice(0, 20))

    await server.revokeTokens()
    clock.advance(1000)
    expect(await server.verify(await issue())).toMatchObject({ clientId: 'app' })
  },
)

test('assertions can have publicUrl as their audience, and its host name is an allowed Host', async () => {
  const publicUrl = 'https://Events.Example.com:443/track/'
  const collector = await openCollector({ clock: fakeClock(startMs), config: { ...config, publicUrl } })
  const statusFor = async (aud: string) =>
    (await requestToken(collector, await assertion(collector, { claims: { aud } }))).status

  expect(
    await Promise.all(['', '/', '/token'].map((end) => statusFor(`https://events.example.com/track${end}`))),
  ).toEqual([200, 200, 200])
  expect(await statusFor(publicUrl)).toBe(200)
  expect(await statusFor('https://events.example.com')).toBe(401)
  expect(await statusFor(collector.url)).toBe(200)
  const health = await fetch(`${collector.url}/healthz`, { headers: { host: 'events.example.com' } })
  expect(health.status).toBe(200)
})

test('DELETE /api/tokens revokes all tokens, and is 404 without OAuth', async () => {
  const collector = await openCollector({ clock: fakeClock(startMs), config })
  const ask = async (at: { url: string }, method: string) =>
    (await fetch(`${at.url}/api/tokens`, { method })).status

  const { access_token: token } = await requestToken(collector, await assertion(collector))
  const send = () =>
    postPlain(collector, '/v1/track', track({ writeKey: 'shop-key' }), { authorization: `Bearer ${token}` })
  const before = await send()
  expect([await ask(collector, 'DELETE'), await ask(collector, 'POST')]).toEqual([200, 405])

  expect([before.status, (await send()).status]).toEqual([200, 401])
  expect(await ask(await openCollector(), 'DELETE')).toBe(404)
})

test.each([
  'events.example.com',
  'ftp://events.example.com',
  'https://ada:secret@events.example.com',
  'https://events.example.com/?a',
])('publicUrl %s is refused', (publicUrl) => {
  expect(() => parseConfig({ publicUrl }, 'config')).toThrow('publicUrl')
})
