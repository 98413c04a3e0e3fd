import assert from 'node:assert'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { HTTPResponse } from '../../src/http/client.ts'
import type { Context } from '../../src/pipeline/context.ts'
import type { Journal, Spool } from '../../src/settings/journal.ts'
import { createAnalytics, recordOutcomes, trackPurchases } from '../support/create-analytics.ts'
import { type FakeClock, settled } from '../support/fake-clock.ts'
import { hangUntilAborted, silence, status } from '../support/scripted-client.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()
beforeEach(() => {
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => {
  vi.restoreAllMocks()
})

describe('closeAndFlush and a promise that a callback has returned', () => {
  async function closeWith(work: (clock: FakeClock) => unknown, timeout = 25_000) {
    const { analytics, clock } = createAnalytics()
    analytics.track({ userId: 'ada', event: 'Order Completed' }, () => work(clock) as undefined)
    const closed = vi.fn()
    void analytics.closeAndFlush({ timeout }).then(closed)
    await settled()
    return { clock, closed }
  }
  const after = (clock: FakeClock, ms: number) =>
    new Promise((resolve) => clock.setTimer(() => resolve(1), ms))

  test('it waits until the promise is settled, and keeps the process alive meanwhile', async () => {
    const { clock, closed } = await closeWith((clock) => after(clock, 400))

    await clock.advance(399)
    expect([closed.mock.calls.length, clock.holdCount]).toEqual([0, 1])
    await clock.advance(1)

    expect(closed).toHaveBeenCalledWith({ delivered: 1, failed: 0, pending: 0 })
    expect([clock.holdCount, clock.timerCount]).toEqual([0, 0])
  })

  test.each([
    ['one second', 25_000, 1_000],
    ['its timeout', 300, 300],
  ])('it waits no longer than %s', async (_label, timeout, limitMs) => {
    const { clock, closed } = await closeWith(() => new Promise(() => {}), timeout)

    await clock.advance(limitMs - 1)
    expect(closed).not.toHaveBeenCalled()
    await clock.advance(1)

    expect(closed).toHaveBeenCalledTimes(1)
    expect([clock.holdCount, clock.timerCount]).toEqual([0, 0])
  })

  test.each<[string, () => unknown]>([
    ['a rejected promise', () => Promise.reject(new Error('kaputt'))],
    ['no promise', () => 5],
    ['an object whose then throws', () => Object.defineProperty({}, 'then', { get: () => assert.fail() })],
  ])('it does not wait for %s', async (_label, work) => {
    expect((await closeWith(work)).closed).toHaveBeenCalledTimes(1)
  })
})

describe('flush', () => {
  test('resolves at its timeout with the number of pending events, which are still sent afterwards', async () => {
    const { analytics, clock } = createAnalytics({}, [hangUntilAborted, status(200)])

    trackPurchases(analytics, 2)
    const flushed = analytics.flush({ timeout: 500 })
    await clock.advance(500)

    expect(await flushed).toEqual({ delivered: 0, failed: 0, pending: 2 })
    expect(clock.holdCount).toBe(0)
    await clock.advance(60_000)
    expect(analytics.stats).toMatchObject({ delivered: 2, pending: 0 })
  })

  test('F74: 1,000 at once, and one in each callback that tracks again, all resolve: none waits for later events', async () => {
    const { analytics, client, clock } = createAnalytics()
    let tracked = 500
    let flushed = 0
    const again = (): void => {
      if (tracked++ >= 800) return
      trackPurchases(analytics, 1, again)
      void analytics.flush().then(() => flushed++)
    }
    trackPurchases(analytics, 495)
    trackPurchases(analytics, 5, again)

    const summaries = await Promise.all(Array.from({ length: 1_000 }, () => analytics.flush()))
    expect(new Set(summaries.map(({ delivered }) => delivered))).toEqual(new Set([500]))
    expect(client.requests.length).toBeLessThan(8)
    await clock.advance(1)

    expect(flushed).toBe(300)
    expect(analytics.stats).toMatchObject({ accepted: 800, delivered: 800, pending: 0 })
    expect([clock.timerCount, clock.holdCount]).toEqual([0, 0])
  })

  test.each([
    ['flushInterval', 1],
    ['flushInterval', 10_000],
    ['flushInterval', 2_147_483_647],
    ['flushAt', 1_000_000],
  ])('F73: with %s %d, one timer is set, however many events wait', async (name, value) => {
    const { analytics, clock } = createAnalytics({ [name]: value, maxQueueSize: 1_000_000 })

    for (let turn = 0; turn < 3; turn++) {
      trackPurchases(analytics, 4)
      await settled()
      expect(clock.timerCount).toBe(1)
    }
  })

  test('F73: with flushInterval 5 there is no busy loop while the service is down', async () => {
    const { analytics, client, clock } = createAnalytics({ flushInterval: 5 }, [status(503)])
    const timers = vi.spyOn(clock, 'setTimer')

    for (let event = 0; event < 2_000; event++) {
      trackPurchases(analytics, 1)
      await clock.advance(5)
    }

    expect(client.requests.length).toBeGreaterThan(2)
    // One for each turn would be 2,000.
    expect(timers.mock.calls.length).toBeLessThan(100)
  })

  test('resolves even if the deadline of its only batch passed while the process was suspended', async () => {
    const { analytics, clock } = createAnalytics({ maxTotalBackoffDuration: 1 }, [status(503)])
    trackPurchases(analytics, 15)
    await settled()
    clock.stall(60_000)

    const summary = await analytics.flush()

    expect(summary).toEqual({ delivered: 0, failed: 15, pending: 0 })
    expect(analytics.stats.failures.deadline).toBe(15)
    expect([clock.holdCount, clock.timerCount]).toEqual([0, 0])
  })

  test.each([0, undefined, Number.NaN, '5'])('has no time limit with a timeout of %o', async (timeout) => {
    const { analytics, clock } = createAnalytics({ httpRequestTimeout: 60_000 }, [silence])
    trackPurchases(analytics, 1)
    let isOver = false

    void analytics.flush({ timeout: timeout as number }).then(() => {
      isOver = true
    })
    await clock.advance(59_999)

    expect(isOver).toBe(false)
    expect(clock.holdCount).toBe(1)
    const closing = analytics.closeAndFlush({ timeout: 1 })
    await clock.advance(1)
    await closing
  })

  test.each([-500, -0])('ends at once with a timeout of %d: no time is left', async (timeout) => {
    const { analytics, clock } = createAnalytics({}, [silence])
    trackPurchases(analytics, 1)

    const flushed = analytics.flush({ timeout })
    await clock.advance(0)
    expect(await flushed).toEqual({ delivered: 0, failed: 0, pending: 1 })
    const closed = analytics.closeAndFlush({ timeout })
    await clock.advance(0)

    expect(await closed).toEqual({ delivered: 0, failed: 1, pending: 0 })
  })
})

/** A spool that keeps nothing, and whose `close` never settles. */
function spoolThatHangs(recover: () => []): Spool {
  const journal: Journal = {
    append: (messages) => messages.map(() => undefined),
    settled() {},
    sync: async () => true,
    recover,
    close: () => new Promise(() => {}),
    closeAtExit() {},
  }
  return { open: () => journal }
}

describe('closeAndFlush', () => {
  test.each([
    ['is silent', hangUntilAborted],
    ['responds with 503', status(503)],
  ])(
    'F78: at its timeout gives every event its outcome before it resolves, and leaves nothing: the service %s',
    async (_label, reply) => {
      const { analytics, client, clock } = createAnalytics({ flushAt: 5, maxQueueSize: 100 }, [reply])
      const { outcomes, callback } = recordOutcomes()
      trackPurchases(analytics, 40, callback)
      let atEnd: unknown[] = []
      const closed = analytics.closeAndFlush({ timeout: 1_000 }).then((summary) => {
        atEnd = [clock.timerCount, clock.holdCount, ...outcomes]
        return summary
      })

      await clock.advance(1_000)
      await settled()
      const requests = client.requests.length
      await clock.advance(600_000)

      expect(await closed).toEqual({ delivered: 0, failed: 40, pending: 0 })
      expect(atEnd).toEqual([0, 0, ...new Array(40).fill('shutdown_timeout')])
      expect(client.requests).toHaveLength(requests)
      if (reply === hangUntilAborted)
        expect(client.requests.every(({ signal }) => signal?.aborted)).toBe(true)
    },
  )

  test.each([undefined, Number.NaN, 'bald', null])(
    'gives up after 25 s with a timeout of %s, and warns of a bad one',
    async (timeout) => {
      const { analytics, clock } = createAnalytics({ maxRetries: 100 }, [silence])
      trackPurchases(analytics, 1)

      const warned: unknown[] = []
      analytics.on('warning', ({ code }) => warned.push(code))

      void analytics.closeAndFlush({ timeout: timeout as never })
      await clock.advance(24_999)
      expect(analytics.stats.pending).toBe(1)
      await clock.advance(1)

      expect(warned).toEqual(timeout === undefined ? [] : ['flush'])
      expect(analytics.stats.failures).toMatchObject({ shutdown_timeout: 1 })
    },
  )

  test('F80: returns the same promise when it is called again, also during a flush', async () => {
    const { analytics } = createAnalytics()

    const first = analytics.closeAndFlush()

    expect(analytics.closeAndFlush({ timeout: 1 })).toBe(first)
    expect(analytics.flush({ close: true })).toBe(first)
    await first
  })

  test('F80: later calls emit call_after_close, and fail with closed: also bad ones, even with the setting strict', async () => {
    const { analytics, client } = createAnalytics({ strict: true })
    const submitted: unknown[] = []
    const { outcomes, callback } = recordOutcomes()
    analytics.on('call_after_close', (message) => submitted.push(message))
    await analytics.closeAndFlush()

    analytics.track({ userId: 'usr_Zoë', event: 'trop tard' }, callback)
    expect(() => analytics.track(undefined as never, callback)).not.toThrow()
    await settled()

    expect(submitted[0]).toMatchObject({ type: 'track', event: 'trop tard' })
    expect(outcomes).toEqual(['closed', 'closed'])
    expect(analytics.stats).toMatchObject({ accepted: 2, failed: 2, pending: 0 })
    expect(client.requests).toEqual([])
  })

  test('leaves no timer for a plugin that is still loading or a response body that has not ended', async () => {
    const endless = () => ({ status: 200, statusText: 'OK', text: () => new Promise<string>(() => {}) })
    const { analytics, client, clock } = createAnalytics({}, [endless])
    void analytics.register({ name: 'lent', type: 'destination', load: () => new Promise(() => {}) })
    trackPurchases(analytics, 1)

    const closed = analytics.closeAndFlush()
    // The destination gets its event when it has loaded, for which a plugin has 5 s.
    await clock.advance(5_000)

    expect(await closed).toEqual({ delivered: 1, failed: 0, pending: 0 })
    expect(clock.timerCount).toBe(0)
    expect(client.requests[0]?.signal?.aborted).toBe(true)
  })

  test('leaves the HTTP client of the program open', async () => {
    const close = vi.fn()
    const makeRequest = async (): Promise<HTTPResponse> => ({ status: 200, statusText: 'OK' })
    await createAnalytics({ httpClient: Object.assign({ makeRequest }, { close }) }).analytics.closeAndFlush()

    expect(close).not.toHaveBeenCalled()
  })

  test('recovers nothing more from the spool, and waits at most 5 s for a spool that does not close', async () => {
    const recover = vi.fn((): [] => [])
    const { analytics, clock } = createAnalytics({ spool: spoolThatHangs(recover) })
    let isClosed = false

    void analytics.closeAndFlush().then(() => {
      isClosed = true
    })
    await clock.advance(4_999)
    await settled()
    expect(isClosed).toBe(false)
    await clock.advance(1)
    await settled()

    expect(isClosed).toBe(true)
    expect(recover).not.toHaveBeenCalled()
    expect([clock.holdCount, clock.timerCount]).toEqual([0, 0])
  })
})

test('an event that was given up inside a plugin is not sent when the plugin is done with it', async () => {
  const { analytics, clock, client } = createAnalytics()
  let finish = (): void => {}
  const track = (ctx: Context): Promise<Context> =>
    new Promise((resolve) => {
      finish = () => resolve(ctx)
    })
  await analytics.register({ name: 'slow', type: 'before', isLoaded: () => true, load() {}, track })
  const { outcomes, callback } = recordOutcomes()
  trackPurchases(analytics, 1, callback)

  const gone = vi.fn()
  void analytics.deregister('slow').then(gone)
  void analytics.closeAndFlush({ timeout: 100 })
  await clock.advance(100)
  expect(gone).toHaveBeenCalledTimes(1)
  finish()
  await clock.advance(60_000)

  expect(outcomes).toEqual(['shutdown_timeout'])
  expect(client.requests).toEqual([])
})
