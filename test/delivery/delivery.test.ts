import { describe, expect, test, vi } from 'vitest'
import type { TokenCredentials } from '../../src/auth/credentials.ts'
import { DeliveryError } from '../../src/errors/errors.ts'
import { SlabStore } from '../../src/line/store.ts'
import {
  codesOf,
  createEntry,
  type Encode,
  type Entry,
  ids,
  idsOf,
  setUpDelivery,
  WRITE_KEY,
} from '../support/create-delivery.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import {
  hangUntilAborted,
  networkError,
  type Reply,
  type SentRequest,
  silence,
  status,
} from '../support/scripted-client.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()

describe('when a batch is sent', () => {
  test('fewer events than flushAt wait for the flush interval', async () => {
    const { clock, client, enqueue, outcomes } = setUpDelivery()

    enqueue(...ids(14))
    await clock.advance(9_999)
    expect(client.requests).toHaveLength(0)
    await clock.advance(1)
    await settled()

    expect(client.batchSizes).toEqual([14])
    expect(codesOf(outcomes)).toEqual(new Array(14).fill('delivered'))
  })

  test('as many events as flushAt are sent at the end of the turn, not within the call', async () => {
    const { client, enqueue } = setUpDelivery()

    enqueue(...ids(15))
    expect(client.requests).toHaveLength(0)
    await settled()

    expect(client.batchSizes).toEqual([15])
  })

  test('all events of one turn are sent together', async () => {
    const { client, enqueue } = setUpDelivery()

    enqueue(...ids(100))
    await settled()

    expect(client.batchSizes).toEqual([100])
    expect(client.requests[0]?.messageIds).toEqual(ids(100))
  })

  test('the interval starts with the first waiting event, and later events do not prolong it', async () => {
    const { clock, client, enqueue } = setUpDelivery()

    enqueue('a1')
    await clock.advance(9_000)
    enqueue('a2')
    await clock.advance(1_000)
    await settled()

    expect(client.requests[0]?.messageIds).toEqual(['a1', 'a2'])
  })

  test('without waiting events there is no timer', async () => {
    const { clock, client, enqueue } = setUpDelivery()
    enqueue(...ids(15))
    await settled()

    await clock.advance(60_000)

    expect(clock.timerCount).toBe(0)
    expect(client.requests).toHaveLength(1)
  })

  test('the timer of the interval is cancelled when the waiting events are sent', async () => {
    const { clock, enqueue } = setUpDelivery({ settings: { flushAt: 2 } })

    enqueue('a1')
    await settled()
    expect(clock.timerCount).toBe(1)
    enqueue('a2')
    await clock.advance(0)

    expect(clock.timerCount).toBe(0)
  })

  test('with flushAt 1 each event has a request of its own', async () => {
    const { client, enqueue } = setUpDelivery({ settings: { flushAt: 1 } })

    enqueue('a1', 'a2', 'a3')
    await settled()

    expect(client.batchSizes).toEqual([1, 1, 1])
  })

  test('with flushAt 1 each event has a request of its own, even when requests cannot keep up', async () => {
    const replies = [
      status(503),
      status(200),
      status(429, { 'Retry-After': '1' }),
      networkError('ECONNRESET'),
    ]
    for (const maxConcurrentRequests of [1, 2, 4]) {
      const { clock, client, enqueue, outcomes } = setUpDelivery({
        settings: { flushAt: 1, maxConcurrentRequests, maxRetries: 1_000 },
        replies: [(request) => (replies[client.requests.length % 4] as Reply)(request)],
      })

      enqueue(...ids(20))
      await clock.advance(1_000)
      enqueue(...ids(20, 'b'))
      await clock.advance(3_600_000)

      expect(new Set(client.batchSizes)).toEqual(new Set([1]))
      expect(codesOf(outcomes)).toEqual(new Array(40).fill('delivered'))
    }
  })

  test('when requests cannot keep up, the next batch takes all waiting events', async () => {
    const answers: (() => void)[] = []
    const slow: Reply = () =>
      new Promise((resolve) => {
        answers.push(() => resolve({ status: 200, statusText: 'OK' }))
      })
    const { client, enqueue } = setUpDelivery({
      settings: { flushAt: 2, maxConcurrentRequests: 1 },
      replies: [slow],
    })
    enqueue('a1', 'a2')
    await settled()

    enqueue(...ids(500, 'b'))
    await settled()
    answers[0]?.()
    await settled()

    expect(client.batchSizes).toEqual([2, 500])
  })

  test('a full body is sent although flushAt is not reached', async () => {
    const { client, enqueue } = setUpDelivery({ settings: { flushAt: 1_000 } })

    enqueue(...ids(16).map((id) => createEntry(id, 32_768)))
    await settled()

    expect(client.batchSizes).toEqual([15, 1])
  })

  test('a queue that has reached maxQueueSize is sent although flushAt is not reached', async () => {
    const { client, enqueue } = setUpDelivery({ settings: { flushAt: 1_000, maxQueueSize: 5 } })

    enqueue(...ids(5))
    await settled()

    expect(client.batchSizes).toEqual([5])
  })

  test('a queue that has reached maxQueueBytes is sent although flushAt is not reached', async () => {
    const { client, enqueue } = setUpDelivery({ settings: { flushAt: 1_000, maxQueueBytes: 65_536 } })

    const taken = enqueue(...ids(3).map((id) => createEntry(id, 30_000)))
    await settled()

    expect(taken).toEqual([true, true, false])
    expect(client.batchSizes).toEqual([2])
  })

  test.each([
    ['by count', { maxQueueSize: 3 }, 1],
    ['by bytes', { maxQueueBytes: 100_000 }, 40_000],
  ])(
    'a queue that is full %s because of events inside plugins is sent although flushAt is not reached',
    async (_label, bound, bytes) => {
      const { client, hold, enqueue } = setUpDelivery({ settings: { flushAt: 1_000, ...bound } })

      enqueue('a1')
      hold(bytes)
      await settled()
      expect(client.requests).toHaveLength(0)
      hold(bytes)
      await settled()

      expect(client.requests.map(({ messageIds }) => messageIds)).toEqual([['a1']])
    },
  )

  test('at most maxConcurrentRequests requests are in flight', async () => {
    const { client, enqueue } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 3 },
      replies: [silence],
    })

    enqueue(...ids(10))
    await settled()

    expect(client.requests).toHaveLength(3)
    expect(client.mostOpen).toBe(3)
  })

  test('with one request at a time, events arrive in the order of their calls across batches', async () => {
    const { clock, client, delivery, enqueue } = setUpDelivery({
      settings: { flushAt: 10, maxConcurrentRequests: 1 },
      replies: [status(503), status(200), networkError('ECONNRESET'), status(200)],
    })

    for (const part of [ids(30, 'x'), ids(30, 'y'), ids(30, 'z')]) {
      enqueue(...part)
      await settled()
    }
    delivery.flush()
    await clock.advance(60_000)

    const delivered = client.requests.flatMap(({ messageIds }, index) =>
      [0, 2].includes(index) ? [] : messageIds,
    )
    expect(delivered).toEqual([...ids(30, 'x'), ...ids(30, 'y'), ...ids(30, 'z')])
  })

  test('a connection counts as in use until the body of its response has ended', async () => {
    const ends: (() => void)[] = []
    const slowBody: Reply = () => ({
      status: 200,
      statusText: 'OK',
      text: () => new Promise((resolve) => ends.push(() => resolve(''))),
    })
    const { client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 1 },
      replies: [slowBody],
    })
    enqueue('a1')
    await settled()
    enqueue('a2')
    await settled()

    expect(codesOf(outcomes)).toEqual(['delivered'])
    expect(client.requests).toHaveLength(1)
    ends[0]?.()
    await settled()

    expect(client.requests).toHaveLength(2)
  })
})

