import { describe, expect, test } from 'vitest'
import type { Credentials } from '../../src/auth/credentials.ts'
import { Deadline } from '../../src/delivery/outage.ts'
import { DeliveryError } from '../../src/errors/errors.ts'
import { codesOf, createEntry, type Entry, ids, idsOf, setUpDelivery } from '../support/create-delivery.ts'
import { settled } from '../support/fake-clock.ts'
import { polluted } from '../support/polluted.ts'
import { hangUntilAborted, networkError, type SentRequest, status } from '../support/scripted-client.ts'

const HOUR_MS = 3_600_000

/** An event that is awaited: it has a callback. */
const awaited = (id: string): Entry => ({ ...createEntry(id), callback: () => {} })
const mostInAMinute = (requests: readonly SentRequest[]): number =>
  Math.max(
    ...requests.map(
      ({ atMs }) => requests.filter((one) => one.atMs >= atMs && one.atMs < atMs + 60_000).length,
    ),
  )
const isBad = ({ messageIds }: SentRequest): boolean => messageIds.some((id) => id.startsWith('bad'))

describe('an outage, with default settings', () => {
  test('of an hour loses no unawaited event, and causes at most 15 requests a minute', async () => {
    let isUp = false
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      replies: [(request) => (isUp ? status(200) : networkError('ECONNREFUSED'))(request)],
    })
    const sentBy: number[] = []

    for (let second = 0; second < 3_600; second++) {
      enqueue(...ids(10, `s${second}-`))
      await clock.advance(1_000)
      if (second % 60 === 59) sentBy.push(client.requests.length)
    }
    expect(outcomes).toEqual([])
    isUp = true
    await clock.advance(75_000)

    const perMinute = sentBy.map((count, minute) => count - (sentBy[minute - 1] ?? 0))
    expect(Math.max(...perMinute)).toBeLessThanOrEqual(15)
    expect(sentBy.at(-1)).toBeGreaterThan(60)
    expect(client.requests.filter(({ batch }) => batch.length === 0)).toEqual([])
    expect(codesOf(outcomes)).toEqual(new Array(36_000).fill('delivered'))
  })

  test('ends awaited events after four failed requests in a row, whether or not these contained them', async () => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { maxEventsInBatch: 2, flushAt: 6, maxConcurrentRequests: 1 },
      replies: [status(503)],
    })

    enqueue(awaited('a1'), 'b1', awaited('a2'), 'b2', awaited('a3'), 'b3')
    await clock.advance(3_000)
    expect(client.requests).toHaveLength(3)
    expect(outcomes).toEqual([])
    await clock.advance(4_000)

    expect(client.requests).toHaveLength(4)
    expect(idsOf(outcomes)).toEqual(['a1', 'a2', 'a3'])
    expect(codesOf(outcomes)).toEqual(['retries_exhausted', 'retries_exhausted', 'retries_exhausted'])
    expect(outcomes.map(({ attempts }) => attempts)).toEqual([4, 0, 0])
    expect(outcomes[0]?.error?.message).toBe('[503] Service Unavailable')
  })

  test('an awaited event that is added during the outage gets four failures of its own', async () => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      replies: [status(503)],
      settings: { flushAt: 1 },
    })

    enqueue('a1')
    await clock.advance(10_000)
    const before = client.requests.length
    enqueue(awaited('late'))
    for (let second = 0; second < 600 && outcomes.length === 0; second++) await clock.advance(1_000)

    expect(idsOf(outcomes)).toEqual(['late'])
    expect(client.requests.length - before).toBe(4)
  })

  test('events count as awaited while a flush waits for them', async () => {
    const { clock, delivery, enqueue, outcomes } = setUpDelivery({ replies: [status(503)] })

    enqueue('a1', 'a2')
    delivery.flush()
    await clock.advance(20_000)
    expect(outcomes).toEqual([])
    const end = delivery.await(1)
    for (let second = 0; second < 600 && outcomes.length === 0; second++) await clock.advance(1_000)
    expect(idsOf(outcomes)).toEqual(['a1'])
    end()
    await clock.advance(HOUR_MS)

    expect(idsOf(outcomes)).toEqual(['a1'])
  })

  test('ends events at their time limit with the code deadline and the last response of the service', async () => {
    const { clock, enqueue, outcomes } = setUpDelivery({
      settings: { maxTotalBackoffDuration: 100, flushAt: 1 },
      replies: [status(503)],
    })

    enqueue('a1')
    await clock.advance(50_000)
    enqueue('a2')
    await clock.advance(51_000)
    expect(idsOf(outcomes)).toEqual(['a1'])
    await clock.advance(120_000)

    expect(codesOf(outcomes)).toEqual(['deadline', 'deadline'])
    expect(outcomes[0]?.error?.message).toContain('[503] Service Unavailable')
  })

  test('also ends the events in flight at their time limit', async () => {
    const late: (() => void)[] = []
    const { clock, enqueue, outcomes } = setUpDelivery({
      settings: { maxTotalBackoffDuration: 100, maxEventsInBatch: 2, httpRequestTimeout: 300_000 },
      replies: [
        status(503),
        status(503),
        status(503),
        (request) => new Promise((resolve) => late.push(() => resolve(status(503)(request)))),
        status(503),
      ],
    })

    enqueue(...ids(4))
    await clock.advance(200_000)
    expect(outcomes).toHaveLength(2)
    late[0]?.()
    await settled()

    expect(codesOf(outcomes)).toEqual(['deadline', 'deadline', 'deadline', 'deadline'])
  })

  test('is reported after some time, and so is its end', async () => {
    const told: string[] = []
    const { clock, enqueue } = setUpDelivery({
      settings: { flushAt: 1 },
      replies: [...new Array(6).fill(status(503)), status(200)],
      told: {
        onOutage: (_durationMs, problem) => told.push(`outage: ${problem}`),
        onRecovery: (durationMs) => told.push(`over after ${durationMs > 20_000}`),
      },
    })

    enqueue('a1')
    await clock.advance(3_000)
    expect(told).toEqual([])
    await clock.advance(120_000)

    expect(told).toEqual(['outage: [503] Service Unavailable', 'over after true'])
  })
})

