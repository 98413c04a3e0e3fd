import { gunzipSync } from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { Compression } from '../../src/delivery/compression.ts'
import { loadCompression } from '../../src/delivery/envelope.ts'
import { describeCause } from '../../src/errors/cause.ts'
import type { HTTPClient } from '../../src/http/client.ts'
import { FetchHTTPClient } from '../../src/http/fetch-client.ts'
import { NodeHTTPClient } from '../../src/http/node-client.ts'
import { gzip as gzipOnNode } from '../../src/runtime/compress.node.ts'
import type { Gzip } from '../../src/runtime/compress.ts'
import { gzip as gzipOnWeb } from '../../src/runtime/compress.web.ts'
import { FakeClock } from '../support/fake-clock.ts'

const BODY = Buffer.from(`{"batch":[${new Array(40).fill('{"event":"Thé à la menthe"}').join()}]}`)

function setUp(gzip?: Gzip, client: HTTPClient = new NodeHTTPClient()) {
  const clock = new FakeClock()
  const warnings: string[] = []
  const compression = new Compression({
    ...(gzip !== undefined && { gzip }),
    client,
    timeoutMs: 10_000,
    clock,
    onGivenUp: (why, error) => warnings.push(error === undefined ? why : `${why}: ${describeCause(error)}`),
  })
  return { clock, warnings, compression, range: {} }
}

describe('a body', () => {
  test.each([
    ['Node.js', gzipOnNode],
    ['the web platform', gzipOnWeb],
  ])('is compressed by %s, and decompresses to the original', async (_label, gzip) => {
    const { compression, range, clock, warnings } = setUp(gzip)
    const given = Uint8Array.from(BODY)

    const { bytes, encoding } = await compression.encode(given, range)

    expect(encoding).toBe('gzip')
    expect(gunzipSync(bytes)).toEqual(BODY)
    expect(bytes.length).toBeLessThan(BODY.length / 5)
    expect(Buffer.from(given)).toEqual(BODY)
    expect(clock.timerCount).toBe(0)
    expect(warnings).toEqual([])
  })

  test.each([0, 1, 5_000, 400_000, 3_000_000])('of %d bytes never becomes longer', async (length) => {
    const { compression, range } = setUp()
    const body = Buffer.alloc(length, 'événement ')

    const { bytes, encoding } = await compression.encode(body, range)

    expect(bytes.length).toBeLessThanOrEqual(body.length)
    expect(Buffer.compare(encoding === 'gzip' ? gunzipSync(bytes) : bytes, body)).toBe(0)
  })

  test('that does not become smaller is sent uncompressed, and is not compressed again', async () => {
    const gzip = vi.fn(async (bytes: Uint8Array) => bytes)
    const { compression, range, warnings } = setUp(gzip)

    const bodies = [await compression.encode(BODY, range), await compression.encode(BODY, range)]

    expect(bodies).toEqual([
      { bytes: BODY, encoding: undefined },
      { bytes: BODY, encoding: undefined },
    ])
    expect(gzip).toHaveBeenCalledTimes(1)
    // Compression is not given up when one body does not become smaller: other bodies are still compressed.
    expect(warnings).toEqual([])
    await compression.encode(BODY, {})
    expect(gzip).toHaveBeenCalledTimes(2)
  })
})

