import { describe, expect, test } from 'vitest'
import type { Authorization } from '../../src/auth/authorization.ts'
import { Envelope } from '../../src/delivery/envelope.ts'
import type { RequestInfo, ResponseInfo } from '../../src/delivery/facts.ts'
import { Transport } from '../../src/delivery/transport.ts'
import { DeliveryError } from '../../src/errors/errors.ts'
import type {
  ByteHTTPClient,
  HTTPClient,
  HTTPClientRequest,
  HTTPHeaders,
  HTTPResponse,
} from '../../src/http/client.ts'
import type { Verdict } from '../../src/http/verdict.ts'
import { MessageStore } from '../../src/message/store.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { type Reply, ScriptedClient, type SentRequest, status } from '../support/scripted-client.ts'
import { storeAll } from '../support/stored.ts'

const WRITE_KEY = 'wk_Zurich_7Qm4'
const URL = 'https://api.segment.io/v1/batch'
const AUTHORIZATION = `Basic ${btoa(`${WRITE_KEY}:`)}`

function setUp(...replies: Reply[]) {
  const clock = new FakeClock('2026-11-20T09:30:00.000Z')
  return setUpWith(new ScriptedClient(clock, replies.length > 0 ? replies : [status(200)]), clock)
}

function setUpWith<Client extends HTTPClient>(
  client: Client,
  clock: FakeClock,
  headers?: Record<string, string>,
  credentials: string | Authorization = AUTHORIZATION,
) {
  const requests: RequestInfo[] = []
  const responses: ResponseInfo[] = []
  const pages: [string, number][] = []
  const unsent: Verdict[] = []
  const store = new MessageStore()
  const envelope = new Envelope(WRITE_KEY, store)
  const transport = new Transport({
    url: URL,
    writeKey: WRITE_KEY,
    userAgent: 'trackpost/0.1.0',
    timeoutMs: 10_000,
    client,
    credentials,
    envelope,
    observer: {
      onRequest: (_facts, toInfo) => void requests.push(toInfo()),
      onResponse(_facts, _startedMs, _verdict, _status, toInfo) {
        if (toInfo !== undefined) responses.push(toInfo())
      },
      onUnsent: (verdict) => void unsent.push(verdict),
      onWebPage: (...page) => void pages.push(page),
      wantsBodies: true,
    },
    clock,
    headers,
    onRoom: () => {},
  })
  const items = storeAll(
    [
      { messageId: 'a', event: 'Commande passée' },
      { messageId: 'b', event: 'Thé 🍰' },
    ],
    store,
  )
  return { clock, client, store, envelope, transport, items, requests, responses, pages, unsent }
}

function verdictOf(transport: Transport, items: Parameters<Transport['send']>[0]): Promise<Verdict> {
  return new Promise((done) => transport.send(items, 0, done))
}

/** Takes bytes if `isWilling` is true. Keeps each body as it was given, and a copy of the body as text. */
class ByteClient implements ByteHTTPClient {
  readonly given: Uint8Array[] = []
  readonly copies: string[] = []

  constructor(readonly isWilling: boolean) {}

  takesBytes(): boolean {
    return this.isWilling
  }

  async makeRequest({ body }: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    if (typeof body !== 'string') this.given.push(body)
    this.copies.push(Buffer.from(body as string).toString('utf8'))
    return { status: 200, statusText: 'OK' }
  }
}

describe('an HTTP client', () => {
  test.each([true, false])('gets the same body, in bytes only if it takes them: %s', async (isWilling) => {
    const clock = new FakeClock('2026-11-20T09:30:00.000Z')
    const { client, store, envelope, transport, items } = setUpWith(new ByteClient(isWilling), clock)
    const longer = [...items, ...storeAll([{ messageId: 'c', event: 'Crème '.repeat(200) }], store)]

    await Promise.all([items, longer, items].map((one) => verdictOf(transport, one)))

    const sentAt = '2026-11-20T09:30:00.000Z'
    const expected = [items, longer, items].map((items) =>
      Buffer.from(envelope.write(items, sentAt)).toString('utf8'),
    )
    expect(client.copies).toEqual(expected)
    // The bytes never change, so a client can keep them.
    expect(client.given.map((bytes) => Buffer.from(bytes).toString('utf8'))).toEqual(
      isWilling ? expected : [],
    )
  })
})

