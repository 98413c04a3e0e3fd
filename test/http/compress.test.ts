import { describe, expect, test, vi } from 'vitest'
import type { ByteHTTPClient, HTTPClient, HTTPClientRequest, HTTPResponse } from '../../src/http/client.ts'
import { compressing } from '../../src/http/compress.ts'

const TEXT = `{"batch":[${'"Commande passée",'.repeat(200)}1]}`
const BYTES = new TextEncoder().encode(TEXT)

function request(more: object = {}): HTTPClientRequest<string | Uint8Array> {
  return {
    url: 'https://api.segment.io/v1/batch',
    method: 'POST',
    headers: { Authorization: 'Basic d2s6' },
    body: BYTES,
    httpRequestTimeout: 10_000,
    ...more,
  }
}

/** An HTTP client that answers with these statuses, one after the other, and keeps what it was given. */
function createClient(statuses: number[], more: Partial<ByteHTTPClient> = {}) {
  const given: HTTPClientRequest<string | Uint8Array>[] = []
  const inner: ByteHTTPClient = {
    takesBytes: () => true,
    async makeRequest(one: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
      given.push(one)
      return { status: statuses[given.length - 1] ?? 200, statusText: '' }
    },
    ...more,
  }
  const reasons: string[] = []
  return { client: compressing(inner as HTTPClient, (why) => void reasons.push(why)), given, reasons }
}

const isCompressed = ({ headers }: HTTPClientRequest<string | Uint8Array>): boolean =>
  headers['Content-Encoding'] === 'gzip'

describe('a compressing client', () => {
  test('sends a body that would grow as it is, and compresses the next', async () => {
    const { client, given, reasons } = createClient([200, 200])

    await client.makeRequest(request({ body: new TextEncoder().encode('{}') }))
    await client.makeRequest(request())

    expect(given.map(isCompressed)).toEqual([false, true])
    expect(reasons).toEqual([])
  })

  test('sends text as it is: it is the body of `verify()`', async () => {
    const { client, given } = createClient([200])

    await client.makeRequest(request({ body: TEXT }))

    expect(given[0]?.body).toBe(TEXT)
  })

  test.each([400, 500, 503])('a %i says nothing about compression', async (status) => {
    const { client, given, reasons } = createClient([status, 200])

    expect((await client.makeRequest(request())).status).toBe(status)
    await client.makeRequest(request())

    expect(given.map(isCompressed)).toEqual([true, true])
    expect(reasons).toEqual([])
  })

  test.each([
    ['has no takesBytes', { takesBytes: undefined as never }],
    ['refuses compressed bytes', { takesBytes: (isCompressed = false) => !isCompressed }],
    [
      'throws when it is asked',
      {
        takesBytes: () => {
          throw new Error('non')
        },
      },
    ],
  ])('an HTTP client that %s gets every body uncompressed', async (_label, more) => {
    const { client, given, reasons } = createClient([200, 200], more)

    await client.makeRequest(request())
    await client.makeRequest(request())

    expect(given.map(isCompressed)).toEqual([false, false])
    const texts = given.map(({ body }) => (typeof body === 'string' ? body : new TextDecoder().decode(body)))
    expect(texts).toEqual([TEXT, TEXT])
    expect(reasons).toEqual(['httpClient takes no bytes: it has no takesBytes() that returns true'])
  })

  test('a body that cannot be compressed is sent as it is, and so are all others', async () => {
    const { default: zlib } = await import('node:zlib')
    const gzip = vi
      .spyOn(zlib, 'gzip')
      .mockImplementation(((_bytes: unknown, _more: unknown, done: (e: Error) => void) =>
        done(new Error('kaputt'))) as never)
    const { client, given, reasons } = createClient([200, 200])

    await client.makeRequest(request())
    await client.makeRequest(request())

    expect(given.map(isCompressed)).toEqual([false, false])
    expect(reasons).toEqual(['a body could not be compressed'])
    expect(gzip).toHaveBeenCalledTimes(1)
    gzip.mockRestore()
  })

  test('a request that is aborted while its body is compressed is not sent', async () => {
    const { client, given } = createClient([200])
    const abortion = new AbortController()

    const response = client.makeRequest(request({ signal: abortion.signal }))
    abortion.abort(new Error('the client was closed'))

    await expect(response).rejects.toThrow('the client was closed')
    expect(given).toEqual([])
  })
})
