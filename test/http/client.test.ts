import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { HTTPClientRequest, HTTPFetchRequest, HTTPHeaders } from '../../src/http/client.ts'
import { FetchHTTPClient } from '../../src/http/fetch-client.ts'
import { headerValue } from '../../src/http/waits.ts'

const URL = 'https://api.segment.io/v1/batch'
const server = setupServer()

beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => {
  server.resetHandlers()
  vi.unstubAllGlobals()
})
afterAll(() => server.close())

function request(more: Partial<HTTPClientRequest> = {}): HTTPClientRequest {
  return {
    url: URL,
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: 'Basic d2s6', 'X-Retry-Count': '2' },
    body: '{"batch":[{"event":"Commande passée 🍰"}]}',
    httpRequestTimeout: 10_000,
    ...more,
  }
}

describe('the client over fetch', () => {
  test('it posts the body and the headers unchanged', async () => {
    const seen: { method: string; headers: Headers; body: string }[] = []
    server.use(
      http.post(URL, async ({ request }) => {
        seen.push({ method: request.method, headers: request.headers, body: await request.text() })
        return HttpResponse.json({ success: true })
      }),
    )

    const response = await new FetchHTTPClient().makeRequest(request())

    expect(response.status).toBe(200)
    expect(seen).toHaveLength(1)
    expect(seen[0]?.method).toBe('POST')
    expect(seen[0]?.body).toBe('{"batch":[{"event":"Commande passée 🍰"}]}')
    expect(Object.fromEntries(seen[0]?.headers ?? [])).toMatchObject({
      'content-type': 'application/json',
      authorization: 'Basic d2s6',
      'x-retry-count': '2',
    })
  })

  // test/faults/README.md, row F22. The target has no handler, so the test fails if the redirect is followed.
  test.each([301, 302, 303, 307, 308])(
    'a redirect with %i is a response and is not followed',
    async (status) => {
      server.use(
        http.post(
          URL,
          () => new HttpResponse(null, { status, headers: { Location: 'https://login.example/' } }),
        ),
      )

      const response = await new FetchHTTPClient().makeRequest(request())

      expect(response.status).toBe(status)
      expect(headerValue(response.headers, 'location')).toBe('https://login.example/')
    },
  )

  test.each([400, 429, 503])('a %i is a response, not a rejection', async (status) => {
    server.use(http.post(URL, () => new HttpResponse('désolé', { status, headers: { 'Retry-After': '2' } })))

    const response = await new FetchHTTPClient().makeRequest(request())

    expect(response.status).toBe(status)
    expect(headerValue(response.headers, 'retry-after')).toBe('2')
  })

  test('a network failure rejects', async () => {
    server.use(http.post(URL, () => HttpResponse.error()))

    await expect(new FetchHTTPClient().makeRequest(request())).rejects.toThrow()
  })

  test('the signal aborts the request', async () => {
    server.use(http.post(URL, () => new Promise<never>(() => {})))
    const controller = new AbortController()
    const answer = new FetchHTTPClient().makeRequest(request({ signal: controller.signal }))

    controller.abort(new Error('the client was closed'))

    await expect(answer).rejects.toThrow('the client was closed')
  })

  test('a function like fetch can be used instead', async () => {
    const calls: [string, HTTPFetchRequest][] = []
    const client = new FetchHTTPClient(async (url, init) => {
      calls.push([url, init])
      return { status: 204, statusText: 'No Content' }
    })
    const { signal } = new AbortController()

    const response = await client.makeRequest(request({ signal }))

    const { method, headers, body } = request()
    expect(response.status).toBe(204)
    expect(calls).toEqual([[URL, { method, headers, body, redirect: 'manual', signal }]])
  })
})

describe('reading a header', () => {
  const shapes: [string, HTTPHeaders][] = [
    ['a Headers object', new Headers({ 'Retry-After': '2' })],
    ['a Map-like object', { get: (name: string) => (name === 'retry-after' ? '2' : null), forEach() {} }],
    ['names in lower case', { 'retry-after': '2' }],
    ['names in odd case', { 'rEtRy-AfTeR': '2' }],
    ['a value that is a number', { 'retry-after': 2 }],
  ]

  test.each(shapes)('finds it in %s', (_label, headers) => {
    expect(headerValue(headers, 'retry-after')).toBe('2')
  })

  test('returns all values of a header', () => {
    expect(headerValue({ 'retry-after': ['2', '7'] }, 'retry-after')).toBe('2, 7')
  })

  const none: [string, unknown][] = [
    ['no headers', undefined],
    ['null', null],
    ['other headers', { date: 'x' }],
    ['a Headers object without it', new Headers()],
    ['an undefined value', { 'retry-after': undefined }],
    ['a null value', { 'retry-after': null }],
    ['an object as value', { 'retry-after': { seconds: 2 } }],
    ['text', 'retry-after: 2'],
    ['a number', 5],
    [
      'a get that throws',
      {
        get() {
          throw new Error('non')
        },
        forEach() {},
      },
    ],
    [
      'a property that throws',
      {
        get 'retry-after'() {
          throw new Error('non')
        },
      },
    ],
    ['a list with values that cannot be text', { 'retry-after': [Object.create(null)] }],
  ]
  test.each(none)('finds none in %s', (_label, headers) => {
    expect(headerValue(headers as HTTPHeaders, 'retry-after')).toBeUndefined()
  })
})