describe('a number of retries that was set by the user', () => {
  test.each([0, 1, 3])('of %i is taken literally, whether events are awaited or not', async (maxRetries) => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { maxRetries, flushAt: 2 },
      replies: [status(503)],
    })

    enqueue('a1', awaited('a2'))
    await clock.advance(60_000)

    expect(client.requests).toHaveLength(maxRetries + 1)
    expect(codesOf(outcomes)).toEqual(['retries_exhausted', 'retries_exhausted'])
  })
})

describe('an event that the service cannot process', () => {
  test.each([500, 403])('fails alone when it gets %i while others are accepted', async (code) => {
    const { clock, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 5 },
      replies: [(request) => status(isBad(request) ? code : 200)(request)],
    })

    enqueue(...ids(5, 'before'))
    await clock.advance(1_000)
    enqueue(...ids(99), 'bad', ...ids(100, 'b'))
    for (let second = 0; second < 300; second++) {
      enqueue(`later${second}`)
      await clock.advance(1_000)
    }
    await clock.advance(30_000)

    const failed = outcomes.filter(({ error }) => error !== undefined)
    expect(idsOf(failed)).toEqual(['bad'])
    expect(codesOf(failed)).toEqual([code === 403 ? 'auth' : 'retries_exhausted'])
    expect(outcomes).toHaveLength(505)
  })

  test('does not delay the other events, although it looks like an outage', async () => {
    const { clock, enqueue, outcomes } = setUpDelivery({
      settings: { maxEventsInBatch: 10, flushAt: 10 },
      replies: [(request) => status(isBad(request) ? 500 : 200)(request)],
    })

    enqueue('bad', ...ids(9))
    await settled()
    enqueue(...ids(10, 'b'))
    await clock.advance(3_000)

    expect(idsOf(outcomes)).toEqual(expect.arrayContaining(ids(10, 'b')))
  })
})

