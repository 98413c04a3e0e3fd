import { describe, expect, test, vi } from 'vitest'
import type { TokenCredentials } from '../../src/auth/credentials.ts'
import { createBatch } from '../../src/core/service.ts'
import type { EncodedBody, Encoder } from '../../src/delivery/compression.ts'
import { Compression } from '../../src/delivery/compression.ts'
import { Envelope } from '../../src/delivery/envelope.ts'
import type { RequestInfo, ResponseInfo } from '../../src/delivery/observer.ts'
import { Sender } from '../../src/delivery/sender.ts'
import type {
  ByteHTTPClient,
  HTTPClient,
  HTTPClientRequest,
  HTTPHeaders,
  HTTPResponse,
} from '../../src/http/client.ts'
import type { Item } from '../../src/line/item.ts'
import { SlabStore } from '../../src/line/store.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import {
  hangUntilAborted,
  type Reply,
  ScriptedClient,
  type SentRequest,
  status,
} from '../support/scripted-client.ts'
import { storeAll } from '../support/stored.ts'

const batchOf = (items: Item[]) => createBatch(items, 'line')

/** The function with which a test replaces the encoding of bodies. */
function loadEncoder(encode: (body: Uint8Array) => EncodedBody): () => Promise<Encoder> {
  return async () => ({ encode: async (body) => encode(body), mustResend: () => false, abort() {} })
}

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
  loadEncoder?: () => Promise<Encoder>,
  headers?: Record<string, string>,
  tokens?: TokenCredentials,
) {
  const requests: RequestInfo[] = []
  const responses: ResponseInfo[] = []
  const store = new SlabStore()
  const envelope = new Envelope(WRITE_KEY, store)
  const sender = new Sender({
    url: URL,
    writeKey: WRITE_KEY,
    userAgent: 'trackpost/0.1.0',
    timeoutMs: 10_000,
    client,
    tokens,
    envelope,
    observer: {
      onStart(_facts, toInfo) {
        requests.push(toInfo())
        return (_status, _describe, toInfo) => {
          if (toInfo !== undefined) responses.push(toInfo())
        }
      },
      wantsBodies: true,
    },
    clock,
    loadEncoder,
    headers,
  })
  const range = batchOf(
    storeAll(
      [
        { messageId: 'a', event: 'Commande passée' },
        { messageId: 'b', event: 'Thé 🍰' },
      ],
      store,
    ),
  )
  return { clock, client, store, envelope, sender, range, requests, responses }
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
    const { client, store, envelope, sender, range } = setUpWith(new ByteClient(isWilling), clock)
    const longer = batchOf([
      ...range.items,
      ...storeAll([{ messageId: 'c', event: 'Crème '.repeat(200) }], store),
    ])

    await Promise.all([range, longer, range].map((one) => sender.send(one, AUTHORIZATION).result))

    const sentAt = '2026-11-20T09:30:00.000Z'
    const expected = [range, longer, range].map(({ items }) =>
      Buffer.from(envelope.write(items, sentAt)).toString('utf8'),
    )
    expect(client.copies).toEqual(expected)
    // The bytes never change, so a client can keep them.
    expect(client.given.map((bytes) => Buffer.from(bytes).toString('utf8'))).toEqual(
      isWilling ? expected : [],
    )
  })
})

/** Access tokens, with those that were refused and accepted. */
function tokensThat(hasOthers: boolean) {
  const [refused, accepted]: [string[], string[]] = [[], []]
  const tokens: TokenCredentials = {
    authorization: () => AUTHORIZATION,
    tryOnce: () => AUTHORIZATION,
    onAccepted: (authorization) => accepted.push(authorization),
    onUnauthorized: (authorization) => refused.push(authorization) > 0 && hasOthers,
    abort() {},
    close() {},
  }
  return { tokens, refused, accepted }
}