describe('sizes', () => {
  test('a body of exactly 500,000 bytes is one request, and one more byte makes two', async () => {
    const limit = 500_000
    const frame = Buffer.byteLength(
      `{"batch":[],"writeKey":"${WRITE_KEY}","sentAt":"2026-11-20T09:30:00.000Z"}`,
    )
    for (const [extra, batches] of [
      [0, 1],
      [1, 2],
    ] as const) {
      const { client, delivery, enqueue } = setUpDelivery({ settings: { flushAt: 1_000 } })
      const sizes = new Array(15).fill(32_768)
      const left = limit + extra - frame - sizes.reduce((sum, size) => sum + size + 1, 0)
      enqueue(...[...sizes, left].map((size, index) => createEntry(`a${index}`, size)))
      delivery.flush()
      await settled()

      expect(client.requests).toHaveLength(batches)
      if (batches === 1) expect(Buffer.byteLength(client.requests[0]?.body as string)).toBe(limit)
      for (const { body } of client.requests) expect(Buffer.byteLength(body)).toBeLessThanOrEqual(limit)
    }
  })
})

describe('the bounds of the queue', () => {
  // docs/faults.md, row F69.
  test('with drop-newest, events that find no room are refused, and the others are delivered', async () => {
    const { clock, delivery, enqueue, outcomes } = setUpDelivery({ settings: { maxQueueSize: 1_000 } })

    const taken = enqueue(...ids(1_030))
    delivery.flush()
    await clock.advance(0)

    expect(taken.filter((isTaken) => !isTaken)).toHaveLength(30)
    expect(taken.indexOf(false)).toBe(1_000)
    expect(outcomes).toHaveLength(1_000)
    expect(enqueue('later')).toEqual([true])
  })

  // docs/faults.md, row F70.
  test('the bound in bytes is exact', async () => {
    const { enqueue } = setUpDelivery({ settings: { maxQueueBytes: 100_000 }, replies: [silence] })

    const taken = enqueue(createEntry('a', 32_768), createEntry('b', 32_768), createEntry('c', 32_768))
    const last = enqueue(createEntry('d', 1_697), createEntry('e', 1_696), createEntry('f', 40))

    expect(taken).toEqual([true, true, true])
    expect(last).toEqual([false, true, false])
  })

  test('with drop-oldest, the oldest events make room and fail with queue_full', async () => {
    const { delivery, client, enqueue, outcomes } = setUpDelivery({
      settings: { maxQueueSize: 3, flushAt: 3, overflow: 'drop-oldest' },
    })

    const taken = enqueue(...ids(5))
    expect(idsOf(outcomes)).toEqual(['a1', 'a2'])
    expect(codesOf(outcomes)).toEqual(['queue_full', 'queue_full'])
    delivery.flush()
    await settled()

    expect(taken).toEqual(new Array(5).fill(true))
    expect(client.requests[0]?.messageIds).toEqual(['a3', 'a4', 'a5'])
  })

  test('events that were refused, displaced, delivered or abandoned are not kept in memory', async () => {
    const { line, hold, makeItem, delivery, clock, outcomes } = setUpDelivery({
      settings: { maxQueueSize: 2, overflow: 'drop-oldest' },
      replies: [status(200), silence],
    })
    const all = ids(5).map((id) => makeItem(id))
    const [refused, ...others] = all
    const add = (made = refused): boolean => made !== undefined && line.add(made.item, made.json, false)

    const ends = [hold(0), hold(0)]
    expect(add(refused)).toBe(false)
    for (const end of ends) end()
    for (const made of others.slice(0, 3)) add(made)
    delivery.flush()
    await clock.advance(0)
    add(others[3])
    const kept = all.filter(({ item }) => item.stored !== undefined)
    expect(kept).toEqual([others[3]])
    delivery.abandon(new DeliveryError('shutdown_timeout', 'fini'))

    expect(codesOf(outcomes)).toEqual(['queue_full', 'delivered', 'delivered', 'shutdown_timeout'])
    expect(all.map(({ item }) => item.stored)).toEqual(new Array(5).fill(undefined))
    expect([line.size, line.bytes]).toEqual([0, 0])
  })

  test('with drop-oldest, no more events are displaced than the size of the new one requires', () => {
    const { enqueue, outcomes } = setUpDelivery({
      settings: { maxQueueBytes: 70_000, overflow: 'drop-oldest' },
    })

    enqueue(createEntry('a', 20_000), createEntry('b', 20_000), createEntry('c', 20_000))
    enqueue(createEntry('d', 32_768))

    expect(idsOf(outcomes)).toEqual(['a', 'b'])
  })

  test('events inside plugins count, and cannot be displaced', () => {
    const { hold, enqueue, outcomes } = setUpDelivery({
      settings: { maxQueueSize: 3, overflow: 'drop-oldest' },
    })

    hold(0)
    hold(0)
    expect(enqueue('a')).toEqual([true])
    hold(0)
    expect(enqueue('b')).toEqual([false])

    expect(outcomes).toEqual([])
  })

  test('when events inside plugins leave no room for a new one, nothing is displaced', () => {
    const { line, hold, enqueue, outcomes } = setUpDelivery({
      settings: { maxQueueBytes: 70_000, overflow: 'drop-oldest' },
    })

    enqueue(createEntry('a', 20_000))
    hold(45_000)
    expect(enqueue(createEntry('b', 30_000))).toEqual([false])

    expect(outcomes).toEqual([])
    expect(line.ready.length).toBe(1)
  })

  test('events in flight count, and cannot be displaced', async () => {
    const { clock, delivery, enqueue, outcomes } = setUpDelivery({
      settings: { maxQueueSize: 3, flushAt: 2, maxConcurrentRequests: 1, overflow: 'drop-oldest' },
      replies: [silence, status(200)],
    })

    enqueue('a1', 'a2')
    await settled()

    expect(enqueue('b1', 'b2', 'b3')).toEqual([true, true, true])
    expect(idsOf(outcomes)).toEqual(['b1', 'b2'])
    expect(codesOf(outcomes)).toEqual(['queue_full', 'queue_full'])
    delivery.flush()
    await clock.advance(20_000)
    expect(idsOf(outcomes).slice(2).sort()).toEqual(['a1', 'a2', 'b3'])
  })

  test('events in flight count with their bytes, and free their room with their outcome', async () => {
    let answer = () => {}
    const { line, enqueue, outcomes } = setUpDelivery({
      settings: { maxQueueBytes: 70_000, flushAt: 1 },
      replies: [
        (request) =>
          new Promise((resolve) => {
            answer = () => resolve(status(200)(request))
          }),
        silence,
      ],
    })

    enqueue(createEntry('a', 30_000))
    await settled()
    enqueue(createEntry('b', 30_000))
    await settled()
    expect(line.bytes).toBe(60_000)
    expect(enqueue(createEntry('c', 20_000))).toEqual([false])
    answer()
    await settled()

    expect(idsOf(outcomes)).toEqual(['a'])
    expect(line.bytes).toBe(30_000)
    expect(enqueue(createEntry('d', 40_001), createEntry('e', 40_000))).toEqual([false, true])
  })
})

