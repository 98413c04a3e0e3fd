import zlib from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Analytics } from '../../src/analytics.ts'
import type { RequestInfo } from '../../src/delivery/facts.ts'
import { FetchHTTPClient } from '../../src/http/fetch-client.ts'
import { NodeHTTPClient } from '../../src/http/node-client.ts'
import type { AnalyticsSettings } from '../../src/settings/settings.ts'
import type { Loopback } from '../support/loopback.ts'
import { catchProcessWarnings } from '../support/process-warnings.ts'
import { type ServiceRequest, startService } from '../support/service.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

let service: Loopback
let received: ServiceRequest[]
const isCompressed = ({ headers }: ServiceRequest): boolean => headers['content-encoding'] === 'gzip'
const warned = catchProcessWarnings()
/** Returns the status of the response. */
let respond: (request: ServiceRequest) => number | Promise<number>
failOnUnhandledRejections()

beforeEach(async () => {
  received = []
  respond = () => 200
  service = await startService((request) => {
    received.push(request)
    return respond(request)
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

const idsOf = (requests: ServiceRequest[]): string[] =>
  requests.flatMap(({ batch }) => batch.map(({ messageId }) => messageId))

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
      expect(received.every(isCompressed)).toBe(true)
      for (const { headers, bytes, text } of received) {
        expect(headers['content-type']).toBe('application/json')
        expect(headers['content-length']).toBe(String(bytes.length))
        expect(headers['transfer-encoding']).toBeUndefined()
        expect(text).toContain('Commande passée')
        expect(bytes.length).toBeLessThan(Buffer.byteLength(text) / 5)
      }
      expect(warned).toEqual([])
    },
  )

  test('are off by default', async () => {
    const gzip = vi.spyOn(zlib, 'gzip')

    await trackAll(open({ compress: undefined }), 20)

    expect(received.some(isCompressed)).toBe(false)
    expect(gzip).not.toHaveBeenCalled()
  })

  test('are shown to http_request listeners as text, without the write key', async () => {
    const analytics = open()
    const requests: RequestInfo[] = []
    analytics.on('http_request', (info) => requests.push(info))

    await trackAll(analytics, 3)

    expect(requests).toHaveLength(received.length)
    expect(received.every(isCompressed)).toBe(true)
    expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ writeKey: '[redacted]' })
  })
})

describe('limits', () => {
  test('apply to uncompressed bytes', async () => {
    const analytics = open({ maxMessageBytes: 1_024, maxBodyBytes: 8_192, flushAt: 1_000 })

    const outcomes = await trackAll(analytics, 60, { note: 'x'.repeat(500) })

    expect(outcomes).toEqual(all(60, 'delivered'))
    expect(received.every(isCompressed)).toBe(true)
    for (const { text } of received) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(8_192)
    expect(await trackAll(analytics, 1, { note: 'x'.repeat(1_024) })).toEqual(['too_large'])
  })
})

describe('a service that does not support gzip', () => {
  test('loses no event if it responds with 415, and gets everything uncompressed from then on', async () => {
    respond = (request) => (isCompressed(request) ? 415 : 200)
    const analytics = open({ flushAt: 10, maxRetries: 0 })

    expect(await trackAll(analytics, 40)).toEqual(all(40, 'delivered'))
    const compressed = received.filter(isCompressed).length
    expect(await trackAll(analytics, 40)).toEqual(all(40, 'delivered'))

    // Only requests that were already in flight when the first 415 came are compressed: at most four.
    expect(compressed).toBeLessThanOrEqual(4)
    expect(received.filter(isCompressed)).toHaveLength(compressed)
    expect(warned).toEqual([expect.stringContaining('415')])
    expect(analytics.stats).toMatchObject({ delivered: 80, failed: 0, pending: 0 })
  })
})