describe('one attempt', () => {
  test('is sent with its headers and the body of the envelope', async () => {
    const { client, sender, range } = setUp()

    const { result } = sender.send(range, AUTHORIZATION)
    await result

    const [sent] = client.requests as [SentRequest]
    expect(sent.url).toBe(URL)
    expect(sent.method).toBe('POST')
    expect(sent.httpRequestTimeout).toBe(10_000)
    expect(sent.headers).toEqual({
      'Content-Type': 'application/json',
      Authorization: AUTHORIZATION,
      'User-Agent': 'trackpost/0.1.0',
      'Accept-Encoding': 'identity',
    })
    expect(sent.body).toBe(
      '{"batch":[{"messageId":"a","event":"Commande passée"},{"messageId":"b","event":"Thé 🍰"}],' +
        '"writeKey":"wk_Zurich_7Qm4","sentAt":"2026-11-20T09:30:00.000Z"}',
    )
  })

  test('contains the headers of the settings each time, and they never replace those of the client', async () => {
    const clock = new FakeClock()
    const client = new ScriptedClient(clock, [status(503)])
    // The settings refuse a header `Authorization`; the sender does not rely on that.
    const headers = { 'X-Tenant': 'zürich-1', Authorization: 'Basic evil' }
    const { sender, range } = setUpWith(client, clock, undefined, headers)

    await sender.send(range, AUTHORIZATION).result
    await sender.send(range, AUTHORIZATION).result

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
    const { sender, range, requests, responses } = setUpWith(
      new ScriptedClient(clock, [reply]),
      clock,
      undefined,
      headers,
    )

    const result = await sender.send(range, AUTHORIZATION).result

    expect(requests[0]?.headers).toMatchObject({
      'X-Tenant': 'tenant-17',
      'X-Api-Key': '[redacted]',
      Cookie: '[redacted]',
    })
    const text = 'no [redacted] for tenant-17 with [redacted]'
    expect(responses[0]?.statusText).toBe(text)
    expect(result.action === 'rejected' && result.toError('rejected').message).toBe(`[402] ${text}`)
  })

  test('has a higher X-Retry-Count, a new sentAt and the same messages when it is repeated', async () => {
    const { clock, client, sender, range } = setUp(status(503))
    await sender.send(range, AUTHORIZATION).result
    clock.stall(1_500)

    await sender.send(range, AUTHORIZATION).result
    await sender.send(range, AUTHORIZATION).result

    const [first, second, third] = client.requests as [SentRequest, SentRequest, SentRequest]
    expect(first.headers).not.toHaveProperty('X-Retry-Count')
    expect(second.headers['X-Retry-Count']).toBe('1')
    expect(third.headers['X-Retry-Count']).toBe('2')
    expect(second.body).toBe(first.body.replace('09:30:00.000', '09:30:01.500'))
    expect(range.items[0]?.attempts).toBe(3)
  })

  test('has the result of the response, and ends with the exchange', async () => {
    const { sender, range } = setUp(status(429, { 'Retry-After': '2' }))

    const attempt = sender.send(range, AUTHORIZATION)

    expect(await attempt.result).toMatchObject({ action: 'limited', waitMs: 2_000 })
    await expect(attempt.finished).resolves.toBeUndefined()
  })

  test.each(['null', '[]', '{"success":', 'x'.repeat(10_000_000)])(
    'F37: a 200 counts as delivered whatever its body: case %#',
    async (body) => {
      const { sender, range } = setUp(() => ({ status: 200, statusText: 'OK', text: async () => body }))

      expect(await sender.send(range, AUTHORIZATION).result).toMatchObject({ action: 'delivered' })
    },
  )

  test.each([
    ['another token can be fetched', true, { action: 'renew' }],
    ['no other token can be fetched', false, { action: 'auth' }],
  ])('reports refused credentials: %s', async (_label, hasOthers, expected) => {
    const { tokens, refused } = tokensThat(hasOthers)
    const clock = new FakeClock('2026-11-20T09:30:00.000Z')
    const client = new ScriptedClient(clock, [status(401)])
    const { sender, range } = setUpWith(client, clock, undefined, undefined, tokens)

    const result = await sender.send(range, AUTHORIZATION).result

    expect(result).toMatchObject(expected)
    expect(refused).toEqual([AUTHORIZATION])
  })

  test.each([
    [200, [AUTHORIZATION]],
    [503, []],
  ])('after a %i, these credentials count as accepted: %j', async (code, expected) => {
    const { tokens, accepted } = tokensThat(false)
    const clock = new FakeClock()
    const client = new ScriptedClient(clock, [status(code)])
    const { sender, range } = setUpWith(client, clock, undefined, undefined, tokens)

    await sender.send(range, AUTHORIZATION).result

    expect(accepted).toEqual(expected)
  })

  test('removes its credentials from errors, with and without their scheme', async () => {
    const quoted = `${AUTHORIZATION}, ${AUTHORIZATION.slice(6)} and ${WRITE_KEY}`
    const { sender, range } = setUp(() => ({ status: 402, statusText: quoted }))

    const result = await sender.send(range, AUTHORIZATION).result

    expect(result.action === 'rejected' && result.toError('rejected').message).toBe(
      '[402] [redacted], [redacted] and [redacted]',
    )
  })

  test('sends an asynchronously encoded body with a header that names the encoding', async () => {
    const { client, sender, range } = setUpWith(
      new ScriptedClient(new FakeClock(), [status(200)]),
      new FakeClock(),
      loadEncoder((body) => ({ bytes: Buffer.concat([body, Buffer.from('\n')]), encoding: 'x-line' })),
    )

    const { action: outcome } = await sender.send(range, AUTHORIZATION).result

    const [sent] = client.requests as [SentRequest]
    expect(outcome).toBe('delivered')
    expect(sent.headers['Content-Encoding']).toBe('x-line')
    expect(sent.body.endsWith('}\n')).toBe(true)
  })

  test('does not send a body when sending was stopped while the body was being encoded', async () => {
    const { client, sender, range, requests } = setUpWith(
      new ScriptedClient(new FakeClock(), [status(200)]),
      new FakeClock(),
      loadEncoder((bytes) => ({ bytes, encoding: undefined })),
    )
    let mayGo = true

    const attempt = sender.send(range, AUTHORIZATION, () => mayGo)
    mayGo = false

    expect(await attempt.result).toEqual({ action: 'unsent', error: undefined })
    expect(client.requests).toEqual([])
    // No observer has seen a request, and nothing counted as an attempt.
    expect(requests).toEqual([])
    expect(range.items.map(({ attempts }) => attempts)).toEqual(range.items.map(() => 0))
  })
})