describe('while the service fails, the next request', () => {
  test('takes an event that was not sent before, already after one failure', async () => {
    const { clock, client, enqueue } = setUpDelivery({
      settings: { flushAt: 1 },
      replies: [status(503), status(200)],
    })

    enqueue('a1')
    await settled()
    enqueue('b1')
    await clock.advance(5_000)

    expect(client.requests.map(({ messageIds }) => messageIds)).toEqual([['a1'], ['b1'], ['a1']])
  })

  test('takes the rest of a halved batch before events whose flush interval has not passed', async () => {
    const { clock, client, delivery, enqueue } = setUpDelivery({
      settings: { flushAt: 20, flushInterval: 60_000 },
      replies: [status(413), status(503), status(200)],
    })

    enqueue(createEntry('a1', 1_000), createEntry('a2', 1_000))
    await settled()
    delivery.flush()
    await settled()
    enqueue('b1')
    await clock.advance(5_000)

    const sent = client.requests.map(({ messageIds }) => messageIds)
    expect(sent.slice(0, 4)).toEqual([['a1', 'a2'], ['a1'], ['a1'], ['a2']])
  })
})

/**
 * With one request at a time, an event that makes its request fail would block all later events. So in a longer outage
 * the client also sends requests without events: if the service accepts them, an event must be the cause.
 */
