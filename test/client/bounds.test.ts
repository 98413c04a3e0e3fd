import { describe, expect, test } from 'vitest'
import { createAnalytics, recordOutcomes, trackPurchases } from '../support/create-analytics.ts'
import { type Reply, status } from '../support/scripted-client.ts'

const MAX_MESSAGE = 32_768
const MAX_BODY = 500_000
const bytesOf = (text = ''): number => Buffer.byteLength(text)
const messagesOf = (body = ''): string => body.slice('{"batch":['.length, body.lastIndexOf('],"writeKey"'))
/** All messages have the same size without their properties. */
const sized = (properties: object) => {
  const timestamp = '2026-01-02T03:04:05.678Z'
  return { userId: 'u', event: 'Size', messageId: 'm', timestamp, properties: properties as never }
}

describe('bytes', () => {
  type Fill = (count: number, rest: string) => object
  const text =
    (unit: string): Fill =>
    (count, rest) => ({ text: unit.repeat(count), rest })

  test.each<[kind: string, unitBytes: number, fill: Fill]>([
    ['ASCII', 1, text('x')],
    ['é', 2, text('é')],
    ['€', 3, text('€')],
    ['emoji', 4, text('😀')],
    ['quotes', 2, text('"')],
    ['backslashes', 2, text('\\')],
    ['U+0001', 6, text('\u0001')],
    ['lone surrogates', 3, text('\ud800')],
    ['keys', 2, (count, rest) => ({ [`k${'é'.repeat(count)}`]: 1, rest })],
    ['numbers', 2, (count, rest) => ({ list: [0, ...Array(count).fill(1)], rest })],
  ])(
    'B56: an event of 32,768 bytes is delivered, and one of a byte more is too large: %s',
    async (...row) => {
      const [, unitBytes, fill] = row
      const { analytics, client } = createAnalytics({ flushAt: 1 })
      const { outcomes, callback } = recordOutcomes()
      const send = async (properties: object): Promise<number> => {
        analytics.track(sized(properties), callback)
        await analytics.flush()
        return bytesOf(messagesOf(client.requests.at(-1)?.body))
      }
      const empty = await send(fill(0, ''))

      for (const bytes of [MAX_MESSAGE - 1, MAX_MESSAGE, MAX_MESSAGE + 1]) {
        const count = Math.floor((bytes - empty) / unitBytes)
        const sent = await send(fill(count, 'r'.repeat(bytes - empty - count * unitBytes)))
        expect(sent).toBe(Math.min(bytes, MAX_MESSAGE))
      }

      expect(outcomes).toEqual(['delivered', 'delivered', 'delivered', 'too_large'])
    },
  )

  test.each([
    ['B58: 500,000 bytes', MAX_BODY, 0, [MAX_BODY]],
    ['B58: 500,001 bytes', MAX_BODY + 1, 0, [expect.any(Number), expect.any(Number)]],
    ['B59: 467,233 bytes, then 32,768', 467_233, MAX_MESSAGE, [467_233, expect.any(Number)]],
    // A comma and the message fill the body exactly.
    ['467,231 bytes, then 32,768', 467_231, MAX_MESSAGE, [MAX_BODY]],
  ])(
    '%s: the bodies are as large as they may be, and nothing is lost',
    async (_label, body, more, expected) => {
      const { analytics, client } = createAnalytics({ flushAt: 1_000_000 })
      const track = (bytes: number): void => analytics.track(sized({ fill: 'x'.repeat(bytes) }))
      track(0)
      await analytics.flush()
      const [first] = client.requests.splice(0)
      const empty = bytesOf(messagesOf(first?.body))
      let left = body - (bytesOf(first?.body) - empty)

      while (left > 0) {
        const bytes = left > 2 * MAX_MESSAGE ? 32_000 : left > MAX_MESSAGE ? Math.floor(left / 2) : left
        track(bytes - empty)
        left -= bytes + 1
      }
      if (more > 0) track(more - empty)
      await analytics.flush()

      expect(client.requests.map((request) => bytesOf(request.body))).toEqual(expected)
      expect(analytics.stats.failed).toBe(0)
    },
  )

  test('F71, B60: no body of random events is too large, and none has room left for the next event', async () => {
    const settings = { flushAt: 1_000_000, maxConcurrentRequests: 1, maxQueueBytes: 1_073_741_824 }
    const { analytics, client, clock } = createAnalytics(settings)
    const units = ['x', 'é', '€', '😀', '"', '\\', '\n', '\u0001', '\ud800', 'plain text ']
    const { outcomes, callback } = recordOutcomes()

    for (let burst = 0; burst < 4; burst++) {
      for (let n = 0; n < 500; n++) {
        const unit = units[Math.floor(clock.random() * units.length)] as string
        const bytes = Math.exp(Math.log(100) + clock.random() * Math.log(400))
        const unitBytes = bytesOf(JSON.stringify(Buffer.from(unit).toString())) - 2
        analytics.track(sized({ text: unit.repeat(Math.floor(bytes / unitBytes)) }), callback)
      }
      await analytics.flush()
      const bodies = client.requests.splice(0)
      for (const [index, { body, batch }] of bodies.entries()) {
        const messages = batch.map((message) => JSON.stringify(message))
        expect(messagesOf(body)).toBe(messages.join())
        expect(Math.max(...messages.map(bytesOf))).toBeLessThanOrEqual(MAX_MESSAGE)
        expect(bytesOf(body)).toBeLessThanOrEqual(MAX_BODY)
        const next = bodies[index + 1]?.batch[0]
        if (next !== undefined)
          expect(bytesOf(body) + 1 + bytesOf(JSON.stringify(next))).toBeGreaterThan(MAX_BODY)
      }
    }

    expect(outcomes.filter((one) => one === 'too_large').length).toBeGreaterThan(20)
    expect(outcomes.filter((one) => one === 'delivered').length).toBe(analytics.stats.delivered)
    expect(analytics.stats).toMatchObject({ accepted: 2_000, pending: 0 })
  })
})

