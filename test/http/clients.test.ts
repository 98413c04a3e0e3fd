import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { HTTPClientRequest, HTTPFetchRequest } from '../../src/http/client.ts'
import { defaultClient } from '../../src/http/default-client.node.ts'
import { FetchHTTPClient } from '../../src/http/fetch-client.ts'
import { NodeHTTPClient } from '../../src/http/node-client.ts'
import { headerValue } from '../../src/http/waits.ts'

const URLS = ['https://api.segment.io/v1/batch', 'http://localhost:8080/v1/batch']
const URL = URLS[0] as string
const BODY = '{"batch":[{"event":"Commande passée 🍰"}]}'
const server = setupServer()

beforeAll(() => {
  server.listen({ onUnhandledRequest: 'error' })
})
afterEach(() => {
  server.resetHandlers()
  vi.unstubAllGlobals()
})
afterAll(() => {
  server.close()
})

function request(more: Partial<HTTPClientRequest> = {}): HTTPClientRequest {
  return {
    url: URL,
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: 'Basic d2s6', 'X-Retry-Count': '2' },
    body: BODY,
    httpRequestTimeout: 10_000,
    ...more,
  }
}

describe.each([
  ['fetch', () => new FetchHTTPClient()],
  ['node:http', () => new NodeHTTPClient()],
])('the client over %s', (_label, create) => {
  test.each(URLS)('posts the body and the headers unchanged to %s', async (url) => {
    const seen: { headers: Headers; body: string }[] = []
    server.use(
      http.post(url, async ({ request }) => {
        seen.push({ headers: request.headers, body: await request.text() })
        return HttpResponse.json({ success: true })
      }),
    )

    const response = await create().makeRequest(request({ url }))

    expect(response.status).toBe(200)
    expect(await response.text?.()).toBe('{"success":true}')
    expect(seen.map(({ body }) => body)).toEqual([BODY])
    expect(Object.fromEntries(seen[0]?.headers ?? [])).toMatchObject({
      'content-type': 'application/json',
      authorization: 'Basic d2s6',
      'x-retry-count': '2',
    })
  })

  // F22: the target has no handler, so the test fails if the redirect is followed.
  test.each([301, 302, 303, 307, 308])('takes a redirect with %i for the response', async (status) => {
    const headers = { Location: 'https://login.example/' }
    server.use(http.post(URL, () => new HttpResponse(null, { status, headers })))

    const response = await create().makeRequest(request())

    expect(response.status).toBe(status)
    expect(headerValue(response.headers, 'location')).toBe('https://login.example/')
  })

  test('takes an error status for a response, with its text and headers', async () => {
    server.use(
      http.post(URL, () => new HttpResponse('désolé', { status: 503, headers: { 'Retry-After': '2' } })),
    )

    const response = await create().makeRequest(request())

    expect(response).toMatchObject({ status: 503, statusText: 'Service Unavailable' })
    expect(headerValue(response.headers, 'retry-after')).toBe('2')
    expect(await response.text?.()).toBe('désolé')
  })

  test('rejects when the network fails', async () => {
    server.use(http.post(URL, () => HttpResponse.error()))

    await expect(create().makeRequest(request())).rejects.toThrow()
  })

  test('aborts a request in flight by its signal', async () => {
    const controller = new AbortController()
    server.use(
      http.post(URL, () => {
        controller.abort()
        return new Promise<never>(() => {})
      }),
    )

    const answer = create().makeRequest(request({ signal: controller.signal }))

    await expect(answer).rejects.toThrow('aborted')
  })
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

test('a body of bytes goes over node:http unchanged, with its length', async () => {
  const seen: (string | null)[] = []
  server.use(
    http.post(URL, async ({ request }) => {
      seen.push(request.headers.get('content-length'), await request.text())
      return new HttpResponse(null, { status: 204 })
    }),
  )
  const client = new NodeHTTPClient()

  await client.makeRequest({ ...request(), body: new TextEncoder().encode(BODY) })

  expect(client.takesBytes()).toBe(true)
  expect(seen).toEqual([String(Buffer.byteLength(BODY)), BODY])
})

test('F28: a response body beyond 64 KiB is cut off', async () => {
  server.use(http.post(URL, () => HttpResponse.text('x'.repeat(200_000))))

  const response = await new NodeHTTPClient().makeRequest(request())

  await expect(response.text?.()).rejects.toThrow()
})

test('without fetch, a request that cannot load node:http does not break the next one', async () => {
  server.use(http.post(URL, () => HttpResponse.json({ success: true })))
  vi.stubGlobal('fetch', undefined)
  // As on Node.js 18, which has no `getBuiltinModule`: the client imports the module.
  const getBuiltinModule = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined)
  const client = defaultClient()

  vi.doMock('node:https', () => {
    throw new Error('it could not be loaded')
  })
  await expect(client.makeRequest(request())).rejects.toThrow()
  vi.doUnmock('node:https')

  expect((await client.makeRequest(request())).status).toBe(200)
  getBuiltinModule.mockRestore()
})