describe('with strict order, an event that the service cannot process', () => {
  test.each([
    ['accepts requests without events', 200],
    ['refuses requests without events', 400],
    ['responds with 413 to requests without events', 413],
  ])('fails alone where the service %s, and the others keep their order', async (_name, ofEmpty) => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 20, maxConcurrentRequests: 1 },
      replies: [
        (request) => status(isBad(request) ? 500 : request.batch.length === 0 ? ofEmpty : 200)(request),
      ],
    })

    enqueue(...ids(20, 'before'))
    await settled()
    enqueue(...ids(7), 'bad', ...ids(12, 'b'))
    enqueue(...ids(20, 'c'))
    await clock.advance(300_000)

    expect(idsOf(outcomes.filter(({ error }) => error !== undefined))).toEqual(['bad'])
    expect(idsOf(outcomes)).toEqual([
      ...[...ids(20, 'before'), ...ids(7), 'bad', ...ids(12, 'b'), ...ids(20, 'c')],
    ])
    expect(client.mostOpen).toBe(1)
  })

  test('fails alone in the first request of the client too', async () => {
    const { clock, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 2, maxConcurrentRequests: 1 },
      replies: [(request) => status(isBad(request) ? 500 : 200)(request)],
    })

    enqueue('bad', 'a1')
    await clock.advance(300_000)

    expect(idsOf(outcomes)).toEqual(['bad', 'a1'])
    expect(codesOf(outcomes)).toEqual(['retries_exhausted', 'delivered'])
  })

  test.each(['reset', 503, 500] as const)('is not searched for in an outage (%s)', async (fault) => {
    let isOver = false
    const failing = fault === 'reset' ? networkError('ECONNRESET') : status(fault)
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 20, maxConcurrentRequests: 1 },
      replies: [(request) => (isOver ? status(200) : failing)(request)],
    })

    enqueue(...ids(100))
    await clock.advance(HOUR_MS)
    expect(outcomes).toEqual([])
    expect(client.requests.length).toBeLessThanOrEqual(15 * 60)
    isOver = true
    await clock.advance(120_000)

    expect(idsOf(outcomes)).toEqual(ids(100))
    expect(codesOf(outcomes)).toEqual(new Array(100).fill('delivered'))
  })

  test('is given up after its retries, without further requests, where maxRetries was set', async () => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 2, maxConcurrentRequests: 1, maxRetries: 2 },
      replies: [(request) => status(isBad(request) ? 500 : 200)(request)],
    })

    enqueue('bad', 'a1')
    await clock.advance(60_000)

    expect(client.batchSizes).toEqual([2, 2, 2])
    expect(codesOf(outcomes)).toEqual(['retries_exhausted', 'retries_exhausted'])
  })

  test.each([
    ['next to each other', [...ids(3), 'bad1', 'bad2', 'bad3', ...ids(3, 'b')]],
    ['apart', ['bad1', ...ids(3), 'bad2', ...ids(3, 'b'), 'bad3', 'b4']],
  ])(
    'is found even if there are three such events (%s), in one request or in several',
    async (_name, sent) => {
      for (const flushAt of [20, 1]) {
        const { clock, enqueue, outcomes } = setUpDelivery({
          settings: { flushAt, maxConcurrentRequests: 1, flushInterval: 1_000 },
          replies: [(request) => status(isBad(request) ? 500 : 200)(request)],
        })

        enqueue(...sent)
        await clock.advance(HOUR_MS / 2)

        expect(idsOf(outcomes)).toEqual(sent)
        expect(idsOf(outcomes.filter(({ error }) => error !== undefined))).toEqual(['bad1', 'bad2', 'bad3'])
      }
    },
  )

  test('is searched for if requests without events are accepted in an outage, which costs four good events', async () => {
    for (const ofEmpty of [200, 400, 402, 413]) {
      let isOver = true
      const { clock, client, enqueue, outcomes } = setUpDelivery({
        settings: { flushAt: 20, maxConcurrentRequests: 1 },
        replies: [(request) => status(request.batch.length === 0 ? ofEmpty : isOver ? 200 : 503)(request)],
      })

      enqueue(...ids(20, 'before'))
      await settled()
      isOver = false
      enqueue(...ids(100))
      await clock.advance(30_000)
      expect(outcomes).toHaveLength(20)
      await clock.advance(HOUR_MS)
      const lost = outcomes.slice(20)
      expect(lost).toHaveLength(4)
      isOver = true
      await clock.advance(120_000)

      expect(mostInAMinute(client.requests)).toBeLessThanOrEqual(15)
      expect(idsOf(outcomes.slice(20))).toEqual(ids(100))
      expect(codesOf(outcomes.slice(20 + lost.length))).toEqual(
        new Array(100 - lost.length).fill('delivered'),
      )
    }
  })

  test('does not delay the failure of awaited events if requests without events are accepted in an outage', async () => {
    const { clock, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 20, maxConcurrentRequests: 1 },
      replies: [(request) => status(request.batch.length === 0 ? 200 : 503)(request)],
    })

    enqueue('a1', awaited('a2'), 'a3')
    await clock.advance(20_000)

    expect(idsOf(outcomes)).toEqual(['a2'])
  })

  test.each([401, 403, 404, 429])(
    'is not suspected after %i, while requests without events are accepted',
    async (code) => {
      let isOver = true
      const { clock, enqueue, outcomes } = setUpDelivery({
        settings: { flushAt: 1, maxConcurrentRequests: 1 },
        replies: [(request) => status(request.batch.length === 0 || isOver ? 200 : code)(request)],
      })

      enqueue('before')
      await settled()
      isOver = false
      enqueue('a1')
      await clock.advance(HOUR_MS)
      isOver = true
      await clock.advance(120_000)

      expect(codesOf(outcomes)).toEqual(['delivered', 'delivered'])
    },
  )

  test.each([401, 404, 429, 503])(
    'is not suspected while requests without events get %i too',
    async (ofEmpty) => {
      let isOver = true
      const { clock, enqueue, outcomes } = setUpDelivery({
        settings: { flushAt: 1, maxConcurrentRequests: 1 },
        replies: [
          (request) =>
            (request.batch.length === 0
              ? status(ofEmpty, { 'Retry-After': '1' })
              : status(isOver ? 200 : 503))(request),
        ],
      })

      enqueue('before')
      await settled()
      isOver = false
      enqueue(...ids(5))
      await clock.advance(HOUR_MS)
      isOver = true
      await clock.advance(120_000)

      expect(codesOf(outcomes)).toEqual(new Array(6).fill('delivered'))
    },
  )

  test.each([301, 401, 403, 404])(
    'causes few requests where a request without events gets %i',
    async (ofEmpty) => {
      for (const accepted of [0, 1]) {
        const { clock, client, enqueue, outcomes } = setUpDelivery({
          settings: { flushAt: 1, maxConcurrentRequests: 1 },
          replies: [
            (request) => status(request.batch.length === 0 ? ofEmpty : isBad(request) ? 500 : 200)(request),
          ],
        })

        enqueue(...ids(accepted), 'bad')
        await clock.advance(600_000)

        expect(codesOf(outcomes)).toEqual(new Array(accepted).fill('delivered'))
        expect(mostInAMinute(client.requests)).toBeLessThanOrEqual(15)
      }
    },
  )

  test('causes few requests when there is no longer a token', async () => {
    let isGone = false
    const credentials: Credentials = {
      authorization: () => (isGone ? Promise.reject(new DeliveryError('auth', 'no token')) : 'Bearer t'),
      tryOnce: () => 'Bearer t',
      onAccepted() {},
      onUnauthorized: () => false,
      abort() {},
      close() {},
    }
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 1 },
      credentials,
      replies: [status(500)],
    })

    enqueue('a1')
    await clock.advance(20_000)
    isGone = true
    await clock.advance(60_000)

    expect(codesOf(outcomes)).toEqual(['auth'])
    expect(client.requests.length).toBeLessThanOrEqual(15)
  })

  test('does not wait when only requests without events are over a rate limit', async () => {
    let isOver = false
    const { clock, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 1 },
      replies: [
        (request) =>
          (request.batch.length === 0 ? status(429, { 'Retry-After': '1' }) : status(isOver ? 200 : 500))(
            request,
          ),
      ],
    })

    enqueue('a1')
    await clock.advance(20_000)
    isOver = true
    await clock.advance(60_000)

    expect(codesOf(outcomes)).toEqual(['delivered'])
  })

  test('is given up by a close during a request without events, and this request has no effect', async () => {
    const { clock, client, delivery, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxConcurrentRequests: 1 },
      replies: [(request) => (request.batch.length === 0 ? hangUntilAborted : status(500))(request)],
    })

    enqueue('a1')
    while (client.batchSizes.at(-1) !== 0) await clock.advance(1_000)
    const { length } = client.requests
    delivery.abandon(new DeliveryError('shutdown_timeout', 'closed'))
    await clock.advance(HOUR_MS)

    expect(codesOf(outcomes)).toEqual(['shutdown_timeout'])
    expect(client.requests).toHaveLength(length)
    expect(delivery.trouble('retries_exhausted')?.message).toBe('[500] Internal Server Error')
    expect(clock.timerCount).toBe(0)
    expect(delivery.inFlight).toBe(0)
  })
})