describe('retries', () => {
  // docs/faults.md, row F30.
  test.each([0, 1, 3, 10])(
    'with maxRetries %i, an unavailable service gets the first request and this many retries',
    async (maxRetries) => {
      const { clock, client, enqueue, outcomes } = setUpDelivery({
        settings: { flushAt: 1, maxRetries },
        replies: [status(503)],
      })

      enqueue('a1')
      await clock.advance(3_600_000)

      expect(client.requests.map(({ headers }) => headers['X-Retry-Count'])).toEqual([
        undefined,
        ...Array.from({ length: maxRetries }, (_, index) => String(index + 1)),
      ])
      expect(codesOf(outcomes)).toEqual(['retries_exhausted'])
      expect(outcomes[0]?.error?.message).toBe('[503] Service Unavailable')
      expect(outcomes[0]?.error?.status).toBe(503)
      expect(outcomes[0]?.attempts).toBe(maxRetries + 1)
      expect(clock.timerCount).toBe(0)
    },
  )

  test.each([408, 410, 425, 460, 500, 502, 503, 504])(
    'after a %i the batch is delivered by the next attempt',
    async (code) => {
      const { clock, client, enqueue, outcomes } = setUpDelivery({
        settings: { flushAt: 1 },
        replies: [status(code), status(200)],
      })

      enqueue('a1')
      await clock.advance(2_000)

      expect(codesOf(outcomes)).toEqual(['delivered'])
      expect(outcomes[0]?.attempts).toBe(2)
      expect(client.gapsMs[0]).toBeGreaterThanOrEqual(500)
      expect(client.gapsMs[0]).toBeLessThanOrEqual(1_000)
    },
  )

  test.each([300, 301, 307, 404, 407, 409, 501, 505])('a %i is final', async (code) => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 2 },
      replies: [status(code)],
    })

    enqueue('a1', 'a2')
    await clock.advance(600_000)

    expect(client.requests).toHaveLength(1)
    expect(codesOf(outcomes)).toEqual(['rejected', 'rejected'])
    expect(outcomes[0]?.error?.status).toBe(code)
  })

  test.each([401, 403, 511])('a %i with a write key is a failure of authentication', async (code) => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1 },
      replies: [status(code)],
    })

    enqueue('a1')
    await clock.advance(600_000)

    expect(client.requests).toHaveLength(1)
    expect(codesOf(outcomes)).toEqual(['auth'])
  })

  test('a refused batch does not delay later ones', async () => {
    const { enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 1 },
      replies: [status(400), status(200)],
    })

    enqueue('a1', 'a2')
    await settled()

    expect(codesOf(outcomes)).toEqual(['rejected', 'delivered'])
  })

  test('each wait is drawn from the upper half of its limit, which doubles', async () => {
    const { clock, client, enqueue } = setUpDelivery({
      settings: { flushAt: 1, maxRetries: 8 },
      replies: [status(500)],
    })

    enqueue('a1')
    await clock.advance(3_600_000)

    const bounds = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]
    expect(client.gapsMs).toHaveLength(bounds.length)
    client.gapsMs.forEach((gapMs, index) => {
      const boundMs = bounds[index] as number
      expect(gapMs).toBeGreaterThanOrEqual(boundMs / 2)
      expect(gapMs).toBeLessThanOrEqual(boundMs + 1)
    })
  })

  test('a request without a response within the timeout leads to a counted retry', async () => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, httpRequestTimeout: 2_000, maxRetries: 1 },
      replies: [hangUntilAborted],
    })

    enqueue('a1')
    await clock.advance(2_000)
    expect(client.requests).toHaveLength(1)
    await clock.advance(60_000)

    expect(client.requests).toHaveLength(2)
    expect(codesOf(outcomes)).toEqual(['retries_exhausted'])
    expect(outcomes[0]?.error?.message).toBe('no response within 2000 ms')
  })

  // docs/faults.md, row F31.
  test('a batch that fails again and again is given up at maxTotalBackoffDuration', async () => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxRetries: 1_000, maxTotalBackoffDuration: 10 },
      replies: [status(503)],
    })

    enqueue('a1')
    await clock.advance(9_999)
    expect(outcomes).toEqual([])
    const requests = client.requests.length
    await clock.advance(1)
    await settled()
    await clock.advance(600_000)

    expect(codesOf(outcomes)).toEqual(['deadline'])
    expect(outcomes[0]?.error).toMatchObject({
      message: '[503] Service Unavailable; given up after 10 s (maxTotalBackoffDuration)',
      status: 503,
    })
    expect(client.requests).toHaveLength(requests)
    expect(clock.timerCount).toBe(0)
  })
})

// docs/faults.md, row F03.
describe('a connection that is lost', () => {
  test('lets the batch be sent again at once, which is not counted as a retry; later attempts wait', async () => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxRetries: 2 },
      replies: [
        networkError('ECONNRESET'),
        networkError('ECONNRESET'),
        networkError('ECONNRESET'),
        status(200),
      ],
    })

    enqueue('a1')
    await clock.advance(60_000)

    expect(codesOf(outcomes)).toEqual(['delivered'])
    expect(client.requests).toHaveLength(4)
    const [free, first, second] = client.gapsMs as [number, number, number]
    expect(free).toBe(0)
    expect(first).toBeGreaterThanOrEqual(500)
    expect(first).toBeLessThanOrEqual(1_001)
    expect(second).toBeGreaterThanOrEqual(1_000)
    expect(second).toBeLessThanOrEqual(2_001)
  })

  test('is named in the error of an event that is given up during the second attempt', async () => {
    const { delivery, enqueue } = setUpDelivery({
      settings: { flushAt: 1 },
      replies: [networkError('ECONNRESET'), silence],
    })

    enqueue('a1')
    await settled()

    expect(delivery.trouble('shutdown_timeout')).toMatchObject({ code: 'shutdown_timeout' })
    expect(delivery.trouble('shutdown_timeout')?.message).toContain('ECONNRESET')
  })

  test('after a refused connection, even the first retry waits', async () => {
    const { clock, client, enqueue } = setUpDelivery({
      settings: { flushAt: 1 },
      replies: [networkError('ECONNREFUSED'), status(200)],
    })

    enqueue('a1')
    await clock.advance(60_000)

    expect(client.gapsMs[0]).toBeGreaterThanOrEqual(500)
  })

  test('after a lost connection in an outage, even the first retry waits', async () => {
    const { clock, client, enqueue } = setUpDelivery({
      settings: { flushAt: 1 },
      replies: [status(503), networkError('ECONNRESET'), status(200)],
    })

    enqueue('a1')
    await clock.advance(60_000)

    expect(client.gapsMs[0]).toBeGreaterThanOrEqual(500)
    expect(client.gapsMs[1]).toBeGreaterThanOrEqual(1_000)
  })

  test('X-Retry-Count also counts the attempt that does not count as a retry', async () => {
    const { clock, client, enqueue } = setUpDelivery({
      settings: { flushAt: 1, maxRetries: 0 },
      replies: [networkError('ECONNRESET'), status(200)],
    })

    enqueue('a1')
    await clock.advance(0)

    expect(client.requests.map(({ headers }) => headers['X-Retry-Count'])).toEqual([undefined, '1'])
  })
})

