import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { HTTPFetchFn } from '../../src/http/client.ts'
import type { Context } from '../../src/pipeline/context.ts'
import type { Signer } from '../../src/settings/signer.ts'
import { createAnalytics, recordOutcomes, trackPurchases } from '../support/create-analytics.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { silence, status } from '../support/scripted-client.ts'

// The build for Cloudflare Workers uses requests.web.ts instead of requests.node.ts, and so do these tests.
vi.mock('../../src/client/requests.node.ts', () => import('../../src/client/requests.web.ts'))

/** The request whose code runs now; 0 outside of all requests. */
let current: number

beforeEach(() => {
  current = 0
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
  vi.stubGlobal(
    'WebSocketPair',
    class {
      readonly 0: { readonly readyState: number }

      constructor() {
        if (current === 0) throw new Error('Disallowed operation called within global scope.')
        const owner = current
        this[0] = {
          get readyState() {
            if (owner !== current) throw new Error('Cannot perform I/O on behalf of a different request.')
            return 1
          },
        }
      }
    },
  )
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

/** A clock whose timers belong to the request that set them, and end with that request. */
class RequestClock extends FakeClock {
  readonly #ended = new Set<number>()
  readonly #set = new Set<{ readonly atMs: number; fire(): void }>()

  override setTimer(run: () => void, ms: number): () => void {
    if (current === 0) throw new Error('Disallowed operation called within global scope.')
    const owner = current
    const timer = { atMs: this.monotonic() + ms, fire: (): void => {} }
    const cancel = super.setTimer(() => timer.fire(), ms)
    timer.fire = () => {
      cancel()
      if (!this.#set.delete(timer) || this.#ended.has(owner)) return
      current = owner
      run()
    }
    this.#set.add(timer)
    return () => {
      cancel()
      this.#set.delete(timer)
    }
  }

  /** Fires all timers that are due, in reverse: the newest fires first. workerd may do this after it has been busy. */
  async fireReversed(): Promise<void> {
    for (const { atMs, fire } of [...this.#set].reverse()) {
      if (atMs <= this.monotonic()) fire()
    }
    await settled()
  }

  end(request: number): void {
    this.#ended.add(request)
  }
}

function createWorker(...[settings, replies]: Parameters<typeof createAnalytics>) {
  const handedOver: { isSettled: boolean }[] = []
  const waitUntil = (promise: Promise<unknown>): void => {
    const one = { isSettled: false }
    handedOver.push(one)
    void promise.then(() => {
      one.isSettled = true
    })
  }
  const clock = new RequestClock()
  const { analytics, client } = createAnalytics({ waitUntil, ...settings }, replies, clock)
  return { analytics, client, clock, handedOver }
}

const WITHOUT_WAIT_UNTIL = { waitUntil: undefined }

/** Runs code within one request, and then everything that is ready because of it. */
async function inRequest(request: number, run: () => unknown): Promise<void> {
  current = request
  run()
  await settled()
}

/** A request that lives for this many milliseconds notices that other requests have ended. */
const LOST_MS = 6_000
/** This many later requests, each of which lives for 10 ms, notice that a request has ended. */
const SHORT_REQUESTS = 60
/** Of this many requests, each ending immediately, the later ones notice that some of the earlier ones have ended. */
const CARELESS_REQUESTS = 1_100

describe('on Cloudflare Workers', () => {
  test('the events of one turn are sent at its end, even while events of other requests are in flight', async () => {
    const { analytics, client } = createWorker({ maxConcurrentRequests: 1 }, [silence])

    for (let request = 1; request <= 10; request++) {
      await inRequest(request, () => trackPurchases(analytics, 3))
    }

    expect(client.batchSizes).toEqual(Array(10).fill(3))
    expect(analytics.status).toMatchObject({ inFlight: 10, queued: 0 })
    expect(analytics.stats).toMatchObject({ accepted: 30, pending: 30 })
  })

  test('a call with a callback is sent at the end of its turn, without the queued events of other requests', async () => {
    const { analytics, client } = createWorker(WITHOUT_WAIT_UNTIL)
    const { outcomes, callback } = recordOutcomes()
    await inRequest(1, () => trackPurchases(analytics, 2))

    await inRequest(2, () => trackPurchases(analytics, 1, callback))

    expect(client.batchSizes).toEqual([1])
    expect(outcomes).toEqual(['delivered'])
  })

  test('a flush waits for the events of its own request, and for no others', async () => {
    const { analytics } = createWorker(WITHOUT_WAIT_UNTIL, [silence, status(200)])
    await inRequest(1, () => {
      trackPurchases(analytics, 1)
      void analytics.flush()
    })
    const summaries: unknown[] = []

    await inRequest(2, () => {
      trackPurchases(analytics, 2)
      void analytics.flush().then((summary) => summaries.push(summary))
    })
    await inRequest(3, () => void analytics.flush().then((summary) => summaries.push(summary)))

    expect(summaries).toEqual([
      { delivered: 2, failed: 0, pending: 0 },
      { delivered: 0, failed: 0, pending: 0 },
    ])
    expect(analytics.stats).toMatchObject({ delivered: 2, pending: 1 })
  })

  test('a later turn of a request can flush the events of an earlier turn', async () => {
    const { analytics, client } = createWorker(WITHOUT_WAIT_UNTIL)
    for (const request of [1, 2, 3]) await inRequest(request, () => trackPurchases(analytics, request))
    const summaries: unknown[] = []

    await inRequest(2, () => void analytics.flush().then((summary) => summaries.push(summary)))

    expect(summaries).toEqual([{ delivered: 2, failed: 0, pending: 0 }])
    expect(client.batchSizes).toEqual([2])
    expect(analytics.status.queued).toBe(4)
  })

  test('the promise for waitUntil does not wait for the events of another request', async () => {
    const { analytics, handedOver } = createWorker({}, [silence, status(200)])
    await inRequest(1, () => trackPurchases(analytics, 1))

    await inRequest(2, () => trackPurchases(analytics, 1))

    expect(handedOver).toEqual([{ isSettled: false }, { isSettled: true }])
  })

  test('the promise for waitUntil waits for events of its turn that are inside asynchronous plugins', async () => {
    const { analytics, handedOver, client } = createWorker()
    let release = (): void => {}
    await analytics.register({
      name: 'lent',
      type: 'enrichment',
      track: (ctx) =>
        new Promise((resolve) => {
          release = () => resolve(ctx)
        }),
    })
    await inRequest(1, () => trackPurchases(analytics, 1))
    expect(handedOver).toEqual([{ isSettled: false }])

    release()
    await settled()

    expect(client.batchSizes).toEqual([1])
    expect(handedOver).toEqual([{ isSettled: true }])
  })

  test('a retry of events of one request does not delay the events of another request', async () => {
    const { analytics, client, clock } = createWorker({}, [status(503), status(200)])
    await inRequest(1, () => trackPurchases(analytics, 1))
    expect(analytics.status).toMatchObject({ queued: 1, pausedUntil: expect.any(Date) })
    await inRequest(2, () => trackPurchases(analytics, 2))
    expect(client.batchSizes).toEqual([1, 2])

    await clock.advance(1_000)

    expect(client.batchSizes).toEqual([1, 2, 1])
    expect(analytics.stats).toMatchObject({ delivered: 3, pending: 0 })
  })

  test('when a request ends early, only its own events fail, as soon as another request notices the end', async () => {
    const { outcomes, callback } = recordOutcomes()
    const { analytics, clock, client } = createWorker({}, [silence, status(200)])
    await inRequest(1, () => trackPurchases(analytics, 2, callback))
    clock.end(1)

    await inRequest(2, () => trackPurchases(analytics, 1))
    expect(analytics.stats).toMatchObject({ delivered: 1, pending: 2 })
    for (let request = 3; request <= SHORT_REQUESTS; request++) {
      await inRequest(request, () => trackPurchases(analytics, 1))
      await clock.advance(10)
    }

    expect(outcomes).toEqual(['shutdown_timeout', 'shutdown_timeout'])
    expect(client.batchSizes).toEqual([2, ...Array(SHORT_REQUESTS - 1).fill(1)])
    expect(analytics.stats).toMatchObject({ delivered: SHORT_REQUESTS - 1, failed: 2, pending: 0 })
  })

  test('when every request ends immediately, later requests still notice that some earlier ones have ended', async () => {
    const { analytics, clock } = createWorker({}, [silence])
    for (let request = 1; request <= CARELESS_REQUESTS; request++) {
      await inRequest(request, () => trackPurchases(analytics, 1))
      clock.end(request)
    }

    const { failed, failures, pending } = analytics.stats
    expect(failures.shutdown_timeout).toBe(failed)
    expect(failed).toBeGreaterThan(0)
    expect(pending).toBeGreaterThanOrEqual(1_000)
  })

  test('a request that waits notices that another request has ended', async () => {
    const { outcomes, callback } = recordOutcomes()
    const { analytics, clock } = createWorker({ httpRequestTimeout: 60_000 }, [silence])
    await inRequest(1, () => trackPurchases(analytics, 1, callback))
    clock.end(1)
    await inRequest(2, () => trackPurchases(analytics, 1))

    await clock.advance(LOST_MS)

    expect(outcomes).toEqual(['shutdown_timeout'])
    expect(analytics.stats).toMatchObject({ failed: 1, pending: 1 })
  })

  test('when a callback of an ended request tracks an event, the event belongs to the request that noticed the end', async () => {
    const { analytics, clock, client } = createWorker({}, [silence, status(200)])
    await inRequest(1, () => trackPurchases(analytics, 1, () => trackPurchases(analytics, 3)))
    clock.end(1)

    for (let request = 2; request <= SHORT_REQUESTS; request++) {
      await inRequest(request, () => trackPurchases(analytics, 1))
      await clock.advance(10)
    }

    expect(client.batchSizes).toContain(3)
    expect(analytics.stats).toMatchObject({ delivered: SHORT_REQUESTS + 2, failed: 1, pending: 0 })
  })

  test('the events of a request that waits for a long Retry-After are not given up', async () => {
    const { analytics, clock } = createWorker({}, [status(429, { 'Retry-After': '120' }), status(200)])
    await inRequest(1, () => trackPurchases(analytics, 1))

    await clock.advance(100_000)
    await inRequest(2, () => trackPurchases(analytics, 1))
    expect(analytics.stats).toMatchObject({ delivered: 1, failed: 0, pending: 1 })
    await clock.advance(21_000)

    expect(analytics.stats).toMatchObject({ delivered: 2, failed: 0, pending: 0 })
  })

  test('requests are not given up when a busy runtime fires their timers late and in reverse order', async () => {
    const { analytics, clock } = createWorker({ httpRequestTimeout: 6_000_000 }, [silence])
    for (let request = 1; request <= 100; request++) {
      await inRequest(request, () => trackPurchases(analytics, 1))
      clock.stall(60_000)
    }

    for (let rounds = 1; rounds <= 20; rounds++) {
      await clock.fireReversed()
      clock.stall(60_000)
    }
    await clock.advance(1_000)

    expect(analytics.stats).toMatchObject({ failed: 0, pending: 100 })
  })

  test.each([200, 340])(
    'after %d requests without a timer, a flush in the first request still sends its event',
    async (count) => {
      const { analytics, clock, client } = createWorker(WITHOUT_WAIT_UNTIL)
      for (let request = 1; request <= count; request++) {
        await inRequest(request, () => trackPurchases(analytics, 1))
        clock.stall(60_000)
      }

      await inRequest(1, () => void analytics.flush())

      expect(client.batchSizes).toEqual([1])
      expect(analytics.stats).toMatchObject({ delivered: 1, failed: 0 })
    },
  )

  test('the limit of the queue applies to each request alone: events of ended requests take no room', async () => {
    const { outcomes, callback } = recordOutcomes()
    const { analytics, clock } = createWorker({ maxQueueSize: 3 }, [silence, status(200)])
    await inRequest(1, () => trackPurchases(analytics, 4, callback))
    expect(outcomes).toEqual(['queue_full'])
    clock.end(1)

    await inRequest(2, () => trackPurchases(analytics, 3))

    expect(analytics.stats).toMatchObject({ delivered: 3, failed: 1, pending: 3 })
  })

  test('without waitUntil, events wait for a flush, for flushAt or for the interval of their own request', async () => {
    const { analytics, client, clock } = createWorker({ ...WITHOUT_WAIT_UNTIL, flushAt: 3 })
    await inRequest(1, () => trackPurchases(analytics, 2))
    await inRequest(2, () => trackPurchases(analytics, 2))
    expect(client.batchSizes).toEqual([])
    await inRequest(2, () => trackPurchases(analytics, 1))
    expect(client.batchSizes).toEqual([3])
    await clock.advance(10_000)
    expect(client.batchSizes).toEqual([3, 2])
    await inRequest(3, () => trackPurchases(analytics, 1))

    await inRequest(3, () => void analytics.flush())

    expect(client.batchSizes).toEqual([3, 2, 1])
  })

  test('scopes and detached promises belong to the request that calls them', async () => {
    const { analytics, client } = createWorker(WITHOUT_WAIT_UNTIL)
    const scope = analytics.with({ userId: 'usr_Zoë' })
    const { promises } = analytics
    await inRequest(1, () => scope.track({ event: 'Page Viewed' }))
    const delivered: unknown[] = []

    await inRequest(2, () => {
      scope.track({ event: 'Basket Filled' })
      void promises
        .track({ userId: 'usr_Zoë', event: 'Order Completed' })
        .then(() => delivered.push('promise'))
      void scope.flush().then((summary) => delivered.push(summary))
    })

    expect(client.batchSizes).toEqual([2])
    expect(delivered).toEqual(['promise', { delivered: 2, failed: 0, pending: 0 }])
    expect(analytics.stats).toMatchObject({ delivered: 2, pending: 1 })
  })

  test('drained is emitted when no request has pending events any more', async () => {
    const { analytics, clock } = createWorker({}, [status(503), status(200)])
    let drained = 0
    analytics.on('drained', () => drained++)
    await inRequest(1, () => trackPurchases(analytics, 1))
    await inRequest(2, () => trackPurchases(analytics, 1))
    expect(drained).toBe(0)

    await clock.advance(1_000)

    expect(drained).toBe(1)
  })

  test('an outage is reported once, not by each request', async () => {
    const { analytics, clock } = createWorker({}, [status(503)])
    const warnings: string[] = []
    analytics.on('warning', ({ reason }) => warnings.push((reason as Error).message))

    for (let request = 1; request <= 5; request++) {
      await inRequest(request, () => trackPurchases(analytics, 1))
    }
    await clock.advance(30_000)

    expect(warnings).toEqual([expect.stringContaining('Events that wait: 5.')])
  })

  test('no request waits for a token that another request has asked for', async () => {
    const signer: Signer = { algorithm: 'RS256', sign: async () => new Uint8Array(256) }
    const asked: ((response: Response) => void)[] = []
    const httpClient: HTTPFetchFn = () => new Promise((resolve) => asked.push(resolve))
    // Waits in real time: the fake clock cannot make the code for tokens load.
    const untilAsked = (count: number): Promise<void> =>
      vi.waitFor(() => expect(asked).toHaveLength(count), { timeout: 10_000, interval: 5 })
    const { analytics } = createWorker({
      oauthSettings: { clientId: 'id', keyId: 'key', signer, httpClient },
    })
    await inRequest(1, () => trackPurchases(analytics, 1))
    await untilAsked(1)

    await inRequest(2, () => trackPurchases(analytics, 2))
    await untilAsked(2)
    asked[1]?.(Response.json({ access_token: 'token', expires_in: 3_600, token_type: 'Bearer' }))

    await vi.waitFor(() => expect(analytics.stats).toMatchObject({ delivered: 2, pending: 1 }))
  })

  test('a plugin that is registered outside of all requests is loaded there, and used in all requests', async () => {
    const { analytics, client } = createWorker()
    const seen: string[] = []
    const track = ({ id }: Context): void => void seen.push(id)
    await analytics.register({ name: 'seen', type: 'enrichment', load: async () => {}, track })

    for (const request of [1, 2, 3]) await inRequest(request, () => trackPurchases(analytics, 1))

    expect(seen).toHaveLength(3)
    expect(client.batchSizes).toEqual([1, 1, 1])
  })

  test('a plugin that one request registers is used in the others, which wait for it with their own timers', async () => {
    const { analytics, client, clock } = createWorker()
    let load = (): void => {}
    const loading = new Promise<void>((resolve) => {
      load = resolve
    })
    await inRequest(1, () => void analytics.register({ name: 'slow', type: 'before', load: () => loading }))
    await inRequest(2, () => trackPurchases(analytics, 1))
    expect(client.batchSizes).toEqual([])

    await inRequest(1, load)
    expect(client.batchSizes).toEqual([])
    await clock.advance(100)

    expect(client.batchSizes).toEqual([1])
  })

  test('a plugin whose request ended during its load is left out, and other requests do not wait for it for ever', async () => {
    const { analytics, client, clock } = createWorker()
    const failures: unknown[] = []
    analytics.on('warning', ({ plugin, reason }) => failures.push([plugin, (reason as Error).message]))
    const never = new Promise<void>(() => {})
    await inRequest(1, () => void analytics.register({ name: 'slow', type: 'before', load: () => never }))
    clock.end(1)
    await inRequest(2, () => trackPurchases(analytics, 1))

    await clock.advance(11_000)

    expect(client.batchSizes).toEqual([1])
    expect(failures).toEqual([['slow', expect.stringContaining('the request that registered it has ended')]])
  })

  test('plugins get the events of 2,000 requests that end before their events are sent', async () => {
    const { analytics, client, clock } = createWorker()
    await analytics.register({ name: 'seen', type: 'before', track: (ctx) => ctx })

    for (let request = 1; request <= 2_000; request++) {
      current = request
      trackPurchases(analytics, 1)
      for (let microtasks = 0; microtasks < 10; microtasks++) await undefined
      clock.end(request)
    }
    await settled()

    expect(client.batchSizes).toHaveLength(2_000)
  })

  test('after closeAndFlush new events are refused, and events that other requests have in flight are still delivered', async () => {
    const { outcomes, callback } = recordOutcomes()
    const { analytics, clock } = createWorker({}, [status(503), silence, status(200)])
    await inRequest(1, () => trackPurchases(analytics, 1))
    const summaries: unknown[] = []
    await inRequest(2, () => {
      trackPurchases(analytics, 2)
      void analytics.closeAndFlush({ timeout: 500 }).then((summary) => summaries.push(summary))
    })
    await inRequest(3, () => trackPurchases(analytics, 1, callback))
    expect(outcomes).toEqual(['closed'])

    await clock.advance(1_000)

    expect(summaries).toEqual([{ delivered: 0, failed: 2, pending: 0 }])
    expect(analytics.stats).toMatchObject({ delivered: 1, failed: 3, pending: 0 })
    expect(clock.timerCount).toBe(0)
  })

  test('where requests cannot be distinguished, all code counts as one request', async () => {
    vi.stubGlobal('WebSocketPair', undefined)
    const { analytics, client } = createWorker(WITHOUT_WAIT_UNTIL)
    await inRequest(1, () => trackPurchases(analytics, 2))

    await inRequest(2, () => void analytics.flush())

    expect(client.batchSizes).toEqual([2])
  })
})
