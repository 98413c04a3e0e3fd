import { gzipSync } from 'node:zlib'
import { HttpResponse } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Analytics } from '../../src/analytics.ts'
import type { Message } from '../../src/message/types.ts'
import { handlers, type ServiceRequest } from '../../src/msw.ts'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

const host = 'https://tracking.example/base'
const order = (total: number) => ({ userId: 'ada', event: 'Order Completed', properties: { total } })

describe('a client behind the handlers', () => {
  test.each([
    ['the default region', {}, {}],
    ['the region eu', { region: 'eu' }, {}],
    ['a custom host', { host }, { host: `${host}/` }],
    ['a custom path', { host, path: '/events' }, { host, path: '/events' }],
  ] as const)('delivers to %s', async (_label, settings, options) => {
    const messages: Message[] = []
    server.use(...handlers({ ...options, onMessage: (message) => messages.push(message) }))
    const analytics = new Analytics({ writeKey: 'a-key', ...settings })

    analytics.track(order(1))
    analytics.identify({ userId: 'ada' })

    expect(await analytics.closeAndFlush()).toEqual({ delivered: 2, failed: 0, pending: 0 })
    expect(messages).toMatchObject([order(1), { type: 'identify' }])
  })

  test('uses the replies of respond, request by request', async () => {
    const requests: ServiceRequest[] = []
    const taken: Message[] = []
    server.use(
      ...handlers({
        host,
        onMessage: (message) => taken.push(message),
        respond: (request) => {
          requests.push(request)
          return request.retryCount === 0 ? { status: 503 } : undefined
        },
      }),
    )
    const analytics = new Analytics({ writeKey: 'a-key', host })

    analytics.track(order(1))

    expect(await analytics.closeAndFlush()).toMatchObject({ delivered: 1 })
    expect(requests.map(({ writeKey, retryCount }) => [writeKey, retryCount])).toEqual([
      ['a-key', 0],
      ['a-key', 1],
    ])
    expect(taken).toHaveLength(1)
  })

  test('gets the HttpResponse of msw that respond returns', async () => {
    const taken: Message[] = []
    const responses = [
      HttpResponse.json({ code: 'bad' }, { status: 400 }),
      new HttpResponse(null, { status: 202 }),
    ]
    server.use(
      ...handlers({
        host,
        onMessage: (message) => taken.push(message),
        respond: async () => responses.shift(),
      }),
    )
    const analytics = new Analytics({ writeKey: 'a-key', host, flushAt: 1, maxConcurrentRequests: 1 })

    analytics.track(order(1), () => {})
    analytics.track(order(2))

    expect(await analytics.closeAndFlush()).toMatchObject({ delivered: 1, failed: 1 })
    expect(taken).toMatchObject([order(2)])
  })
})

async function post(path: string, body: string | Uint8Array, headers: Record<string, string> = {}) {
  const response = await fetch(host + path, { method: 'POST', body: body as never, headers })
  return {
    status: response.status,
    retryAfter: response.headers.get('Retry-After'),
    body: await response.json(),
  }
}

describe('a request', () => {
  test('for one message has the kind in its path', async () => {
    const messages: Message[] = []
    server.use(...handlers({ host, onMessage: (message) => messages.push(message) }))

    await post('/v1/page', JSON.stringify({ userId: 'ada', name: 'Pricing' }))

    expect(messages).toEqual([{ type: 'page', userId: 'ada', name: 'Pricing' }])
  })

  test('is read when it is compressed, and its context and integrations are merged into its messages', async () => {
    const requests: ServiceRequest[] = []
    server.use(...handlers({ host, respond: (request) => void requests.push(request) }))
    const batch = [{ type: 'track', context: { ip: '::1' }, integrations: { A: true } }]
    const body = {
      batch,
      context: { ip: '::2', locale: 'rm' },
      integrations: { All: false },
      writeKey: 'of-body',
    }

    await post('/v1/batch', gzipSync(JSON.stringify(body)), { 'Content-Encoding': 'gzip' })

    expect(requests).toMatchObject([
      {
        writeKey: 'of-body',
        messages: [{ context: { ip: '::1', locale: 'rm' }, integrations: { All: false, A: true } }],
      },
    ])
  })

  test.each(['{', '[]', '{}', '{"batch":{}}', 'null'])(
    'is refused with the body %s, as by the service',
    async (body) => {
      server.use(...handlers({ host, respond: () => ({ status: 200 }) }))

      expect(await post('/v1/batch', body)).toMatchObject({ status: 400 })
    },
  )

  test('gets the Retry-After and the body that respond returns', async () => {
    server.use(
      ...handlers({ host, respond: () => ({ status: 429, retryAfter: 7, body: { message: 'slow' } }) }),
    )

    const response = await post('/v1/batch', '{"batch":[]}')

    expect(response).toEqual({ status: 429, retryAfter: '7', body: { message: 'slow' } })
  })

  test('for a token gets a token', async () => {
    server.use(...handlers({ host }))

    expect(await post('/token', 'grant_type=client_credentials')).toMatchObject({
      status: 200,
      body: { token_type: 'Bearer' },
    })
  })
})