describe('Retry-After', () => {
  // docs/faults.md, row F38.
  test.each([429, 503, 408])('after a %i that asks for 7 s, nothing is sent for 7 s', async (code) => {
    const { clock, client, enqueue } = setUpDelivery({
      settings: { flushAt: 1 },
      replies: [status(code, { 'Retry-After': '7' }), status(200)],
    })

    enqueue('a1')
    await clock.advance(6_999)
    enqueue('a2')
    await settled()
    expect(client.requests).toHaveLength(1)
    await clock.advance(1)
    await settled()

    expect(client.requests).toHaveLength(3)
  })

  test('a 429 with a usable Retry-After does not count as a retry', async () => {
    const { clock, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxRetries: 0 },
      replies: [status(429, { 'Retry-After': '2' }), status(429, { 'Retry-After': '2' }), status(200)],
    })

    enqueue('a1')
    await clock.advance(4_000)
    await settled()

    expect(codesOf(outcomes)).toEqual(['delivered'])
    expect(outcomes[0]?.attempts).toBe(3)
  })

  test('a 503 with Retry-After counts as a retry', async () => {
    const { clock, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxRetries: 1 },
      replies: [status(503, { 'Retry-After': '2' })],
    })

    enqueue('a1')
    await clock.advance(60_000)

    expect(codesOf(outcomes)).toEqual(['retries_exhausted'])
    expect(outcomes[0]?.attempts).toBe(2)
  })

  // docs/faults.md, rows F43 and F45.
  test.each([undefined, '', 'garbage', '-5', '0', '1.5', '0x10', 'Thu, 01 Jan 1970 00:00:00 GMT'])(
    'a 429 without a usable Retry-After (%j) leads to a counted retry after the backoff',
    async (value) => {
      const headers = value === undefined ? {} : { 'Retry-After': value }
      const { clock, client, enqueue, outcomes } = setUpDelivery({
        settings: { flushAt: 1, maxRetries: 1 },
        replies: [status(429, headers as Record<string, string>)],
      })

      enqueue('a1')
      await clock.advance(60_000)

      expect(client.requests).toHaveLength(2)
      expect(client.gapsMs[0]).toBeGreaterThanOrEqual(500)
      expect(codesOf(outcomes)).toEqual(['retries_exhausted'])
      expect(outcomes[0]?.error?.message).toBe('[429] Too Many Requests')
    },
  )

  // docs/faults.md, row F44.
  test('a wait that is far too long is shortened to five minutes', async () => {
    const { clock, client, enqueue } = setUpDelivery({
      settings: { flushAt: 1 },
      replies: [status(429, { 'Retry-After': '9999999999' }), status(200)],
    })

    enqueue('a1')
    await clock.advance(600_000)

    expect(client.gapsMs).toEqual([300_000])
  })

  // docs/faults.md, row F50.
  test('with Retry-After on a 200, the event is delivered, and the next batch waits', async () => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1 },
      replies: [status(200, { 'Retry-After': '2' }), status(200)],
    })

    enqueue('a1')
    await settled()
    enqueue('a2')
    await clock.advance(1_999)
    expect(idsOf(outcomes)).toEqual(['a1'])
    expect(client.requests).toHaveLength(1)
    await clock.advance(1)
    await settled()

    expect(idsOf(outcomes)).toEqual(['a1', 'a2'])
    expect(client.requests).toHaveLength(2)
  })

  // docs/faults.md, row F46.
  test('after the wait, one request is sent first, and then the others', async () => {
    const answers: (() => void)[] = []
    const slow: Reply = () =>
      new Promise((resolve) => {
        answers.push(() => resolve({ status: 200, statusText: 'OK' }))
      })
    const { clock, client, enqueue } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 4 },
      replies: [status(429, { 'Retry-After': '5' }), slow],
    })
    enqueue('a1')
    await settled()

    for (let number = 0; number < 50; number++) {
      enqueue(createEntry(`b${number}`, 30_000))
      await settled()
    }
    await clock.advance(4_999)
    expect(client.requests).toHaveLength(1)
    await clock.advance(1)
    await settled()
    expect(client.requests).toHaveLength(2)
    answers[0]?.()
    await settled()

    expect(client.requests.length - 2).toBeGreaterThan(1)
    expect(client.mostOpen).toBeLessThanOrEqual(4)
  })

  test('after the wait, refused events are sent before later ones', async () => {
    const { clock, client, enqueue } = setUpDelivery({
      settings: { flushAt: 2, maxEventsInBatch: 2 },
      replies: [status(429, { 'Retry-After': '5' }), status(200)],
    })

    enqueue('a1', 'a2')
    await settled()
    enqueue('b1', 'b2')
    await clock.advance(5_000)
    await settled()

    expect(client.requests.map(({ messageIds }) => messageIds[0])).toEqual(['a1', 'a1', 'b1'])
  })

  test('a flush during a wait sets no further timer', async () => {
    const { clock, delivery, enqueue } = setUpDelivery({
      settings: { flushAt: 1 },
      replies: [status(503)],
    })
    enqueue('a1')
    await settled()
    const setTimer = vi.spyOn(clock, 'setTimer')

    for (let flush = 0; flush < 100; flush++) {
      delivery.flush()
      clock.stall(1)
    }

    expect(setTimer).not.toHaveBeenCalled()
  })

  // docs/faults.md, row F47.
  test('a rate limit that never ends is given up at maxRateLimitDuration', async () => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxRateLimitDuration: 10 },
      replies: [status(429, { 'Retry-After': '1' })],
    })

    enqueue('a1')
    await clock.advance(600_000)

    expect(codesOf(outcomes)).toEqual(['deadline'])
    expect(outcomes[0]?.error?.message).toBe(
      '[429] Too Many Requests; given up after 10 s (maxRateLimitDuration)',
    )
    expect(client.requests.length).toBeLessThanOrEqual(11)
    expect(clock.timerCount).toBe(0)
  })
})