describe('observers', () => {
  test('see the request without its credentials', async () => {
    const { sender, range, requests } = setUp()

    await sender.send(range, AUTHORIZATION).result

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

  test('cannot change what is sent by changing what they see', async () => {
    const { client, sender, range, requests } = setUp()

    await sender.send(range, AUTHORIZATION).result
    ;(requests[0] as RequestInfo).headers['Authorization'] = 'volé'

    expect(client.requests[0]?.headers['Authorization']).toBe(AUTHORIZATION)
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
    const { sender, range, responses } = setUp(() => ({
      status: 200,
      statusText: 'OK',
      ...(headers === undefined ? {} : { headers }),
      text: async () => `{"key":"${WRITE_KEY}"}`,
    }))

    await sender.send(range, AUTHORIZATION).finished
    await settled()

    expect(responses).toEqual([
      { url: URL, status: 200, statusText: 'OK', headers: seen, body: '{"key":"[redacted]"}' },
    ])
  })

  test('F25: a web page as the response to events causes one warning', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const headers = { 'content-type': 'text/html; charset=utf-8' }
    const { sender, range } = setUp(() => ({ status: 200, statusText: 'OK', headers }))

    const results = [
      await sender.send(range, AUTHORIZATION).result,
      await sender.send(range, AUTHORIZATION).result,
    ]

    expect(results.map(({ action }) => action)).toEqual(['delivered', 'delivered'])
    expect(warned.mock.calls.map(([message]) => message)).toEqual([
      `${URL} responded with status 200 and a web page. The events count as delivered, but no tracking API ` +
        'responds like that; check the setting host.',
    ])
    expect(warned.mock.calls[0]?.[1]).toMatchObject({ code: 'TRACKPOST_HTML_RESPONSE' })
    warned.mockRestore()
  })

  test('see no response when the request fails', async () => {
    const { sender, range, responses } = setUp(() => Promise.reject(new Error('refusé')))

    await sender.send(range, AUTHORIZATION).finished
    await settled()

    expect(responses).toEqual([])
  })
})

describe('aborting', () => {
  test('all requests end, and no timer is left', async () => {
    const { clock, sender, range, client } = setUp(hangUntilAborted)
    const attempts = [sender.send(range, AUTHORIZATION), sender.send(range, AUTHORIZATION)]

    sender.abort()
    const results = await Promise.all(attempts.map(({ result }) => result))

    expect(results.map(({ action }) => action)).toEqual(['retry', 'retry'])
    expect(client.requests.every(({ signal }) => signal?.aborted)).toBe(true)
    expect(clock.timerCount).toBe(0)
  })

  test('a running compression is given up, and no timer is left', async () => {
    const clock = new FakeClock()
    const client = new ScriptedClient(clock)
    const options = { client, timeoutMs: 10_000, clock, onGivenUp() {} }
    const gzip = () => new Promise<Uint8Array>(() => {})
    const takesBytes = { makeRequest: client.makeRequest, takesBytes: () => true }
    const compression = new Compression({ ...options, client: takesBytes as HTTPClient, gzip })
    const { sender, range } = setUpWith(client, clock, async () => compression)
    let mayGo = true
    const attempt = sender.send(range, AUTHORIZATION, () => mayGo)
    await settled()
    expect(clock.timerCount).toBe(1)

    mayGo = false
    sender.abort()

    expect(await attempt.result).toMatchObject({ action: 'unsent' })
    expect(clock.timerCount).toBe(0)
  })

  test('a request that has ended is not aborted', async () => {
    const { sender, range, client } = setUp()
    await sender.send(range, AUTHORIZATION).finished

    sender.abort()

    expect(client.requests[0]?.signal?.aborted).toBe(false)
  })
})
