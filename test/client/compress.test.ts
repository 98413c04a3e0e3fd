import type { IncomingHttpHeaders } from 'node:http'
import zlib, { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Analytics } from '../../src/analytics.ts'
import type { RequestInfo } from '../../src/delivery/observer.ts'
import type { HTTPClient, HTTPClientRequest } from '../../src/http/client.ts'
import { FetchHTTPClient } from '../../src/http/fetch-client.ts'
import { NodeHTTPClient } from '../../src/http/node-client.ts'
import type { AnalyticsSettings } from '../../src/settings/settings.ts'
import { type Loopback, listen } from '../support/loopback.ts'
import { catchProcessWarnings } from '../support/process-warnings.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  /** The body after decompression. */
  readonly text: string
  readonly isCompressed: boolean
  readonly messages: { messageId: string }[]
}

let service: Loopback
let received: Received[]
const warned = catchProcessWarnings()
/** Returns the status of the response. */
let respond: (request: Received) => number | Promise<number>
failOnUnhandledRejections()

beforeEach(async () => {
  received = []
  respond = () => 200
  service = await listen(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const bytes = Buffer.concat(chunks)
    const isCompressed = request.headers['content-encoding'] === 'gzip'
    const text = (isCompressed ? gunzipSync(bytes) : bytes).toString('utf8')
    const { batch: messages } = JSON.parse(text)
    const one = { headers: request.headers, bytes, text, isCompressed, messages }
    received.push(one)
    response.statusCode = await respond(one)
    response.end('{"success":true}')
  })
})
afterEach(async () => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  await service.close()
})

function open(settings: Partial<AnalyticsSettings> = {}): Analytics {
  return new Analytics({ writeKey: 'wk_Zurich_7Qm4', host: service.url, compress: 'gzip', ...settings })
}

async function trackAll(analytics: Analytics, count: number, properties: object = {}): Promise<string[]> {
  const outcomes: string[] = []
  for (let index = 0; index < count; index++) {
    const params = { userId: 'usr_Zoë', event: 'Commande passée', messageId: `m${index}`, properties }
    analytics.track(params, (error) => outcomes.push(error?.code ?? 'delivered'))
  }
  await analytics.flush()
  return outcomes
}

const idsOf = (requests: Received[]): string[] =>
  requests.flatMap(({ messages }) => messages.map(({ messageId }) => messageId))

const all = <Value>(count: number, value: Value): Value[] => new Array(count).fill(value)

