import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createAnalytics, recordOutcomes, trackPurchases } from '../support/create-analytics.ts'
import { settled } from '../support/fake-clock.ts'
import { silence, status } from '../support/scripted-client.ts'

// The build for Cloudflare Workers has this module in the place of the other.
vi.mock('../../src/delivery/lanes.node.ts', () => import('../../src/delivery/lanes.web.ts'))

beforeEach(() => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

/** Twice the time of a request, and five seconds. */
const LOST_MS = 25_000

/** A client that remembers what it hands to the platform. */
function createHandingOver(...args: Parameters<typeof createAnalytics>) {
  const handedOver: { isSettled: boolean }[] = []
  const waitUntil = (promise: Promise<unknown>): void => {
    const one = { isSettled: false }
    handedOver.push(one)
    void promise.then(() => {
      one.isSettled = true
    })
  }
  return { ...createAnalytics({ waitUntil, ...args[0] }, args[1]), handedOver }
}

describe('on Cloudflare Workers', () => {
  test('what one turn tracks is sent at its end, whatever other requests are under way', async () => {
    const { analytics, client } = createHandingOver({ maxConcurrentRequests: 1 }, [silence])

    for (let request = 0; request < 10; request++) {
      trackPurchases(analytics, 3)
      await settled()
    }

    expect(client.batchSizes).toEqual(Array(10).fill(3))
    expect(analytics.status).toMatchObject({ inFlight: 10, queued: 0 })
  })

  test('the promise of one turn does not wait for what another has tracked', async () => {
    const { analytics, handedOver } = createHandingOver({}, [silence, status(200)])
    trackPurchases(analytics, 1)
    await settled()
    trackPurchases(analytics, 1)
    await settled()

    expect(handedOver).toEqual([{ isSettled: false }, { isSettled: true }])
  })

  test('the promise of a turn waits for what it has tracked through asynchronous plugins', async () => {
    const { analytics, handedOver, client } = createHandingOver()
    let release = (): void => {}
    await analytics.register({
      name: 'lent',
      type: 'enrichment',
      track: (ctx) =>
        new Promise((resolve) => {
          release = () => resolve(ctx)
        }),
    })
    trackPurchases(analytics, 1)
    await settled()
    expect(handedOver).toEqual([{ isSettled: false }])

    release()
    await settled()

    expect(client.batchSizes).toEqual([1])
    expect(handedOver).toEqual([{ isSettled: true }])
  })

  test('each lane has its own waits: a retry of one holds up no other', async () => {
    const { analytics, client, clock } = createHandingOver({}, [status(503), status(200)])
    trackPurchases(analytics, 1)
    await settled()
    expect(analytics.status).toMatchObject({ queued: 1, pausedUntil: expect.any(Date) })
    trackPurchases(analytics, 2)
    await settled()
    expect(client.batchSizes).toEqual([1, 2])

    await clock.advance(1_000)

    expect(client.batchSizes).toEqual([1, 2, 1])
    expect(analytics.stats).toMatchObject({ delivered: 3, pending: 0 })
  })

  test('a lane in which nothing happens any more fails its events at the next flush', async () => {
    const { outcomes, callback } = recordOutcomes()
    const { analytics, clock, client } = createHandingOver({ httpRequestTimeout: 10_000 }, [
      silence,
      status(200),
    ])
    trackPurchases(analytics, 2, callback)
    await settled()
    // The runtime has taken its timers away.
    clock.forgetTimers()

    await clock.advance(LOST_MS - 1)
    trackPurchases(analytics, 1)
    await settled()
    expect(outcomes).toEqual([])
    await clock.advance(1)
    trackPurchases(analytics, 1)
    await settled()

    expect(outcomes).toEqual(['shutdown_timeout', 'shutdown_timeout'])
    expect(client.batchSizes).toEqual([2, 1, 1])
    expect(analytics.stats).toMatchObject({ delivered: 2, failed: 2, pending: 0 })
  })

  test('a lane that waits for long, as the service asks, is not given up', async () => {
    const { analytics, clock } = createHandingOver({}, [status(429, { 'Retry-After': '120' }), status(200)])
    trackPurchases(analytics, 1)
    await settled()

    await clock.advance(100_000)
    trackPurchases(analytics, 1)
    await settled()
    expect(analytics.stats).toMatchObject({ delivered: 1, failed: 0, pending: 1 })
    await clock.advance(21_000)

    expect(analytics.stats).toMatchObject({ delivered: 2, failed: 0, pending: 0 })
  })

  test('a flush looks after lanes that were lost while it waits', async () => {
    const { analytics, clock } = createHandingOver({}, [silence])
    trackPurchases(analytics, 1)
    await settled()
    clock.forgetTimers()
    const flushed = analytics.flush()

    await clock.advance(LOST_MS + 1_000)

    expect(await flushed).toEqual({ delivered: 0, failed: 1, pending: 0 })
  })

  test('what is in lanes counts in the bound of the queue', async () => {
    const { outcomes, callback } = recordOutcomes()
    const { analytics } = createHandingOver({ maxQueueSize: 3 }, [silence])
    trackPurchases(analytics, 2, callback)
    await settled()
    trackPurchases(analytics, 2, callback)
    await settled()

    expect(outcomes).toEqual(['queue_full'])
    expect(analytics.stats).toMatchObject({ accepted: 4, failed: 1, pending: 3 })
  })

  test('room in the queue comes back with the outcomes', async () => {
    const { analytics } = createHandingOver({ maxQueueSize: 3 })

    for (let request = 0; request < 20; request++) {
      trackPurchases(analytics, 3)
      await settled()
    }

    expect(analytics.stats).toMatchObject({ delivered: 60, failed: 0 })
  })

  test('without waitUntil, events wait for a flush, flushAt or the interval', async () => {
    const { analytics, client, clock } = createAnalytics({ flushAt: 3 })
    trackPurchases(analytics, 1)
    await settled()
    expect(client.batchSizes).toEqual([])
    trackPurchases(analytics, 2)
    await settled()
    expect(client.batchSizes).toEqual([3])
    trackPurchases(analytics, 1)
    await clock.advance(10_000)
    expect(client.batchSizes).toEqual([3, 1])
    trackPurchases(analytics, 1)
    await settled()

    await analytics.flush()

    expect(client.batchSizes).toEqual([3, 1, 1])
  })

  test('an interval whose timer was taken away is set again', async () => {
    const { analytics, client, clock } = createAnalytics()
    trackPurchases(analytics, 1)
    await settled()
    clock.forgetTimers()
    await clock.advance(15_000)
    expect(client.batchSizes).toEqual([])

    trackPurchases(analytics, 1)
    await clock.advance(10_000)

    expect(client.batchSizes).toEqual([2])
  })

  test('closeAndFlush gives every event its outcome, and leaves no timer', async () => {
    const { analytics, clock } = createHandingOver({}, [silence])
    trackPurchases(analytics, 1)
    await settled()
    trackPurchases(analytics, 2)
    const closed = analytics.closeAndFlush({ timeout: 500 })

    await clock.advance(500)

    expect(await closed).toEqual({ delivered: 0, failed: 3, pending: 0 })
    await settled()
    expect(clock.timerCount).toBe(0)
  })
})