describe('an outage', () => {
  // docs/faults.md, rows F10 and F29.
  test.each([
    ['answers with 500', status(500)],
    ['refuses connections', networkError('ECONNREFUSED')],
    ['resets connections', networkError('ECONNRESET')],
  ])('a service that %s for a minute gets at most 15 requests, and nothing is lost', async (_label, down) => {
    const { clock, client, delivery, enqueue, outcomes } = setUpDelivery({ replies: [down] })
    let sent = 0

    for (let second = 0; second < 60; second++) {
      enqueue(...Array.from({ length: 100 }, () => `a${sent++}`))
      await clock.advance(1_000)
    }
    const requests = client.requests.length
    client.answerWith(status(200))
    delivery.flush()
    await clock.advance(60_000)

    expect(requests).toBeLessThanOrEqual(15)
    expect(outcomes).toHaveLength(6_000)
    expect(codesOf(outcomes).filter((code) => code !== 'delivered')).toEqual([])
  })

  test('batches that failed at the same time wait together, and one of them is sent first', async () => {
    const { clock, client, enqueue } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 4 },
      replies: [status(503), status(503), status(503), status(503), silence],
    })

    enqueue('a1', 'a2', 'a3', 'a4')
    await settled()
    expect(client.requests).toHaveLength(4)
    await clock.advance(1_000)
    await settled()

    expect(client.requests).toHaveLength(5)
  })

  // docs/faults.md, row F75.
  test('when the outage is over, waiting events are sent without waiting for the flush interval', async () => {
    const { clock, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 5 },
      replies: [status(503), status(200)],
    })

    enqueue(...ids(5))
    await settled()
    enqueue(...ids(5, 'b'))
    await clock.advance(1_001)
    await settled()

    expect(codesOf(outcomes)).toEqual(new Array(10).fill('delivered'))
  })
})

test('after an outage, the next request does not wait for the body of the first response', async () => {
  const slowBody: Reply = () => ({ status: 200, statusText: 'OK', text: () => new Promise(() => {}) })
  const { clock, client, enqueue } = setUpDelivery({
    settings: { flushAt: 1, maxConcurrentRequests: 2 },
    replies: [status(503), slowBody, status(200)],
  })

  enqueue('a1')
  await settled()
  enqueue('a2')
  await clock.advance(10_000)

  expect(client.requests).toHaveLength(3)
  expect(client.gapsMs[1]).toBe(0)
})

describe('a batch that is too large for the service', () => {
  const takingAtMost =
    (count: number): Reply =>
    (request) =>
      status(request.batch.length > count ? 413 : 200)(request)

  // docs/faults.md, row F34.
  test('is halved until the service accepts it, and the accepted size is kept for the next batch', async () => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 100 },
      replies: [takingAtMost(10)],
    })
    const entries = (prefix: string): Entry[] => ids(100, prefix).map((id) => createEntry(id, 200))

    enqueue(...entries('a'))
    await clock.advance(0)
    const refusals = client.batchSizes.filter((size) => size > 10).length
    enqueue(...entries('b'))
    await clock.advance(0)

    expect(codesOf(outcomes)).toEqual(new Array(200).fill('delivered'))
    expect(refusals).toBeLessThanOrEqual(8)
    expect(client.batchSizes.filter((size) => size > 10)).toHaveLength(refusals)
  })

  // docs/faults.md, row F35.
  test('a single event fails with too_large, and the other events are delivered', async () => {
    const refusing: Reply = (request) => status(request.body.includes('"big"') ? 413 : 200)(request)
    const { clock, enqueue, outcomes } = setUpDelivery({ settings: { flushAt: 7 }, replies: [refusing] })

    enqueue(...ids(3), createEntry('big', 20_000), ...ids(3, 'b'))
    await clock.advance(0)

    const failed = outcomes.filter(({ error }) => error !== undefined)
    expect(idsOf(failed)).toEqual(['big'])
    expect(failed[0]?.error).toMatchObject({
      code: 'too_large',
      status: 413,
      message: expect.stringMatching(/^\[413\] Payload Too Large: .* make it smaller$/),
    })
    expect(outcomes).toHaveLength(7)
  })

  test('a single event that is too large does not change the size of later batches', async () => {
    const refusing: Reply = (request) => status(request.body.includes('"big"') ? 413 : 200)(request)
    const { clock, client, enqueue } = setUpDelivery({ settings: { flushAt: 50 }, replies: [refusing] })

    enqueue(...ids(49), createEntry('big', 20_000))
    await clock.advance(0)
    const before = client.requests.length
    enqueue(...ids(2_000, 'b').map((id) => createEntry(id, 200)))
    await clock.advance(0)

    // These events take 402,000 bytes with their commas: one body has room for all of them.
    expect(client.batchSizes.slice(before)).toEqual([2_000])
  })

  test('the size limit that was learned from a 413 grows step by step while requests are accepted', async () => {
    let limit = 50
    const { clock, client, enqueue } = setUpDelivery({
      settings: { flushAt: 100 },
      replies: [(request) => status(request.batch.length > limit ? 413 : 200)(request)],
    })
    const enqueueAll = async (): Promise<number> => {
      const before = client.requests.length
      enqueue(...ids(1_000).map((id) => createEntry(id, 200)))
      await clock.advance(0)
      return client.requests.length - before
    }

    const first = await enqueueAll()
    limit = 1_000_000
    const counts: number[] = []
    for (let round = 0; round < 30; round++) counts.push(await enqueueAll())

    expect(first).toBeGreaterThanOrEqual(20)
    expect(counts.at(-1)).toBeLessThanOrEqual(first / 4)
    for (const [index, count] of counts.entries())
      expect(count).toBeLessThanOrEqual(counts[index - 1] ?? 1_000)
    // At first, more than half as many requests as before are still needed.
    expect(counts[0]).toBeGreaterThan(first / 2)
  })

  test('a halved batch keeps its attempts, its retries and its deadlines', async () => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 4, maxRetries: 3, maxTotalBackoffDuration: 10 },
      replies: [status(503), status(413), status(503)],
    })

    enqueue(...ids(4))
    await clock.advance(600_000)

    const firstHalf = client.requests.filter(({ messageIds }) => messageIds[0] === 'a1')
    expect(firstHalf.map(({ headers }) => headers['X-Retry-Count'])).toEqual([undefined, '1', '2', '3', '4'])
    expect(codesOf(outcomes)).toEqual(['retries_exhausted', 'retries_exhausted', 'deadline', 'deadline'])
    expect(outcomes[0]?.attempts).toBe(5)
    expect(client.requests.every(({ atMs }) => atMs <= 10_000)).toBe(true)
  })

  test('the order inside batches is kept, even after four 413s at the same time', async () => {
    const answers: ((code: number) => void)[] = []
    const slow: Reply = (request) =>
      new Promise((resolve) => {
        answers.push((code) => resolve(status(code)(request)))
      })
    const { clock, client, delivery, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 8, maxConcurrentRequests: 4 },
      replies: [slow, slow, slow, slow, takingAtMost(3)],
    })
    for (const part of ['a', 'b', 'c', 'd']) {
      enqueue(...ids(8, part).map((id) => createEntry(id, 200)))
      await settled()
    }
    enqueue(...ids(8, 'e').map((id) => createEntry(id, 200)))
    await settled()

    for (const index of [2, 0, 3, 1]) answers[index]?.(413)
    await clock.advance(0)
    delivery.flush()
    await clock.advance(60_000)

    const sent = client.requests
      .slice(4)
      .flatMap(({ messageIds }) => (messageIds.length > 3 ? [] : messageIds))
    for (const part of ['a', 'b', 'c', 'd', 'e']) {
      expect(sent.filter((id) => id.startsWith(part))).toEqual(ids(8, part))
    }
    expect(codesOf(outcomes)).toEqual(new Array(40).fill('delivered'))
    // The oldest batch is sent first, and no new batch overtakes it.
    expect(client.requests[4]?.messageIds[0]).toBe('a1')
  })

  test('a service that refuses every size gets few requests, and few events are lost', async () => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({ replies: [status(413)] })

    for (let second = 0; second < 60; second++) {
      enqueue(...ids(100, `second ${second}: `))
      await clock.advance(1_000)
    }
    const lost = outcomes.length
    const requests = client.requests.length
    client.answerWith(status(200))
    await clock.advance(120_000)

    // At most 16 requests until the client backs off, and then at most the 15 that an outage causes in a minute.
    expect(requests).toBeLessThanOrEqual(16 + 15)
    expect(lost).toBeLessThanOrEqual(30)
    expect(outcomes).toHaveLength(6_000)
    expect(codesOf(outcomes).filter((code) => code === 'delivered')).toHaveLength(6_000 - lost)
  })

  test('the events keep their order', async () => {
    const { clock, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 20, maxConcurrentRequests: 1 },
      replies: [takingAtMost(6)],
    })

    enqueue(...ids(20).map((id) => createEntry(id, 100)))
    await clock.advance(0)

    expect(idsOf(outcomes)).toEqual(ids(20))
  })
})