describe('a compression', () => {
  const faults: [string, Gzip][] = [
    [
      'throws',
      () => {
        throw new Error('kaputt')
      },
    ],
    ['rejects', () => Promise.reject(new Error('kaputt'))],
  ]

  test.each(faults)(
    'that %s: this body and all others are sent uncompressed, with one warning',
    async (_label, gzip) => {
      const spied = vi.fn(gzip)
      const { compression, range, clock, warnings } = setUp(spied)

      const bodies = [await compression.encode(BODY, range), await compression.encode(BODY, {})]

      expect(bodies.map(({ encoding }) => encoding)).toEqual([undefined, undefined])
      expect(spied).toHaveBeenCalledTimes(1)
      expect(warnings).toEqual(['a body could not be compressed: kaputt'])
      expect(clock.timerCount).toBe(0)
    },
  )

  test('that never ends is given up after the request timeout', async () => {
    const { compression, range, clock, warnings } = setUp(() => new Promise(() => {}))
    const bodies: unknown[] = []
    void compression.encode(BODY, range).then((body) => bodies.push(body))

    await clock.advance(9_999)
    expect(bodies).toEqual([])
    await clock.advance(1)

    expect(bodies).toEqual([{ bytes: BODY, encoding: undefined }])
    expect(warnings).toEqual(['a body could not be compressed: the compression took longer than 10000 ms'])
  })

  test.each([undefined, null, 'gzip', 5, {}])(
    'that resolves to %j: the body is sent uncompressed',
    async (value) => {
      const { compression, range } = setUp(async () => value as never)

      expect(await compression.encode(BODY, range)).toEqual({ bytes: BODY, encoding: undefined })
    },
  )

  test('a runtime without CompressionStream sends bodies uncompressed', async () => {
    vi.stubGlobal('CompressionStream', undefined)
    const { compression, range, warnings } = setUp(gzipOnWeb)

    expect((await compression.encode(BODY, range)).encoding).toBeUndefined()

    expect(warnings).toHaveLength(1)
    vi.unstubAllGlobals()
  })

  test('an abort gives up a running compression at once, leaves no timer and causes no warning', async () => {
    const { compression, range, clock, warnings } = setUp(() => new Promise(() => {}))
    const encoding = compression.encode(BODY, range)

    compression.abort()

    expect((await encoding).encoding).toBeUndefined()
    expect(clock.timerCount).toBe(0)
    expect(warnings).toEqual([])
  })
})

test('an abort has no effect on a body that is already compressed', async () => {
  const { compression, range, clock } = setUp()
  const cancelTimer = vi.fn()
  clock.setTimer = () => cancelTimer

  await compression.encode(BODY, range)
  compression.abort()

  expect(cancelTimer).toHaveBeenCalledTimes(1)
})

describe('an HTTP client', () => {
  const makeRequest = async () => ({ status: 200, statusText: 'OK' })

  test.each<[string, boolean, HTTPClient]>([
    ['without takesBytes', false, { makeRequest }],
    ['that takes no bytes', false, { makeRequest, takesBytes: () => false } as HTTPClient],
    ['that takes bytes', true, { makeRequest, takesBytes: () => true } as HTTPClient],
    [
      'whose takesBytes throws',
      false,
      {
        makeRequest,
        takesBytes: () => {
          throw new Error('non')
        },
      } as HTTPClient,
    ],
    ['over fetch', true, new FetchHTTPClient(makeRequest)],
  ])('%s gets compressed bodies: %s', async (_label, isCompressed, client) => {
    const { compression, range, warnings } = setUp(undefined, client)

    const { encoding } = await compression.encode(BODY, range)

    expect(encoding).toBe(isCompressed ? 'gzip' : undefined)
    expect(warnings).toEqual(
      isCompressed ? [] : ['httpClient takes no bytes: it has no takesBytes() that returns true'],
    )
  })
})

