import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { HTTPClientRequest } from '../../src/http/client.ts'
import { defaultClient } from '../../src/http/default-client.node.ts'
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
    headers: { 'Content-Type': 'application/json', Authorization: 'Basic d2s6' },
    body: BODY,
    httpRequestTimeout: 10_000,
    ...more,
  }
}

describe('the client over node:http', () => {
  test.each(URLS)('it posts the body to %s, with its length in bytes', async (url) => {
    const seen: { headers: Headers; body: string }[] = []
    server.use(
      http.post(url, async ({ request }) => {
        seen.push({ headers: request.headers, body: await request.text() })
        return HttpResponse.json({ success: true })
      }),
    )

    const response = await new NodeHTTPClient().makeRequest(request({ url }))

    expect(response.status).toBe(200)
    expect(await response.text?.()).toBe('{"success":true}')
    expect(seen.map(({ body }) => body)).toEqual([BODY])
    expect(Object.fromEntries(seen[0]?.headers ?? [])).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(BODY)),
      authorization: 'Basic d2s6',
    })
  })

  test('a body of bytes is sent unchanged', async () => {
    const bodies: string[] = []
    server.use(
      http.post(URL, async ({ request }) => {
        bodies.push(await request.text())
        return new HttpResponse(null, { status: 204 })
      }),
    )
    const client = new NodeHTTPClient()

    await client.makeRequest({ ...request(), body: new TextEncoder().encode(BODY) })

    expect(client.takesBytes()).toBe(true)
    expect(bodies).toEqual([BODY])
  })

  test.each([301, 302, 307, 308])('a redirect with %i is a response and is not followed', async (status) => {
    server.use(
      http.post(
        URL,
        () => new HttpResponse(null, { status, headers: { Location: 'https://login.example/' } }),
      ),
    )

    const response = await new NodeHTTPClient().makeRequest(request())

    expect(response.status).toBe(status)
    expect(headerValue(response.headers, 'location')).toBe('https://login.example/')
  })

  test('an error status is a response, with its text and headers', async () => {
    server.use(
      http.post(URL, () => new HttpResponse('désolé', { status: 503, headers: { 'Retry-After': '2' } })),
    )

    const response = await new NodeHTTPClient().makeRequest(request())

    expect(response).toMatchObject({ status: 503, statusText: 'Service Unavailable' })
    expect(headerValue(response.headers, 'retry-after')).toBe('2')
    expect(await response.text?.()).toBe('désolé')
  })

  test('a network failure rejects', async () => {
    server.use(http.post(URL, () => HttpResponse.error()))

    await expect(new NodeHTTPClient().makeRequest(request())).rejects.toThrow()
  })

  test('the signal aborts a request in flight', async () => {
    const controller = new AbortController()
    server.use(
      http.post(URL, () => {
        controller.abort()
        return new Promise<never>(() => {})
      }),
    )

    const answer = new NodeHTTPClient().makeRequest(request({ signal: controller.signal }))

    await expect(answer).rejects.toThrow('aborted')
  })

  // test/faults/README.md, row F28.
  test('a response body beyond 64 KiB is cut off', async () => {
    server.use(http.post(URL, () => HttpResponse.text('x'.repeat(200_000))))

    const response = await new NodeHTTPClient().makeRequest(request())

    await expect(response.text?.()).rejects.toThrow()
  })
})

describe('without a global fetch', () => {
  test('a request that cannot load node:http does not break the next one', async () => {
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
})