describe('the queue', () => {
  test('F69: of 2,060 calls in a turn, 60 find no room for 2,000; later calls do', async () => {
    const { analytics } = createAnalytics({ maxQueueSize: 2_000 })

    trackPurchases(analytics, 2_060)
    expect(await analytics.flush()).toMatchObject({ delivered: 2_000, pending: 0 })
    trackPurchases(analytics, 1)

    expect(await analytics.flush()).toEqual({ delivered: 1, failed: 0, pending: 0 })
    expect(analytics.stats.failures.queue_full).toBe(60)
  })

  test('S25, F70: of events of 32 KB, exactly those are accepted that fit into maxQueueBytes', async () => {
    const maxQueueBytes = 3_355_443
    const { analytics, client } = createAnalytics({ maxQueueBytes, flushAt: 1_000_000 })

    for (let n = 0; n < 500; n++) analytics.track(sized({ fill: 'x'.repeat(32_000) }))
    await analytics.flush()

    const fitting = Math.floor(maxQueueBytes / bytesOf(JSON.stringify(client.requests[0]?.batch[0])))
    expect(analytics.stats).toMatchObject({ delivered: fitting, failures: { queue_full: 500 - fitting } })
  })

  test('F75: after a failed batch and a full queue, a new event is delivered within the flush interval', async () => {
    const settings = { maxQueueSize: 50, flushAt: 10, flushInterval: 1_000 }
    const { analytics, clock } = createAnalytics(settings, [status(402), status(200)])
    trackPurchases(analytics, 10)
    await clock.advance(0)
    expect(analytics.stats.failures.rejected).toBe(10)

    trackPurchases(analytics, 90)
    await clock.advance(1_000)
    trackPurchases(analytics, 1)
    await clock.advance(1_000)

    expect(analytics.stats).toMatchObject({ delivered: 51, failures: { queue_full: 40 }, pending: 0 })
  })
})

