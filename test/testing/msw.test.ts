import { gzipSync } from 'node:zlib'
import { HttpResponse } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Analytics } from '../../src/analytics.ts'
import type { Message } from '../../src/message/types.ts'
import { handlers } from '../../src/msw.ts'

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

  test('gets the responses of msw that respond returns', async () => {
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
  return { status: response.status, body: await response.json() }
}

describe('a request', () => {
  test('is read when it is compressed, and its headers are given to respond', async () => {
    const seen: unknown[] = []
    const respond = (messages: readonly Message[], request: Request) => {
      seen.push(messages, request.headers.get('X-Retry-Count'))
      return undefined
    }
    server.use(...handlers({ host, respond }))
    const body = gzipSync(JSON.stringify({ batch: [{ type: 'track' }] }))

    await post('/v1/batch', body, { 'Content-Encoding': 'gzip', 'X-Retry-Count': '1' })

    expect(seen).toEqual([[{ type: 'track' }], '1'])
  })

  test.each(['{', '[]', '{}', '{"batch":{}}', 'null'])(
    'is refused with the body %s, as by the service',
    async (body) => {
      server.use(...handlers({ host, respond: () => new HttpResponse() }))

      expect(await post('/v1/batch', body)).toMatchObject({ status: 400 })
    },
  )

  test('for a token gets a token', async () => {
    server.use(...handlers({ host }))

    expect(await post('/token', 'grant_type=client_credentials')).toMatchObject({
      status: 200,
      body: { token_type: 'Bearer' },
    })
  })
})
