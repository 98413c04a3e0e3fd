import { inspect } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { createAuthorization, type TokenFailure, type TokenState } from '../../src/auth/authorization.ts'
import { Tokens, type TokensOptions } from '../../src/auth/tokens.ts'
import type { HTTPClient, HTTPClientRequest, HTTPResponse } from '../../src/http/client.ts'
import { FetchHTTPClient } from '../../src/http/fetch-client.ts'
import { resolveSettings } from '../../src/settings/resolve.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { CLIENT_ID, CLIENT_PEM, KEY_ID } from '../support/token-server.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()

const HOUR = 3_600_000
type Reply = (request: HTTPClientRequest) => Promise<HTTPResponse> | HTTPResponse

interface Asked {
  readonly request: HTTPClientRequest
  readonly atMs: number
  /** The time of the assertion, in milliseconds since the epoch. */
  readonly nowMs: number
  answer(reply: Reply): Promise<void>
}

/** A token server that gives `reply` to each request; without it, each request waits until the test answers it. */
class TokenServer {
  readonly clock = new FakeClock()
  readonly asked: Asked[] = []
  readonly shared: { known?: TokenState } = {}
  reply: Reply | undefined
  readonly #client: HTTPClient = {
    makeRequest: (request) => {
      let answer: (reply: Reply) => void = () => {}
      const answered = new Promise<HTTPResponse>((resolve) => {
        answer = (reply) => resolve(Promise.resolve().then(() => reply(request)))
      })
      const [, payload = ''] = (new URLSearchParams(request.body).get('client_assertion') ?? '').split('.')
      const { iat = 0 } = JSON.parse(Buffer.from(payload, 'base64url').toString() || '{}') as { iat?: number }
      this.asked.push({
        request,
        atMs: this.clock.elapsedMs,
        nowMs: (iat + 5) * 1_000,
        answer: async (reply) => {
          answer(reply)
          await settled()
        },
      })
      if (this.reply !== undefined) answer(this.reply)
      return answered
    },
  }

  constructor() {
    const settings = resolveSettings({
      writeKey: 'k',
      oauthSettings: {
        ...{ clientId: CLIENT_ID, keyId: KEY_ID, authServer: 'https://oauth2.example.test/eu' },
        signer: { algorithm: 'RS256', sign: async () => new Uint8Array(256) },
      },
    })
    // Makes the shared state.
    createAuthorization(settings, new FetchHTTPClient(), 'trackpost/test', this.clock, this.shared)
    this.#settings = settings.oauthSettings as TokensOptions['settings']
  }

  readonly #settings: TokensOptions['settings']

  /** The tokens of one more client with the same state. */
  client(options: Partial<TokensOptions> = {}): Tokens {
    return new Tokens({
      settings: { ...this.#settings, ...options.settings },
      client: this.#client,
      timeoutMs: 10_000,
      userAgent: 'trackpost/test',
      clock: this.clock,
      known: this.shared.known as TokenState,
      ...options,
    })
  }

  /** The settings with changes. */
  with(changes: Partial<TokensOptions['settings']>): TokensOptions['settings'] {
    return { ...this.#settings, ...changes }
  }

  get last(): Asked {
    return this.asked.at(-1) as Asked
  }
}

async function start() {
  const server = new TokenServer()
  const tokens = server.client()
  return { server, tokens, clock: server.clock }
}

function json(body: unknown, status = 200, headers: Record<string, string> = {}): Reply {
  return () => ({ status, statusText: '', headers, text: async () => JSON.stringify(body) })
}

function text(body: string, status = 200): Reply {
  return () => new Response(body, { status })
}

const token = (value: string, expiresIn: unknown = 3_600): Reply =>
  json({ access_token: value, expires_in: expiresIn })
const down: Reply = json({}, 503)
const refused = (dateMs?: number): Reply =>
  json(
    { error: 'invalid_client', error_description: 'unknown' },
    400,
    dateMs === undefined ? {} : { date: new Date(dateMs).toUTCString() },
  )

/** What `authorization` has given so far. */
function watch(given: ReturnType<Tokens['authorization']>): { value?: string; failure?: TokenFailure } {
  const seen: { value?: string; failure?: TokenFailure } = {}
  void Promise.resolve(given).then((one) => {
    if (typeof one === 'string') seen.value = one
    else seen.failure = one
  })
  return seen
}

async function ask(reply: Reply): Promise<string | TokenFailure> {
  const { server, tokens } = await start()
  server.reply = reply
  return tokens.authorization()
}

describe('getting a token', () => {
  test('F55: fifty callers that need the first token share one request and one promise', async () => {
    const { server, tokens } = await start()
    const given = Array.from({ length: 50 }, () => tokens.authorization())
    const waits = given.map(watch)

    await settled()
    await server.last.answer(token('first'))

    expect(server.asked).toHaveLength(1)
    expect(new Set(given).size).toBe(1)
    expect(waits.every(({ value }) => value === 'Bearer first')).toBe(true)
    expect(tokens.authorization()).toBe('Bearer first')
  })

  test('the request is a form with these fields and no others', async () => {
    const server = new TokenServer()
    const scope = 'tracking_api:write a+b&c=d'
    server.reply = token('tok')
    await server.client({ settings: server.with({ scope }) }).authorization()

    const { url, method, headers, body, httpRequestTimeout } = server.last.request
    expect([url, method, httpRequestTimeout]).toEqual([
      'https://oauth2.example.test/eu/token',
      'POST',
      10_000,
    ])
    expect(headers).toEqual({
      'Content-Type': 'application/x-www-form-urlencoded',
      Accept: 'application/json',
      'Accept-Encoding': 'identity',
      'User-Agent': 'trackpost/test',
    })
    expect(body).toContain(
      'client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer',
    )
    const form = new URLSearchParams(body)
    expect([...form.keys()]).toEqual(['grant_type', 'client_assertion_type', 'client_assertion', 'scope'])
    expect(form.get('scope')).toBe(scope)
  })

  test.each<[string, unknown]>([
    ['Bearer', 'Bearer'],
    ['bearer in another case', 'bEARER'],
    ['no type at all', undefined],
  ])('a response is accepted with the token type %s', async (_, type) => {
    expect(await ask(json({ access_token: 'tok-1', token_type: type }))).toBe('Bearer tok-1')
  })

  test.each<[string, unknown, number]>([
    ['absent', undefined, 300],
    ['null', null, 300],
    ['"3600"', '3600', 3_600],
    ['"soon"', 'soon', 300],
    ['"NaN"', 'NaN', 300],
    ['20', 20, 20],
    ['1.5', 1.5, 1.5],
    ['true', true, 300],
    ['10^10', 1e10, 1e10],
    ['2^31', 2 ** 31, 2 ** 31],
  ])(
    'F62: a token is kept until shortly before its end, when expires_in is %s',
    async (_, expiresIn, seconds) => {
      const { server, tokens, clock } = await start()
      server.reply = json({ access_token: 'tok-1', expires_in: expiresIn })
      await tokens.authorization()
      const usedMs = seconds * 1_000 - Math.min(seconds * 250, 10_000)

      clock.stall(usedMs - 1)
      expect(tokens.authorization()).toBe('Bearer tok-1')
      clock.stall(1)

      expect(tokens.authorization()).not.toBe('Bearer tok-1')
      await settled()
    },
  )

  test('a jump of the local clock has no effect', async () => {
    const { server, tokens, clock } = await start()
    server.reply = token('first')
    await tokens.authorization()

    clock.jump(-HOUR)
    expect(tokens.authorization()).toBe('Bearer first')
    clock.jump(20 * HOUR)

    expect(tokens.authorization()).toBe('Bearer first')
    expect(server.asked).toHaveLength(1)
  })

  test.each([-1, '-1', 0, 1, 2, 5])(
    'F51: tokens that live %s s cause at most 15 requests a minute, and each is used',
    async (lifetime) => {
      const { server, tokens, clock } = await start()
      server.reply = () => token(`tok-${server.asked.length}`, lifetime)(server.last.request) as HTTPResponse
      const used = new Set<string>()
      const waits: number[] = []
      for (let step = 0; step < 600; step++) {
        const given = await tokens.authorization()
        if (typeof given === 'string') used.add(given)
        else {
          expect(given).toMatchObject({ word: 'limited', error: { code: 'retries_exhausted' } })
          waits.push(given.waitMs as number)
        }
        clock.stall(100)
      }

      expect(server.asked.length).toBeLessThanOrEqual(15)
      expect(server.asked.length).toBeGreaterThan(10)
      expect(used.size).toBe(server.asked.length)
      const gaps = server.asked.slice(1).map(({ atMs }, index) => atMs - (server.asked[index]?.atMs ?? 0))
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(4_000)
      expect(waits.every((waitMs) => waitMs > 0 && waitMs <= 1_000)).toBe(true)
    },
  )
})

describe('a token that the API refuses', () => {
  test('causes one token request, even if several batches were sent with it', async () => {
    const { server, tokens } = await start()
    server.reply = token('first')
    await tokens.authorization()
    server.reply = token('second')

    const again = [1, 2, 3, 4].map(() => tokens.renew('Bearer first'))
    const given = await Promise.all([1, 2, 3, 4].map(() => tokens.authorization()))

    expect(again).toEqual([true, true, true, true])
    expect(given).toEqual(Array(4).fill('Bearer second'))
    expect(server.asked).toHaveLength(2)
    // A fifth batch with the old token is refused late: the new token is kept.
    expect(tokens.renew('Bearer first')).toBe(true)
    expect(tokens.authorization()).toBe('Bearer second')
  })

  test('F53: is replaced once if no token was ever accepted, and again after 30 s', async () => {
    const { server, tokens, clock } = await start()
    server.reply = token('first')
    await tokens.authorization()
    expect(tokens.renew('Bearer first')).toBe(true)
    server.reply = token('second')
    expect(await tokens.authorization()).toBe('Bearer second')

    expect(tokens.renew('Bearer second')).toBe(false)
    clock.stall(29_999)
    expect(tokens.renew('Bearer second')).toBe(false)
    expect(tokens.authorization()).toBe('Bearer second')
    clock.stall(1)

    expect(tokens.renew('Bearer second')).toBe(true)
  })

  test('is replaced each time if it was accepted before, with at most 15 requests a minute', async () => {
    const { server, tokens, clock } = await start()
    server.reply = () => token(`tok-${server.asked.length}`)(server.last.request) as HTTPResponse
    for (let step = 0; step < 600; step++) {
      const given = await tokens.authorization()
      if (typeof given === 'string') {
        tokens.accepted(given)
        expect(tokens.renew(given)).toBe(true)
      } else expect(given.word).toBe('limited')
      clock.stall(100)
    }

    expect(server.asked).toHaveLength(15)
  })
})

describe('F61: a 200 without a usable token is a failure', () => {
  test.each<[string, Reply]>([
    ['HTML', text('<!doctype html><title>Anmelden</title>')],
    ['an empty body', text('')],
    ['null', text('null')],
    ['an array', text('[]')],
    ['half of its JSON', text('{"access_token":"tok')],
    ['an empty token', json({ access_token: '' })],
    ['a token with CR LF', json({ access_token: 'tok\r\nX-Admin: 1' })],
    ['a token with a space', json({ access_token: 'tok 1' })],
    ['a token beyond ASCII', json({ access_token: 'tök' })],
    ['a token that is a number', json({ access_token: 17 })],
    ['a token type that cannot become text', json({ access_token: 'tok', token_type: { toString: null } })],
    ['a token of 1 MB', text(JSON.stringify({ access_token: 'a'.repeat(1_000_000) }))],
    ['a token of 9 KB', json({ access_token: 'a'.repeat(9_000) })],
    ['the token type mac', json({ access_token: 'tok', token_type: 'mac' })],
  ])('%s', async (_, reply) => {
    expect(await ask(reply)).toMatchObject({ word: 'failed', error: { code: 'retries_exhausted' } })
  })
})

describe('another status', () => {
  test.each([500, 502, 503, 504, 408, 425])('F56: %d is a failure', async (status) => {
    const error = { code: 'retries_exhausted', status, message: expect.stringContaining(`[${status}]`) }

    expect(await ask(json({}, status))).toMatchObject({ word: 'failed', error, waitMs: undefined })
  })

  test.each([400, 401, 403, 404, 405, 415, 501, 301, 302, 307])(
    'F59: %d means the settings',
    async (status) => {
      expect(await ask(json({}, status))).toMatchObject({
        word: 'settings',
        error: { code: 'auth', status },
        waitMs: undefined,
      })
    },
  )

  test.each<[string, Record<string, string>, number | undefined]>([
    ['no header', {}, undefined],
    ['Retry-After in seconds', { 'retry-after': '17' }, 17_000],
  ])('F58: 429 with %s is a rate limit', async (_, headers, waitMs) => {
    expect(await ask(json({}, 429, headers))).toMatchObject({
      word: 'limited',
      waitMs,
      error: { status: 429 },
    })
  })

  test('a server that fails gets at most 15 requests a minute, whoever asks how often', async () => {
    const { server, tokens, clock } = await start()
    server.reply = down
    const words = new Set<string>()
    for (let step = 0; step < 1_200; step++) {
      const given = (await tokens.authorization()) as TokenFailure
      words.add(given.word)
      clock.stall(100)
    }

    expect(server.asked).toHaveLength(30)
    expect(words).toEqual(new Set(['failed', 'limited']))
  })

  test('a refusal shows the code and the description from the server, in one short line of visible characters', async () => {
    const plain = { error: 'invalid_client', error_description: 'The key is not registered.' }
    const odd = { error: 'invalid_scope\r\n\u001b[31m', error_description: `ü${'x'.repeat(5_000)}` }

    expect(await ask(json(plain, 401))).toMatchObject({
      error: {
        message:
          'no access token from oauth2.example.test: [401]: invalid_client: The key is not registered.',
      },
    })
    const { error } = (await ask(json(odd, 400))) as TokenFailure
    expect(error.message.length).toBeLessThan(400)
    expect(error.message).toMatch(/^[\x20-\x7e]*$/)
  })
})

describe('F63: a local clock that is wrong', () => {
  test.each([
    ['30 s behind', 30_000],
    ['30 s ahead', -30_000],
    ['an hour behind', HOUR],
    ['ten years ahead', -10 * 365 * 24 * HOUR],
  ])('F60: %s is corrected by the Date of a refusal, and stays so', async (_, skewMs) => {
    const { server, tokens, clock } = await start()
    const serverMs = (): number => clock.now() + skewMs
    const isRight = (): boolean => Math.abs(server.last.nowMs - serverMs()) < 1_000
    server.reply = (request) =>
      (isRight() ? token(`tok-${server.asked.length}`, 10) : refused(serverMs()))(request)

    expect(await tokens.authorization()).toBe('Bearer tok-2')
    await clock.advance(20_000)
    expect(await tokens.authorization()).toBe('Bearer tok-3')
    // The clocks of clients with the same state are corrected too.
    await clock.advance(20_000)
    expect(await server.client().authorization()).toBe('Bearer tok-4')
    // The local clock is set right.
    clock.jump(skewMs)
    skewMs = 0
    await clock.advance(20_000)
    expect(await tokens.authorization()).toBe('Bearer tok-6')
  })

  test.each<[string, number, number, number]>([
    ['a server that refuses again keeps its refusal, and the local time is kept', HOUR, 2, 2],
    ['a difference of seconds causes no request', 4_000, 1, 1],
  ])('F64: %s', async (_, skewMs, first, second) => {
    const { server, tokens, clock } = await start()
    server.reply = (request) => refused(clock.now() + skewMs)(request)

    expect(await tokens.authorization()).toMatchObject({ word: 'settings' })
    expect(server.asked).toHaveLength(first)
    await tokens.authorization()

    expect(server.asked).toHaveLength(first + second)
    expect(server.asked[first]?.nowMs).toBe(clock.now())
  })

  test.each([
    ['absent', undefined],
    ['garbage', 'garbage'],
    ['in 1970', 'Thu, 01 Jan 1970 00:00:00 GMT'],
    ['in 9999', 'Fri, 31 Dec 9999 00:00:00 GMT'],
  ])('F64: a Date header that is %s does no harm', async (_, date) => {
    const { server, tokens, clock } = await start()
    server.reply = json({}, 400, date === undefined ? {} : { Date: date })

    expect(await tokens.authorization()).toMatchObject({ word: 'settings' })
    server.reply = token('tok')

    expect(await tokens.authorization()).toBe('Bearer tok')
    expect(server.last.nowMs).toBe(clock.now())
  })
})

describe('an HTTP client that misbehaves', () => {
  test.each<[string, Reply, string]>([
    ['before the headers', () => new Promise(() => {}), 'no response within 10000 ms'],
    [
      'in the middle of the body',
      () => new Response(new ReadableStream({ start: (c) => c.enqueue(Buffer.from('{"acc')) })),
      '[200] without a usable access token',
    ],
  ])('F57: a response that hangs %s is given up at the deadline, and aborted', async (_, reply, message) => {
    const { server, tokens, clock } = await start()
    server.reply = reply
    const seen = watch(tokens.authorization())

    await clock.advance(9_999)
    expect([seen, server.last.request.signal?.aborted]).toEqual([{}, false])
    await clock.advance(1)

    expect(seen.failure).toMatchObject({
      word: 'failed',
      error: { message: expect.stringContaining(message) },
    })
    expect(server.last.request.signal?.aborted).toBe(true)
    expect(clock.timerCount).toBe(0)
  })

  test('an error that quotes a server or an HTTP client contains neither the assertion nor the ids', async () => {
    const seen: string[] = []
    const quote: Reply = ({ body }) => {
      const assertion = new URLSearchParams(body).get('client_assertion') as string
      seen.push(assertion, ...assertion.split('.'), CLIENT_ID, KEY_ID)
      const cause = Object.assign(new Error(`sent ${assertion}`), { request: { body } })
      throw new Error(`could not send ${body} for ${CLIENT_ID}`, { cause })
    }
    const echo: Reply = ({ body }) => ({
      status: 400,
      statusText: body,
      text: async () =>
        JSON.stringify({ error: 'invalid_client', error_description: `${CLIENT_ID} ${KEY_ID} ${body}` }),
    })

    for (const reply of [quote, echo]) {
      const shown = inspect(await ask(reply), { depth: 20, showHidden: true })

      expect(shown).toContain('[redacted]')
      for (const secret of seen) expect(shown).not.toContain(secret)
    }
    expect(seen.length).toBeGreaterThan(5)
  })
})

describe('signing', () => {
  test('a key of this process that is not ready in time is a failure, and no mistake of the settings', async () => {
    const server = new TokenServer()
    const importing = vi.spyOn(crypto.subtle, 'importKey').mockReturnValue(new Promise(() => {}))
    const key = CLIENT_PEM
    const seen = watch(server.client({ settings: server.with({ key }) }).authorization())

    await server.clock.advance(10_000)
    importing.mockRestore()

    expect(seen.failure).toMatchObject({
      word: 'failed',
      error: { code: 'auth', message: expect.stringContaining('could not be signed (TimeoutError)') },
    })
    expect(server.clock.timerCount).toBe(0)
  })
})

describe('closing', () => {
  test('S08: aborts a request in flight, forgets the token and leaves no timer', async () => {
    const { server, tokens, clock } = await start()
    const seen = watch(tokens.authorization())
    await settled()

    tokens.close()
    await server.last.answer(token('too late'))

    expect(server.last.request.signal?.aborted).toBe(true)
    expect(seen.failure).toMatchObject({ word: 'failed', error: { code: 'auth' } })
    expect(tokens.authorization()).toMatchObject({ word: 'failed', error: { code: 'auth' } })
    expect(server.asked).toHaveLength(1)
    expect(clock.timerCount).toBe(0)
  })

  test('at any moment leaves no request open', async () => {
    let sent = 0
    for (let microtasks = 0; microtasks < 30; microtasks++) {
      const { server, tokens } = await start()
      void tokens.authorization()
      for (let count = 0; count < microtasks; count++) await undefined

      tokens.close()
      await settled()

      expect(server.asked.every(({ request }) => request.signal?.aborted === true)).toBe(true)
      sent += server.asked.length
    }
    expect(sent).toBeGreaterThan(0)
    expect(sent).toBeLessThan(30)
  })

  test('does not end the requests of another client, nor its token', async () => {
    const { server, tokens } = await start()
    const other = server.client()
    void watch(tokens.authorization())
    const seen = watch(other.authorization())
    await settled()

    tokens.close()
    await server.last.answer(token('second'))

    expect(seen.value).toBe('Bearer second')
    expect(other.authorization()).toBe('Bearer second')
  })
})

describe('clients with shared state', () => {
  test('a client makes its own request while another waits, and a later one uses the token that arrives', async () => {
    const { server } = await start()
    const [ended, alive, late] = [server.client(), server.client(), server.client()]
    const lost = watch(ended.authorization())
    const seen = watch(alive.authorization())
    await settled()

    await server.last.answer(token('second'))

    expect(seen).toEqual({ value: 'Bearer second' })
    expect(lost).toEqual({})
    expect(late.authorization()).toBe('Bearer second')
    expect(server.asked).toHaveLength(2)
  })

  test('a client whose request fails uses the token that another has', async () => {
    const { server } = await start()
    const seen = [watch(server.client().authorization()), watch(server.client().authorization())]
    await settled()
    await server.asked[1]?.answer(token('second'))
    await server.asked[0]?.answer(down)

    expect(seen).toEqual([{ value: 'Bearer second' }, { value: 'Bearer second' }])
  })

  test('an older token does not replace a newer one', async () => {
    const { server, clock } = await start()
    const older = watch(server.client().authorization())
    await clock.advance(100)
    const newer = watch(server.client().authorization())
    await settled()
    await server.asked[1]?.answer(token('newer'))
    await server.asked[0]?.answer(token('older'))

    expect([older.value, newer.value]).toEqual(['Bearer older', 'Bearer newer'])
    expect(server.client().authorization()).toBe('Bearer newer')
  })

  test('1,200 clients at once make 15 requests; the others ask again within a second, and find the token', async () => {
    const { server } = await start()
    const clients = Array.from({ length: 1_200 }, () => server.client())
    const seen = clients.map((client) => watch(client.authorization()))
    await settled()
    for (const one of server.asked) await one.answer(token('shared'))

    expect(server.asked).toHaveLength(15)
    expect(seen.filter(({ value }) => value === 'Bearer shared')).toHaveLength(15)
    const limited = seen.filter(({ failure }) => failure?.word === 'limited')
    expect(limited).toHaveLength(1_185)
    expect(limited.every(({ failure }) => (failure?.waitMs as number) <= 1_000)).toBe(true)
    expect(clients.every((client) => client.authorization() === 'Bearer shared')).toBe(true)
  })
})