describe('abandoning', () => {
  const over = new DeliveryError('shutdown_timeout', 'zu spät')

  test('waiting events, events in flight and events before a retry fail at once, exactly once', async () => {
    const { clock, client, delivery, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 2 },
      replies: [hangUntilAborted, status(503), status(503)],
    })
    enqueue('a1', 'a2')
    await settled()
    enqueue('a3', 'a4')
    await settled()

    delivery.abandon(over)
    await clock.advance(3_600_000)

    expect(idsOf(outcomes).sort()).toEqual(['a1', 'a2', 'a3', 'a4'])
    expect(new Set(codesOf(outcomes))).toEqual(new Set(['shutdown_timeout']))
    expect(client.requests).toHaveLength(2)
    expect(client.requests[0]?.signal?.aborted).toBe(true)
    expect(clock.timerCount).toBe(0)
  })

  test('a response that arrives afterwards changes nothing', async () => {
    let answer = (): void => {}
    const slow: Reply = () =>
      new Promise((resolve) => {
        answer = () => resolve({ status: 503, statusText: 'Service Unavailable' })
      })
    const { clock, client, delivery, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1 },
      replies: [slow],
    })
    enqueue('a1')
    await settled()

    delivery.abandon(over)
    answer()
    await clock.advance(600_000)

    expect(outcomes).toEqual([{ id: 'a1', error: over, attempts: 1 }])
    expect(client.requests).toHaveLength(1)
  })

  test('events that are added afterwards are delivered: the process may go on', async () => {
    const { clock, client, delivery, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 1 },
      replies: [hangUntilAborted, status(200)],
    })
    enqueue('a1')
    await settled()
    delivery.abandon(over)

    enqueue('a2')
    await clock.advance(0)

    expect(outcomes.at(-1)).toEqual({ id: 'a2', error: undefined, attempts: 1 })
    expect(client.requests).toHaveLength(2)
  })

  test('events that are added afterwards during an outage are sent when the wait is over', async () => {
    const { clock, delivery, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 1 },
      replies: [status(503), status(200)],
    })
    enqueue('a1')
    await settled()
    delivery.abandon(over)

    enqueue('a2')
    await clock.advance(1_000)
    await settled()

    expect(outcomes.at(-1)).toEqual({ id: 'a2', error: undefined, attempts: 1 })
  })
})