describe('compressed requests', () => {
  const clients: [string, () => Partial<AnalyticsSettings>][] = [
    ['the default client', () => ({})],
    ['fetch', () => ({ httpClient: new FetchHTTPClient() })],
    ['a function like fetch', () => ({ httpClient: (url, request) => fetch(url, request) })],
    ['node:http', () => ({ httpClient: new NodeHTTPClient() })],
  ]

  test.each(clients)(
    'arrive complete over %s, with a Content-Length, and are much smaller',
    async (_label, settings) => {
      const analytics = open({ flushAt: 200, ...settings() })

      expect(await trackAll(analytics, 200)).toEqual(all(200, 'delivered'))

      expect(idsOf(received)).toHaveLength(200)
      for (const { headers, bytes, text, isCompressed } of received) {
        expect(isCompressed).toBe(true)
        expect(headers['content-type']).toBe('application/json')
        expect(headers['content-length']).toBe(String(bytes.length))
        expect(headers['transfer-encoding']).toBeUndefined()
        expect(text).toContain('Commande passée')
        expect(bytes.length).toBeLessThan(Buffer.byteLength(text) / 5)
      }
      expect(warned).toEqual([])
    },
  )

  test('go as bytes through a global fetch that was replaced', async () => {
    const { fetch } = globalThis
    vi.stubGlobal('fetch', (...given: Parameters<typeof fetch>) => fetch(...given))

    expect(await trackAll(open(), 20)).toEqual(all(20, 'delivered'))

    expect(received.every(({ isCompressed }) => isCompressed)).toBe(true)
  })

  test('a custom client gets bytes if it takes them, and otherwise text, with one warning', async () => {
    const bodies: unknown[] = []
    const sender = new NodeHTTPClient()
    const makeRequest = (request: HTTPClientRequest<string | Uint8Array>) => {
      bodies.push(request.body)
      return sender.makeRequest(request)
    }

    const taking = { takesBytes: () => true, makeRequest } as HTTPClient
    expect(await trackAll(open({ httpClient: taking, flushAt: 30 }), 20)).toEqual(all(20, 'delivered'))
    expect(warned).toEqual([])
    const refusing = { makeRequest } as HTTPClient
    expect(await trackAll(open({ httpClient: refusing, flushAt: 30 }), 20)).toEqual(all(20, 'delivered'))

    expect(bodies.map((body) => typeof body)).toEqual(['object', 'string'])
    expect(received.map(({ isCompressed }) => isCompressed)).toEqual([true, false])
    expect(warned).toEqual([expect.stringContaining('takesBytes')])
  })

  test('are off by default', async () => {
    const gzip = vi.spyOn(zlib, 'gzip')

    await trackAll(open({ compress: undefined }), 20)

    expect(received.some(({ isCompressed }) => isCompressed)).toBe(false)
    expect(gzip).not.toHaveBeenCalled()
  })

  test('are shown to http_request listeners as text, without the write key', async () => {
    const analytics = open()
    const requests: RequestInfo[] = []
    analytics.on('http_request', (info) => requests.push(info))

    await trackAll(analytics, 3)

    expect(requests).toHaveLength(received.length)
    expect(requests[0]?.headers['Content-Encoding']).toBe('gzip')
    expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ writeKey: '[redacted]' })
  })

  test('have another sentAt and a retry count in a retry, but the same messages', async () => {
    respond = () => (received.length === 1 ? 503 : 200)

    expect(await trackAll(open(), 1, { note: 'x'.repeat(500) })).toEqual(['delivered'])

    const [first, second] = received as [Received, Received]
    expect(second.headers['x-retry-count']).toBe('1')
    expect([first.isCompressed, second.isCompressed]).toEqual([true, true])
    expect(second.text).not.toBe(first.text)
    expect(second.messages).toEqual(first.messages)
  })
})

describe('limits', () => {
  test('apply to uncompressed bytes', async () => {
    const analytics = open({ maxMessageBytes: 1_024, maxBodyBytes: 8_192, flushAt: 1_000 })

    const outcomes = await trackAll(analytics, 60, { note: 'x'.repeat(500) })

    expect(outcomes).toEqual(all(60, 'delivered'))
    expect(received.every(({ isCompressed }) => isCompressed)).toBe(true)
    for (const { text } of received) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(8_192)
    expect(await trackAll(analytics, 1, { note: 'x'.repeat(1_024) })).toEqual(['too_large'])
  })

  test('that are lower at the service are found by halving batches', async () => {
    respond = ({ messages }) => (messages.length > 6 ? 413 : 200)

    expect(await trackAll(open({ flushAt: 24 }), 24)).toEqual(all(24, 'delivered'))

    expect(received.every(({ isCompressed }) => isCompressed)).toBe(true)
    const sizes = received.map(({ messages }) => messages.length)
    expect(sizes.slice(0, 2)).toEqual([24, 12])
    expect(sizes.filter((size) => size <= 6).reduce((sum, size) => sum + size)).toBe(24)
  })
})