describe.each([301, 401, 403, 404, 405])('%i, which concerns the address or the credentials', (code) => {
  const name = code === 401 || code === 403 ? 'auth' : 'rejected'

  test('makes events fail at once if the service has not accepted anything before', async () => {
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 2 },
      replies: [status(code)],
    })

    enqueue('a1', awaited('a2'))
    await clock.advance(0)

    expect(client.requests).toHaveLength(1)
    expect(codesOf(outcomes)).toEqual([name, name])
  })

  test('makes events wait if the service accepted one before, is reported once, and sets the code of their failure', async () => {
    const refusals: string[] = []
    const { clock, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1, maxTotalBackoffDuration: 3_600 },
      replies: [status(200), status(code)],
      told: { onRefusal: (problem) => refusals.push(problem) },
    })

    enqueue('first')
    await clock.advance(0)
    enqueue('a1', awaited('a2'))
    await clock.advance(60_000)
    expect(codesOf(outcomes)).toEqual(['delivered', name])
    await clock.advance(HOUR_MS)

    expect(idsOf(outcomes)).toEqual(['first', 'a2', 'a1'])
    expect(codesOf(outcomes)).toEqual(['delivered', name, name])
    expect(refusals).toHaveLength(1)
    expect(refusals[0]).toContain(`[${code}]`)
  })

  test('loses nothing if it ends before the time limit of the events', async () => {
    const { clock, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 1 },
      replies: [status(200), ...new Array(8).fill(status(code)), status(200)],
    })

    enqueue('first')
    await clock.advance(0)
    enqueue(...ids(20))
    await clock.advance(600_000)

    expect(codesOf(outcomes)).toEqual(new Array(21).fill('delivered'))
  })
})