describe('errors on the side of the client', () => {
  /** Parts that fail while `fault.isOn` is true. */
  function createFaults() {
    const fault = { isOn: false }
    const fail = (): never => {
      throw new RangeError('kaputt')
    }
    class FaultyClock extends FakeClock {
      value: (() => number) | undefined
      override now(): number {
        return fault.isOn && this.value !== undefined ? this.value() : super.now()
      }
    }
    const clockThat = (value: () => number): FaultyClock => Object.assign(new FaultyClock(), { value })
    return { fault, fail, clockThat }
  }

  test.each(['clock throws', 'time is NaN', 'encoder throws', 'encoder rejects', 'no memory'])(
    'a batch is retried and no event is lost when a part of the client fails: %s',
    async (kind) => {
      const { fault, fail, clockThat } = createFaults()
      const encode: Encode = (bytes) => {
        if (fault.isOn && kind === 'encoder throws') fail()
        if (fault.isOn && kind === 'encoder rejects') return Promise.reject(new Error('kaputt'))
        return { bytes, encoding: undefined }
      }
      const store = new SlabStore()
      const copy = store.copy.bind(store)
      store.copy = (...given) => (fault.isOn && kind === 'no memory' ? fail() : copy(...given))
      const value = kind === 'clock throws' ? fail : kind === 'time is NaN' ? () => Number.NaN : undefined
      const { clock, client, delivery, enqueue, outcomes } = setUpDelivery({
        settings: { flushAt: 1, maxRetries: 3, maxConcurrentRequests: 2 },
        encode,
        store,
        clock: value === undefined ? new FakeClock() : clockThat(value),
      })

      fault.isOn = true
      enqueue(...ids(5))
      await settled()
      delivery.flush()
      await settled()
      expect(client.requests).toHaveLength(0)
      expect(outcomes).toEqual([])
      fault.isOn = false
      await clock.advance(60_000)

      expect(codesOf(outcomes)).toEqual(new Array(5).fill('delivered'))
      // Two requests may still be in flight at the same time, and no more.
      client.answerWith(silence)
      enqueue(...ids(5, 'b'))
      await clock.advance(0)
      expect(client.mostOpen).toBe(2)
    },
  )

  test.each<[string, Encode]>([
    [
      'at once',
      () => {
        throw new Error(`kaputt: ${WRITE_KEY}`)
      },
    ],
    ['later', () => Promise.reject(new Error(`kaputt: ${WRITE_KEY}`))],
  ])('when the encoder always fails, the events fail after their retries: %s', async (_label, encode) => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 2, maxRetries: 2 },
      encode,
    })

    enqueue(...ids(2))
    await clock.advance(60_000)

    expect(codesOf(outcomes)).toEqual(['retries_exhausted', 'retries_exhausted'])
    expect(outcomes[0]?.error?.message).toBe('kaputt: [redacted]')
    expect(outcomes[0]?.attempts).toBe(0)
    expect(client.requests).toHaveLength(0)
    expect(clock.timerCount).toBe(0)
  })

  // The second error is thrown while the first is being handled.
  test.each([1, 2])('errors while a response is handled (%i in a row) are reported once', async (errors) => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    let left = errors
    class BrokenChance extends FakeClock {
      override random(): number {
        if (left-- > 0) throw new Error('kaputt')
        return super.random()
      }
    }
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 2 },
      replies: [status(503), status(503), status(200)],
      clock: new BrokenChance(),
    })

    enqueue(...ids(2))
    await settled()
    expect(client.requests).toHaveLength(2)
    await clock.advance(60_000)

    expect(codesOf(outcomes)).toEqual(['delivered', 'delivered'])
    expect(warned.mock.calls.map(([message]) => message)).toEqual([
      'the delivery was interrupted and goes on: kaputt',
    ])
    warned.mockRestore()
  })

  test('requests are sent again once the clock no longer throws', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    let isBroken = false
    class BrokenClock extends FakeClock {
      override monotonic(): number {
        if (isBroken) throw new Error('kaputt')
        return super.monotonic()
      }
    }
    const { clock, delivery, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 1, maxRetries: 5 },
      replies: [status(503), status(200)],
      clock: new BrokenClock(),
    })

    enqueue('a1')
    isBroken = true
    await settled()
    enqueue('a2')
    await settled()
    expect(outcomes).toEqual([])
    isBroken = false
    delivery.flush()
    await clock.advance(60_000)

    expect(codesOf(outcomes)).toEqual(['delivered', 'delivered'])
    expect(client.mostOpen).toBe(1)
    expect(warned).toHaveBeenCalledTimes(1)
    warned.mockRestore()
  })

  test('a body that is still being encoded when everything is abandoned is never sent', async () => {
    let encoded = (): void => {}
    const { client, clock, delivery, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 1 },
      encode: (bytes) =>
        new Promise((resolve) => {
          encoded = () => resolve({ bytes, encoding: undefined })
        }),
    })
    enqueue('a1')
    await settled()

    delivery.abandon(new DeliveryError('shutdown_timeout', 'zu spät'))
    encoded()
    await settled()
    expect(client.requests).toHaveLength(0)
    enqueue('a2')
    await settled()
    encoded()
    await clock.advance(0)

    expect(codesOf(outcomes)).toEqual(['shutdown_timeout', 'delivered'])
    expect(client.requests).toHaveLength(1)
  })
})

test('when a service responds again after an outage, all events are sent at once, even if it refuses the encoding of the first body', async () => {
  const { client, clock, enqueue, outcomes } = setUpDelivery({
    settings: { flushAt: 1, maxConcurrentRequests: 2, maxRetries: 1 },
    replies: [status(503), status(415), status(200)],
    encode: (bytes) => ({ bytes, encoding: undefined }),
    mustResend: (code) => code === 415,
  })
  enqueue('a1')
  await clock.advance(1_000)
  enqueue('a2')
  await settled()

  // The request that immediately follows the 415 does not count as a retry.
  expect(client.requests.map(({ messageIds }) => messageIds[0])).toEqual(['a1', 'a1', 'a1', 'a2'])
  expect(codesOf(outcomes)).toEqual(['delivered', 'delivered'])
})

test('when a service responds again after an outage, all events are sent at once, even if it rejects the first one', async () => {
  const { client, clock, enqueue, outcomes } = setUpDelivery({
    settings: { flushAt: 1, maxConcurrentRequests: 2, maxRetries: 1 },
    replies: [status(200), status(503), status(409), status(200)],
  })
  enqueue('a1')
  await settled()
  enqueue('a2')
  await clock.advance(1_000)
  enqueue('a3')
  await settled()

  expect(client.requests.map(({ messageIds }) => messageIds[0])).toEqual(['a1', 'a2', 'a2', 'a3'])
  expect(codesOf(outcomes)).toEqual(['delivered', 'rejected', 'delivered'])
})

test('a body that is being encoded when a 429 arrives is sent after the wait', async () => {
  let encodeSecond = (): void => {}
  let count = 0
  const { client, clock, enqueue, outcomes } = setUpDelivery({
    settings: { flushAt: 1, maxConcurrentRequests: 2 },
    replies: [status(429, { 'Retry-After': '7' }), status(200)],
    encode: (bytes) => {
      const body = { bytes, encoding: undefined }
      if (++count !== 2) return body
      return new Promise((resolve) => {
        encodeSecond = () => resolve(body)
      })
    },
  })
  enqueue('a1', 'a2')
  await settled()
  expect(client.requests).toHaveLength(1)

  encodeSecond()
  await clock.advance(6_999)
  expect(client.requests).toHaveLength(1)
  await clock.advance(1)

  expect(client.requests.map(({ messageIds }) => messageIds[0]).sort()).toEqual(['a1', 'a1', 'a2'])
  expect(codesOf(outcomes)).toEqual(['delivered', 'delivered'])
  // The wait does not count as an attempt.
  expect(outcomes.find(({ id }) => id === 'a2')?.attempts).toBe(1)
})

describe('events that come back from a spool', () => {
  test('are sent at once, in order, before new events; they count towards the limit but are never refused', async () => {
    const { client, clock, line, admit, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 100, maxQueueSize: 10 },
    })

    for (const id of ids(20, 'old')) admit(id)
    expect(line.ready.length).toBe(20)
    expect(enqueue('new')).toEqual([false])
    await clock.advance(0)
    expect(enqueue('new')).toEqual([true])
    await clock.advance(10_000)
    await settled()

    expect(client.requests.map(({ messageIds }) => messageIds)).toEqual([ids(20, 'old'), ['new']])
    expect(idsOf(outcomes)).toEqual([...ids(20, 'old'), 'new'])
    expect([line.size, line.bytes]).toEqual([0, 0])
  })

  test('are sent without waiting for more, even if they are few', async () => {
    const { admit, client } = setUpDelivery()

    admit('old1')
    await settled()

    expect(client.batchSizes).toEqual([1])
  })
})