describe('a service that fails', () => {
  test.each([0, 1, 3, 10].flatMap((maxRetries) => [1, 10].map((events) => ({ maxRetries, events }))))(
    'F30: gets maxRetries + 1 requests, each with its number: $maxRetries, $events events',
    async ({ maxRetries, events }) => {
      const { analytics, client, clock } = createAnalytics({ maxRetries }, [status(503)])

      trackPurchases(analytics, events)
      void analytics.closeAndFlush({ timeout: 0 })
      await clock.advance(3_600_000)

      expect(analytics.stats.failures.retries_exhausted).toBe(events)
      const counts = client.requests.map(({ headers }) => headers['X-Retry-Count'])
      expect(counts).toHaveLength(maxRetries + 1)
      // A probe carries one of the events that have failed least, so the count of each rises more slowly.
      if (events === 1) expect(counts).toEqual(counts.map((_, at) => (at === 0 ? undefined : String(at))))
      else expect(counts.map((count) => count === undefined)).toEqual(counts.map((_, at) => at === 0))
    },
  )

  test('F31: for longer than maxTotalBackoffDuration makes events fail with deadline, before twice that time', async () => {
    const settings = { maxTotalBackoffDuration: 1, maxRetries: 100 }
    const { analytics, clock } = createAnalytics(settings, [status(503)])
    let toldMs = Number.NaN
    trackPurchases(analytics, 10)

    void analytics.flush().then(() => {
      toldMs = clock.elapsedMs
    })
    await clock.advance(5_000)

    expect(analytics.stats.failures.deadline).toBe(10)
    expect(toldMs).toBeGreaterThanOrEqual(1_000)
    expect(toldMs).toBeLessThanOrEqual(2_010)
  })

  test.each([429, 503, 408])(
    'F38: with Retry-After: 2 on %i gets the next request after 2 s',
    async (code) => {
      const limited = status(code, { 'Retry-After': '2' })
      const { analytics, client, clock } = createAnalytics({ maxRetries: 1 }, [limited, limited, status(200)])

      trackPurchases(analytics, 10)
      void analytics.flush()
      await clock.advance(60_000)

      for (const gapMs of client.gapsMs.slice(0, 2)) {
        expect(gapMs).toBeGreaterThanOrEqual(2_000)
        expect(gapMs).toBeLessThanOrEqual(2_500)
      }
      // One retry is enough for two 429s, which are no retries, but not for two others.
      expect(client.requests.length).toBeGreaterThanOrEqual(code === 429 ? 3 : 2)
      expect(analytics.stats).toMatchObject(
        code === 429 ? { delivered: 10 } : { failures: { retries_exhausted: 10 } },
      )
    },
  )

  test('F34: a limit of 10 events in a request is found within 8 refusals of 100 events, and kept', async () => {
    const reply: Reply = (request) => status(request.batch.length > 10 ? 413 : 200)(request)
    const { analytics, client } = createAnalytics({ flushAt: 100 }, [reply])
    const refusals = (): number => client.batchSizes.filter((size) => size > 10).length

    trackPurchases(analytics, 100)
    await analytics.flush()
    const found = refusals()
    trackPurchases(analytics, 100)
    await analytics.flush()

    expect(found).toBeLessThanOrEqual(8)
    expect(refusals()).toBe(found)
    expect(analytics.stats.delivered).toBe(200)
  })

  test('F35: 413 because of one event makes it fail with too_large, and its neighbours are delivered', async () => {
    const reply: Reply = (request) => status(request.body.length > 20_000 ? 413 : 200)(request)
    const { analytics } = createAnalytics({ flushAt: 10 }, [reply])
    const errors: unknown[] = []
    analytics.on('error', ({ reason }) => errors.push([reason.code, reason.status]))

    for (let n = 0; n < 11; n++) analytics.track(sized({ fill: 'x'.repeat(n === 5 ? 21_000 : 50) }))
    await analytics.flush()

    expect(errors).toEqual([['too_large', 413]])
    expect(analytics.stats.delivered).toBe(10)
  })
})