describe('a deadline', () => {
  test('says which events have waited too long, until end() is called', () => {
    const deadline = new Deadline(1_000)
    expect(deadline.nextMs).toBe(Number.POSITIVE_INFINITY)

    deadline.begin(5, 100)
    deadline.begin(5, 500)
    deadline.begin(9, 600)

    expect(deadline.nextMs).toBe(1_100)
    expect(deadline.expiredUpTo(1_099)).toBe(0)
    expect(deadline.expiredUpTo(1_100)).toBe(5)
    expect(deadline.expiredUpTo(1_599)).toBe(5)
    expect(deadline.expiredUpTo(2_000)).toBe(9)
    deadline.begin(9, 2_100)
    expect(deadline.nextMs).toBe(Number.POSITIVE_INFINITY)
    deadline.end()
    expect(deadline.expiredUpTo(3_000)).toBe(0)
  })

  test('treats events that begin to wait within a thousandth of the limit as one', () => {
    const deadline = new Deadline(1_000)

    deadline.begin(5, 100)
    deadline.begin(6, 100.9)
    deadline.begin(7, 101)

    expect([deadline.expiredUpTo(1_100), deadline.expiredUpTo(1_101)]).toEqual([6, 7])
  })

  test('keeps about 1,000 points in time for 100,000 events', () => {
    const deadline = new Deadline(1_000_000)

    for (let ms = 0; ms < 1_000_000; ms += 10) deadline.begin(ms, ms)

    let marks = 0
    for (; deadline.nextMs !== Number.POSITIVE_INFINITY; marks++) deadline.expiredUpTo(deadline.nextMs)
    expect(marks).toBeGreaterThan(900)
    expect(marks).toBeLessThanOrEqual(1_001)
  })
})

test.each(['0', '1', '-1'])(
  'a property %s of Object.prototype does not change the course of an outage',
  async (name) => {
    const pass = async () => {
      const { clock, client, delivery, enqueue, outcomes } = setUpDelivery({
        settings: { flushAt: 2, maxTotalBackoffDuration: 60 },
        replies: [status(503), status(429, { 'retry-after': '2' }), status(503), status(413), status(200)],
      })
      enqueue('a1', awaited('a2'), 'a3')
      await clock.advance(30_000)
      client.answerWith(status(503))
      enqueue('b1', awaited('b2'))
      delivery.flush()
      await clock.advance(120_000)
      return {
        outcomes: outcomes.map(({ id, error }) => [id, error?.code]),
        sentAt: client.requests.map(({ atMs }) => atMs),
        timers: clock.timerCount,
      }
    }
    const expected = await pass()
    expect(expected.outcomes).toHaveLength(5)

    expect(await polluted(name, pass)).toEqual(expected)
  },
)