describe('one attempt', () => {
  test('contains the headers of the settings each time, and they never replace those of the client', async () => {
    const clock = new FakeClock()
    const client = new ScriptedClient(clock, [status(503)])
    // The settings refuse a header `Authorization`; the sender does not rely on that.
    const headers = { 'X-Tenant': 'zürich-1', Authorization: 'Basic evil' }
    const { transport, items } = setUpWith(client, clock, headers)

    await verdictOf(transport, items)
    await verdictOf(transport, items)

    expect(client.requests.map(({ headers }) => [headers['X-Tenant'], headers['Authorization']])).toEqual([
      ['zürich-1', AUTHORIZATION],
      ['zürich-1', AUTHORIZATION],
    ])
  })

  test('S02: redacts further headers that look like secrets, in http_request and in errors that quote them', async () => {
    const clock = new FakeClock()
    const headers = { 'X-Tenant': 'tenant-17', 'X-Api-Key': 'key-of-the-gateway', Cookie: 'sid=0123456789' }
    const reply = () => ({
      status: 402,
      statusText: 'no key-of-the-gateway for tenant-17 with sid=0123456789',
    })
    const { transport, items, requests, responses } = setUpWith(
      new ScriptedClient(clock, [reply]),
      clock,
      headers,
    )

    const result = await verdictOf(transport, items)

    expect(requests[0]?.headers).toMatchObject({
      'X-Tenant': 'tenant-17',
      'X-Api-Key': '[redacted]',
      Cookie: '[redacted]',
    })
    const text = 'no [redacted] for tenant-17 with [redacted]'
    expect(responses[0]?.statusText).toBe(text)
    expect(result.error.message).toBe(`[402] ${text}`)
  })

  test('has a higher X-Retry-Count, a new sentAt and the same messages when it is repeated', async () => {
    const { clock, client, transport, items } = setUp(status(503))
    await verdictOf(transport, items)
    clock.stall(1_500)

    await verdictOf(transport, items)
    await verdictOf(transport, items)

    const [first, second, third] = client.requests as [SentRequest, SentRequest, SentRequest]
    expect(first.headers).not.toHaveProperty('X-Retry-Count')
    expect(second.headers['X-Retry-Count']).toBe('1')
    expect(third.headers['X-Retry-Count']).toBe('2')
    expect(second.body).toBe(first.body.replace('09:30:00.000', '09:30:01.500'))
    expect(items[0]?.attempts).toBe(3)
  })

  test.each(['null', '[]', '{"success":', 'x'.repeat(10_000_000)])(
    'F37: a 200 counts as delivered whatever its body: case %#',
    async (body) => {
      const { transport, items } = setUp(() => ({ status: 200, statusText: 'OK', text: async () => body }))

      expect(await verdictOf(transport, items)).toMatchObject({ word: 'delivered' })
    },
  )

  test('without a token there is no request, and what the token server said counts', async () => {
    const error = new DeliveryError('auth', '[400] Bad Request')
    const tokens = { authorization: () => ({ word: 'settings', error, waitMs: undefined }) }
    const clock = new FakeClock()
    const client = new ScriptedClient(clock, [status(200)])
    const { transport, items, unsent } = setUpWith(client, clock, undefined, tokens as never)

    const verdict = await verdictOf(transport, items)

    expect(verdict).toMatchObject({ word: 'settings', error, code: 'auth', isOfToken: true })
    expect(unsent).toEqual([verdict])
    expect(client.requests).toEqual([])
    expect(items.map(({ attempts }) => attempts)).toEqual([0, 0])
  })

  test('tokens that throw, or reject, cost no event: it counts as no answer', async () => {
    const boom = (): never => {
      throw new Error('kaputt')
    }
    for (const authorization of [boom, () => Promise.reject(new Error('kaputt'))]) {
      const clock = new FakeClock()
      const client = new ScriptedClient(clock, [status(200)])
      const { transport, items } = setUpWith(client, clock, undefined, { authorization } as never)

      const verdict = await verdictOf(transport, items)

      expect([verdict.word, verdict.error.message]).toEqual(['failed', 'kaputt'])
    }
  })
})

describe('observers', () => {
  test('see the request without its credentials', async () => {
    const { transport, items, requests } = setUp()

    await verdictOf(transport, items)

    expect(requests).toEqual([
      {
        url: URL,
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          Authorization: '[redacted]',
          'User-Agent': 'trackpost/0.1.0',
          'Accept-Encoding': 'identity',
        },
        body: expect.stringContaining('"writeKey":"[redacted]"'),
      },
    ])
    expect(JSON.stringify(requests)).not.toContain(WRITE_KEY)
    expect(JSON.stringify(requests)).not.toContain(AUTHORIZATION.slice(6))
  })

  const answers: [string, HTTPHeaders | undefined, Record<string, string>][] = [
    [
      'plain headers',
      { 'Content-Type': 'text/html', 'Set-Cookie': 'geheim' },
      { 'Content-Type': 'text/html', 'Set-Cookie': '[redacted]' },
    ],
    [
      'a Headers object',
      new Headers({ 'x-a': 'é'.normalize(), 'set-cookie': 'geheim' }),
      { 'x-a': 'é', 'set-cookie': '[redacted]' },
    ],
    ['no headers', undefined, {}],
    [
      'headers that throw',
      {
        get() {
          throw new Error('non')
        },
        forEach() {
          throw new Error('non')
        },
      } as never,
      {},
    ],
  ]
  test.each(answers)('see a response with %s', async (_label, headers, seen) => {
    const { transport, items, responses } = setUp(() => ({
      status: 200,
      statusText: 'OK',
      ...(headers === undefined ? {} : { headers }),
      text: async () => `{"key":"${WRITE_KEY}"}`,
    }))

    await verdictOf(transport, items)
    await settled()

    expect(responses).toEqual([
      { url: URL, status: 200, statusText: 'OK', headers: seen, body: '{"key":"[redacted]"}' },
    ])
  })

  test('F25: are told of a web page as the response to events, which counts as delivered', async () => {
    const headers = { 'content-type': 'text/html; charset=utf-8' }
    const { transport, items, pages } = setUp(() => ({ status: 200, statusText: 'OK', headers }))

    expect(await verdictOf(transport, items)).toMatchObject({ word: 'delivered' })
    expect(pages).toEqual([[URL, 200]])
  })
})