describe('a service that does not support gzip', () => {
  test('loses no event if it responds with 415, and gets everything uncompressed from then on', async () => {
    respond = ({ isCompressed }) => (isCompressed ? 415 : 200)
    const analytics = open({ flushAt: 10, maxRetries: 0 })

    expect(await trackAll(analytics, 40)).toEqual(all(40, 'delivered'))
    const compressed = received.filter(({ isCompressed }) => isCompressed).length
    expect(await trackAll(analytics, 40)).toEqual(all(40, 'delivered'))

    // Only requests that were already in flight when the first 415 came are compressed: at most four.
    expect(compressed).toBeLessThanOrEqual(4)
    expect(received.filter(({ isCompressed }) => isCompressed)).toHaveLength(compressed)
    expect(warned).toEqual([expect.stringContaining('415')])
    expect(analytics.stats).toMatchObject({ delivered: 80, failed: 0, pending: 0 })
  })

  test('loses no event if it reads gzip as bad JSON', async () => {
    respond = ({ isCompressed }) => (isCompressed ? 400 : 200)
    const analytics = open({ flushAt: 10, maxRetries: 0 })

    expect(await trackAll(analytics, 40)).toEqual(all(40, 'delivered'))

    expect(warned).toEqual([expect.stringContaining('400')])
    expect(received.at(-1)?.isCompressed).toBe(false)
  })

  test('is not confused with a service that refuses one bad event', async () => {
    respond = ({ messages }) => (messages.some(({ messageId }) => messageId === 'm7') ? 400 : 200)
    const analytics = open({ flushAt: 16 })

    const outcomes = await trackAll(analytics, 16)

    expect(outcomes.filter((outcome) => outcome === 'rejected')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'delivered')).toHaveLength(15)
    expect(warned.filter((text) => text.includes('uncompressed'))).toEqual([])
  })

  test('loses no event if it responds with 500 to compressed bodies, and gets everything uncompressed in the end', async () => {
    respond = ({ isCompressed }) => (isCompressed ? 500 : 200)
    const analytics = open({ maxEventsInBatch: 10 })

    expect(await trackAll(analytics, 40)).toEqual(all(40, 'delivered'))
    expect(await trackAll(analytics, 40)).toEqual(all(40, 'delivered'))

    expect(new Set(idsOf(received.filter(({ isCompressed }) => !isCompressed))).size).toBe(40)
    expect(warned).toEqual([expect.stringContaining('failed on compressed bodies')])
  })

  test('rejects the events when it also responds with 415 to an uncompressed body', async () => {
    respond = () => 415

    expect(await trackAll(open({ maxRetries: 0 }), 3)).toEqual(all(3, 'rejected'))

    expect(received.map(({ isCompressed }) => isCompressed)).toEqual([true, false])
  })
})

describe('compression that fails', () => {
  test('loses no event', async () => {
    vi.spyOn(zlib, 'gzip').mockImplementation(() => {
      throw new Error('kaputt')
    })

    expect(await trackAll(open({ flushAt: 5 }), 20)).toEqual(all(20, 'delivered'))

    expect(received.some(({ isCompressed }) => isCompressed)).toBe(false)
    expect(warned).toEqual([expect.stringContaining('kaputt')])
  })

  test('is given up after httpRequestTimeout if it never ends', async () => {
    vi.spyOn(zlib, 'gzip').mockImplementation((() => {}) as never)

    expect(await trackAll(open({ httpRequestTimeout: 50, flushAt: 5 }), 20)).toEqual(all(20, 'delivered'))

    expect(warned).toEqual([expect.stringContaining('took longer than 50 ms')])
  })

  test('does not delay closeAndFlush beyond its timeout if it never ends', async () => {
    vi.spyOn(zlib, 'gzip').mockImplementation((() => {}) as never)
    const analytics = open()
    const outcomes: unknown[] = []
    analytics.track({ userId: 'usr_Zoë', event: 'Départ' }, (error) => outcomes.push(error?.code))

    await analytics.closeAndFlush({ timeout: 50 })

    expect(outcomes).toEqual(['shutdown_timeout'])
    expect(analytics.stats.pending).toBe(0)
    expect(received).toEqual([])
    expect(warned.filter((text) => text.includes('compress'))).toEqual([])
  })
})