describe('callbacks that call the client', () => {
  test('when callbacks flush while several batches expire, no event is lost', async () => {
    const late: (() => void)[] = []
    const setup = setUpDelivery({
      settings: { flushAt: 1, maxRetries: 1_000, maxTotalBackoffDuration: 20, maxConcurrentRequests: 4 },
      replies: [
        status(503),
        status(503),
        (request) =>
          new Promise((resolve) => {
            late.push(() => resolve(status(503)(request)))
          }),
        status(503),
      ],
      onSettle: () => setup.delivery.flush(),
    })
    const { clock, enqueue, outcomes } = setup
    enqueue('a1', 'a2', 'late')
    await settled()
    await clock.advance(9_000)
    late[0]?.()

    await clock.advance(11_000)
    await settled()

    expect(idsOf(outcomes).sort()).toEqual(['a1', 'a2', 'late'])
    expect(codesOf(outcomes)).toEqual(['deadline', 'deadline', 'deadline'])
  })

  test('when callbacks flush while everything is abandoned, nothing is sent', async () => {
    const setup = setUpDelivery({
      settings: { flushAt: 10, maxConcurrentRequests: 1 },
      replies: [hangUntilAborted],
      onSettle: () => setup.delivery.flush(),
    })
    const { clock, client, delivery, enqueue, outcomes } = setup
    enqueue(...ids(10))
    await settled()
    enqueue(...ids(20, 'b'))
    await settled()

    delivery.abandon(new DeliveryError('shutdown_timeout', 'zu spät'))
    await clock.advance(600_000)

    expect(idsOf(outcomes)).toEqual([...ids(10), ...ids(20, 'b')])
    expect(client.requests).toHaveLength(1)
    expect(clock.timerCount).toBe(0)
  })

  test('events that are added from a callback are delivered', async () => {
    const setup = setUpDelivery({
      settings: { flushAt: 1 },
      onSettle: ({ id }) => {
        if (id === 'a1') setup.enqueue('a2')
      },
    })

    setup.enqueue('a1')
    await settled()

    expect(codesOf(setup.outcomes)).toEqual(['delivered', 'delivered'])
  })
})

describe('credentials that can be renewed', () => {
  /** Tokens `token-1`, `token-2`, ... Each is fetched within a turn. */
  function createTokens(limit = Number.POSITIVE_INFINITY) {
    let number = 1
    const refused: string[] = []
    const credentials: TokenCredentials = {
      authorization: async () => {
        if (number > limit) throw new DeliveryError('auth', 'kein Token')
        return `Bearer token-${number}`
      },
      tryOnce: () => 'Bearer trial',
      onAccepted() {},
      onUnauthorized(authorization) {
        refused.push(authorization)
        number++
        return true
      },
      abort() {},
      close() {},
    }
    return { credentials, refused }
  }
  const accepting =
    (token: string): Reply =>
    (request) =>
      status(request.headers['Authorization'] === `Bearer ${token}` ? 200 : 401)(request)

  test('an error in the credentials makes events fail with auth, and is their cause', async () => {
    const cause = new TypeError('kaputt')
    const { credentials } = createTokens()
    const authorization = (): never => {
      throw cause
    }
    const { clock, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1 },
      credentials: { ...credentials, authorization },
    })

    enqueue('a1')
    await clock.advance(0)

    expect(outcomes.map(({ error }) => [error?.code, error?.message, error?.cause])).toEqual([
      ['auth', 'there are no credentials: kaputt', cause],
    ])
  })

  test('after a 401, a new token is fetched, and the batch is sent again at once', async () => {
    const { credentials, refused } = createTokens()
    const { client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxRetries: 0 },
      replies: [accepting('token-2')],
      credentials,
    })

    enqueue('a1')
    await settled()

    expect(codesOf(outcomes)).toEqual(['delivered'])
    expect(refused).toEqual(['Bearer token-1'])
    expect(client.requests.map(({ headers }: SentRequest) => headers['Authorization'])).toEqual([
      'Bearer token-1',
      'Bearer token-2',
    ])
  })

  test('when the new token gets a 401 too, the event fails with auth, without a loop', async () => {
    const { credentials } = createTokens()
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1 },
      replies: [status(401)],
      credentials,
    })

    enqueue('a1')
    await clock.advance(600_000)

    expect(codesOf(outcomes)).toEqual(['auth'])
    expect(client.requests).toHaveLength(2)
  })

  test('when every third request gets a 401, every event is delivered in the end', async () => {
    const { credentials } = createTokens()
    let number = 0
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 4 },
      replies: [(request) => status(++number % 3 === 0 ? 401 : 200)(request)],
      credentials,
    })

    for (let event = 1; event <= 60; event++) {
      enqueue(`a${event}`)
      if (event % 7 === 0) await clock.advance(100)
    }
    await clock.advance(60_000)

    expect(codesOf(outcomes)).toEqual(new Array(60).fill('delivered'))
    expect(client.requests.length).toBeLessThanOrEqual(90)
  })

  test('a batch that is refused with every token, while others are accepted, fails in the end', async () => {
    const { credentials } = createTokens()
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxRetries: 2 },
      replies: [
        (request) =>
          new Promise((resolve) => {
            const isBad = request.messageIds.includes('bad')
            clock.setTimer(() => resolve(status(isBad ? 401 : 200)(request)), isBad ? 250 : 0)
          }),
      ],
      credentials,
    })

    enqueue('bad')
    for (let event = 1; event <= 50; event++) {
      enqueue(`a${event}`)
      await clock.advance(100)
    }

    expect(outcomes.filter(({ error }) => error?.code === 'auth').map(({ id }) => id)).toEqual(['bad'])
    expect(client.requests.filter(({ messageIds }) => messageIds.includes('bad'))).toHaveLength(4)
  })

  test('a 403 is final', async () => {
    const { credentials, refused } = createTokens()
    const { enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1 },
      replies: [status(403)],
      credentials,
    })

    enqueue('a1')
    await settled()

    expect(codesOf(outcomes)).toEqual(['auth'])
    expect(refused).toEqual([])
  })

  test('without credentials the batch fails, and later ones are not delayed', async () => {
    const { credentials } = createTokens(1)
    const { enqueue, client, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 1 },
      replies: [status(401)],
      credentials,
    })

    enqueue('a1')
    await settled()
    enqueue('a2')
    await settled()

    expect(codesOf(outcomes)).toEqual(['auth', 'auth'])
    expect(client.requests).toHaveLength(1)
  })

  test('batches that are abandoned while their token is fetched no longer count as in flight', async () => {
    const tokens: (() => void)[] = []
    const credentials: TokenCredentials = {
      ...createTokens().credentials,
      authorization: () =>
        new Promise((resolve) => {
          tokens.push(() => resolve('Bearer token-1'))
        }),
    }
    const { delivery, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 1 },
      credentials,
    })
    enqueue('a1')
    await settled()
    delivery.abandon(new DeliveryError('shutdown_timeout', 'zu spät'))
    tokens[0]?.()
    await settled()

    enqueue('a2')
    await settled()
    tokens[1]?.()
    await settled()

    expect(codesOf(outcomes)).toEqual(['shutdown_timeout', 'delivered'])
    expect(client.requests.map(({ messageIds }) => messageIds)).toEqual([['a2']])
  })
})