describe('a service', () => {
  const gzip: Gzip = async (bytes) => bytes.subarray(1)

  test('that responds with 415 gets this batch and all others uncompressed, with one warning', async () => {
    const { compression, range, warnings } = setUp(gzip)
    const other = {}
    const bodies = [await compression.encode(BODY, range), await compression.encode(BODY, other)] as const

    // Both bodies were compressed before the first 415 arrived.
    expect(compression.mustResend(bodies[0], range, 415)).toBe(true)
    expect(compression.mustResend(bodies[1], other, 415)).toBe(true)

    const again = await Promise.all([range, other, {}].map((one) => compression.encode(BODY, one)))
    expect(again.map(({ encoding }) => encoding)).toEqual([undefined, undefined, undefined])
    // A 415 for an uncompressed body has another reason than the compression.
    expect(compression.mustResend(again[0] as never, range, 415)).toBe(false)
    expect(warnings).toEqual(['the service refused a compressed body with 415'])
  })

  test('that responds to a compressed body with 400, but accepts it uncompressed, does not know gzip: a warning says so', async () => {
    const { compression, range, warnings } = setUp(gzip)

    expect(compression.mustResend(await compression.encode(BODY, range), range, 400)).toBe(true)
    const plain = await compression.encode(BODY, range)
    expect(plain.encoding).toBeUndefined()
    expect(warnings).toEqual([])
    expect(compression.mustResend(plain, range, 200)).toBe(false)

    expect(warnings).toEqual([expect.stringContaining('took the same one uncompressed')])
    expect((await compression.encode(BODY, {})).encoding).toBeUndefined()
  })

  test('that refuses a batch with 400 both compressed and uncompressed may still know gzip: the next batch is compressed', async () => {
    const { compression, range, warnings } = setUp(gzip)
    expect(compression.mustResend(await compression.encode(BODY, range), range, 400)).toBe(true)
    expect(compression.mustResend(await compression.encode(BODY, range), range, 400)).toBe(false)

    expect((await compression.encode(BODY, {})).encoding).toBe('gzip')
    expect(warnings).toEqual([])
  })

  test('that has accepted a compressed body still gets compressed ones after a 400, which then is about the events', async () => {
    const { compression, range } = setUp(gzip)
    const first = await compression.encode(BODY, {})
    expect(compression.mustResend(first, {}, 200)).toBe(false)

    expect(compression.mustResend(await compression.encode(BODY, range), range, 400)).toBe(false)

    expect((await compression.encode(BODY, range)).encoding).toBe('gzip')
  })

  /** The encodings of bodies that the service answers one after another, and the warnings. */
  async function answersOf(statusOf: (isCompressed: boolean, index: number) => number, count: number) {
    const { compression, warnings } = setUp(gzip)
    const encodings: string[] = []
    for (let index = 0; index < count; index++) {
      const range = {}
      const body = await compression.encode(BODY, range)
      encodings.push(body.encoding ?? 'plain')
      compression.mustResend(body, range, statusOf(body.encoding !== undefined, index))
    }
    return { encodings: encodings.join(' '), warnings }
  }

  test('that fails on compressed bodies gets one uncompressed after each two, and then all, with one warning', async () => {
    const { encodings, warnings } = await answersOf((isCompressed) => (isCompressed ? 500 : 200), 8)

    expect(encodings).toBe('gzip gzip plain gzip gzip plain plain plain')
    expect(warnings).toEqual([
      'the service failed on compressed bodies with a 5xx and took uncompressed ones',
    ])
  })

  test('that has accepted a compressed body is given more chances, because it may fail at random', async () => {
    const isDown = (index: number) => index > 0 && index % 3 !== 0
    const { encodings, warnings } = await answersOf((_is, index) => (isDown(index) ? 503 : 200), 16)

    expect(encodings).toBe(`gzip${' gzip gzip plain'.repeat(5)}`)
    expect(warnings).toEqual([])
  })

  test('that no longer takes compressed bodies gets uncompressed ones in the end', async () => {
    const isFailing = (isCompressed: boolean, index: number) => isCompressed && index > 0
    const { encodings, warnings } = await answersOf((...of) => (isFailing(...of) ? 503 : 200), 21)

    expect(encodings).toBe(`gzip${' gzip gzip plain'.repeat(6)} plain plain`)
    expect(warnings).toHaveLength(1)
  })

  test('that has an outage and then accepts an uncompressed body still gets compressed ones', async () => {
    const isDown = (index: number) => index < 5 || (index > 7 && index < 10)
    const { encodings, warnings } = await answersOf((_is, index) => (isDown(index) ? 503 : 200), 13)

    expect(encodings).toBe('gzip gzip plain gzip gzip plain gzip gzip gzip gzip plain gzip gzip')
    expect(warnings).toEqual([])
  })

  test.each([200, 202, 301, 401, 413, 422, 429, 500, 503])(
    'that responds with %d still gets compressed bodies',
    async (status) => {
      const { compression, range } = setUp(gzip)

      expect(compression.mustResend(await compression.encode(BODY, range), range, status)).toBe(false)

      expect((await compression.encode(BODY, range)).encoding).toBe('gzip')
    },
  )
})

test('an error of the compression is quoted in a warning', async () => {
  const { clock, range } = setUp()
  const warnings: [string, string][] = []
  const gzip = () => Promise.reject(new Error('kaputt'))
  const options = { client: new NodeHTTPClient(), timeoutMs: 10_000, clock, gzip }

  const encoder = await loadCompression(options, (code, text) => warnings.push([code, text]))
  await encoder.encode(BODY, range)

  const text = 'request bodies are sent uncompressed from now on: a body could not be compressed: kaputt'
  expect(warnings).toEqual([['compress', text]])
})
