import assert from 'node:assert'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { HTTPFetchFn, HTTPResponse } from '../../src/http/client.ts'
import type { Spool, SpoolClient, SpoolConnection } from '../../src/line/spool.ts'
import type { Context } from '../../src/pipeline/context.ts'
import type { Signer } from '../../src/settings/signer.ts'
import { createAnalytics, recordOutcomes, trackPurchases } from '../support/create-analytics.ts'
import { FakeClock, settled, untilSeen } from '../support/fake-clock.ts'
import { silence, status } from '../support/scripted-client.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()
beforeEach(() => {
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => {
  vi.restoreAllMocks()
})

describe('closeAndFlush and a promise that a callback has returned', () => {
  async function closeWith(work: (clock: FakeClock) => unknown, timeout = 75_000) {
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
    ['one second', 75_000, 1_000],
    ['its timeout', 300, 300],
  ])('it waits no longer than %s', async (_label, timeout, limitMs) => {
    const { clock, closed } = await closeWith(() => new Promise(() => {}), timeout)

    await clock.advance(limitMs - 1)
    expect(closed).not.toHaveBeenCalled()
    await clock.advance(1)

    expect(closed).toHaveBeenCalledTimes(1)
    expect([clock.holdCount, clock.timerCount]).toEqual([0, 0])
  })

  test('it waits for one promise although another one is rejected meanwhile', async () => {
    const { analytics, clock } = createAnalytics()
    const event = { userId: 'ada', event: 'Order Completed' }
    analytics.track(event, () => after(clock, 100).then(() => assert.fail()) as never)
    analytics.track(event, () => after(clock, 400) as never)
    const closed = vi.fn()
    void analytics.closeAndFlush().then(closed)
    await settled()

    await clock.advance(399)
    expect(closed).not.toHaveBeenCalled()
    await clock.advance(1)

    expect(closed).toHaveBeenCalledTimes(1)
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
  test('resolves even if the deadline of its only batch passed while the process was suspended', async () => {
    const { analytics, clock } = createAnalytics({ maxTotalBackoffDuration: 1 }, [status(503)])
    const { outcomes, callback } = recordOutcomes()
    trackPurchases(analytics, 15, callback)
    await settled()
    clock.stall(60_000)

    const summary = await analytics.flush()

    expect(summary).toEqual({ delivered: 0, failed: 15, pending: 0 })
    expect(new Set(outcomes)).toEqual(new Set(['deadline']))
    expect([clock.holdCount, clock.timerCount]).toEqual([0, 0])
  })

  test('ignores options that throw when they are read, and so does closeAndFlush', async () => {
    const { analytics } = createAnalytics()
    const options = {
      get timeout(): number {
        throw new Error('cassé')
      },
    }
    trackPurchases(analytics, 1)

    expect(await analytics.flush(options)).toEqual({ delivered: 1, failed: 0, pending: 0 })
    expect(await analytics.closeAndFlush(options)).toEqual({ delivered: 0, failed: 0, pending: 0 })
  })

  test.each([
    ['flush', 5_000],
    ['closeAndFlush', 5_000],
  ] as const)(
    '%s sets no timer for its timeout when all events end before it waits',
    async (method, timeout) => {
      const { analytics, clock } = createAnalytics({ maxTotalBackoffDuration: 1 }, [status(503)])
      trackPurchases(analytics, 15)
      await settled()
      clock.stall(60_000)

      await analytics[method]({ timeout })

      expect([clock.holdCount, clock.timerCount]).toEqual([0, 0])
    },
  )

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

  test('takes a callback, as earlier SDKs did', async () => {
    const { analytics } = createAnalytics()
    const summaries: unknown[] = []

    trackPurchases(analytics, 2)
    await analytics.flush((...args) => summaries.push(args))
    trackPurchases(analytics, 1)
    await analytics.closeAndFlush((...args) => summaries.push(args))

    expect(summaries).toEqual([
      [undefined, { delivered: 2, failed: 0, pending: 0 }],
      [undefined, { delivered: 1, failed: 0, pending: 0 }],
    ])
  })

  test('causes a warning when its callback throws', async () => {
    const { analytics } = createAnalytics()
    const warnings: string[] = []
    analytics.on('warning', ({ code }) => warnings.push(code))

    await analytics.flush(() => {
      throw new Error('non')
    })

    expect(warnings).toEqual(['callback'])
  })
})

/** A spool that keeps its events in memory, and whose `close` never settles. */
function spoolThatHangs(pause: () => void): Spool {
  const attach = ({ memory }: SpoolClient): SpoolConnection => ({
    length: 0,
    put: (json) => memory.put(json),
    keep() {},
    has: () => true,
    read: (message) => memory.read(message),
    copy: (holders, target, at) => memory.copy(holders, target, at),
    release: (message) => memory.release(message),
    spill: () => false,
    refill() {},
    secure: async () => true,
    defer: () => false,
    pause,
    abandon() {},
    close: () => new Promise(() => {}),
  })
  return { attach } as Partial<Spool> as Spool
}

describe('closeAndFlush', () => {
  test('waits without a time limit when its timeout is 0', async () => {
    let answer = (): void => {}
    const { analytics, clock } = createAnalytics({ httpRequestTimeout: 1_000_000 }, [
      () =>
        new Promise((resolve) => {
          answer = () => resolve({ status: 200, statusText: 'OK' })
        }),
    ])
    trackPurchases(analytics, 1)

    const closing = analytics.closeAndFlush({ timeout: 0 })
    await clock.advance(500_000)
    answer()

    expect(await closing).toEqual({ delivered: 1, failed: 0, pending: 0 })
  })

  test('recovers nothing more from the spool, and waits at most 5 s for a spool that does not close', async () => {
    const pause = vi.fn()
    const { analytics, clock } = createAnalytics({ spool: spoolThatHangs(pause) })
    let isClosed = false

    void analytics.closeAndFlush().then(() => {
      isClosed = true
    })
    expect(pause).toHaveBeenCalledTimes(1)
    await clock.advance(4_999)
    await settled()
    expect(isClosed).toBe(false)
    await clock.advance(1)
    await settled()

    expect(isClosed).toBe(true)
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

  void analytics.closeAndFlush({ timeout: 100 })
  await clock.advance(100)
  finish()
  await clock.advance(60_000)

  expect(outcomes).toEqual(['shutdown_timeout'])
  expect(client.requests).toEqual([])
})

describe('a client with access tokens', () => {
  /** A client whose tokens come from `httpClient`, which does not check the assertions. */
  function createWithTokens(httpClient: HTTPFetchFn, exitTimeout?: number) {
    const signer: Signer = { algorithm: 'RS256', sign: async () => new Uint8Array(256) }
    const oauthSettings = { clientId: 'id', keyId: 'key', signer, httpClient }
    return createAnalytics({ oauthSettings, flushAt: 1, ...(exitTimeout !== undefined && { exitTimeout }) })
  }
  /** Waits in real time: the fake clock cannot make the code for tokens load. */
  const untilAsked = (asked: readonly unknown[]): Promise<void> =>
    vi.waitFor(() => expect(asked).toHaveLength(1), { timeout: 60_000, interval: 5 })

  test('renews none once it is closed', async () => {
    const asked: string[] = []
    const { analytics, clock } = createWithTokens(async (url) => {
      asked.push(url)
      return new Response(JSON.stringify({ access_token: 'tok', expires_in: 3_600 }))
    })
    trackPurchases(analytics, 1)
    await untilAsked(asked)
    await analytics.flush()
    expect(clock.timerCount).toBe(1)

    await analytics.closeAndFlush()

    expect([clock.timerCount, analytics.stats.delivered]).toEqual([0, 1])
  })

  test('gives up its token request when the process ends', async () => {
    const signals: AbortSignal[] = []
    const { analytics } = createWithTokens((_, { signal }) => {
      signals.push(signal)
      return new Promise(() => {})
    }, 0)
    trackPurchases(analytics, 1)
    await untilAsked(signals)
    const beforeExit = process.listeners('beforeExit')[0] as () => void

    beforeExit()
    await untilSeen()

    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    expect(analytics.stats.failures.shutdown_timeout).toBe(1)
  })
})

describe('the end of the process', () => {
  test('a second beforeExit during the wait for events starts no second wait', async () => {
    const { analytics, clock } = createAnalytics({}, [silence])
    trackPurchases(analytics, 1)
    const beforeExit = process.listeners('beforeExit')[0] as () => void

    for (let round = 0; round < 2; round++) {
      beforeExit()
      await untilSeen()
      await settled()
      expect(clock.holdCount).toBe(1)
    }

    void analytics.closeAndFlush({ timeout: 1 })
    await clock.advance(1)
    expect(clock.holdCount).toBe(0)
  })

  test('the client recovers nothing more from the spool while it waits for events', async () => {
    const pause = vi.fn()
    const { analytics } = createAnalytics({ spool: spoolThatHangs(pause) }, [silence])
    trackPurchases(analytics, 1)
    expect(pause).not.toHaveBeenCalled()

    for (const listener of process.listeners('beforeExit')) listener(0)
    await untilSeen()

    expect(pause).toHaveBeenCalledTimes(1)
    void analytics.closeAndFlush({ timeout: 1 })
  })

  test('a wait during which an event was delivered does not shorten the next wait', async () => {
    const clock = new FakeClock()
    const slow = (): Promise<HTTPResponse> =>
      new Promise((resolve) => {
        clock.setTimer(() => resolve({ status: 200, statusText: 'OK' }), 1_000)
      })
    const { analytics } = createAnalytics({ exitTimeout: 5_000, flushAt: 1 }, [slow, silence], clock)
    const beforeExit = process.listeners('beforeExit')[0] as () => void
    /** Milliseconds for which the process is kept alive. */
    const exit = async (): Promise<number> => {
      beforeExit()
      await untilSeen()
      await settled()
      let ms = 0
      for (; clock.holdCount > 0; ms += 100) await clock.advance(100)
      return ms
    }

    trackPurchases(analytics, 2)

    expect(await exit()).toBe(5_000)
    expect(analytics.stats).toMatchObject({ delivered: 1, failed: 1 })
    trackPurchases(analytics, 1)
    expect(await exit()).toBe(5_000)
    trackPurchases(analytics, 1)
    expect(await exit()).toBe(500)
  })

  test('a callback that tracks again after each loss keeps the process alive for exitTimeout and one second, not for ever', async () => {
    const listeners = process.listeners('beforeExit').length
    const { analytics, clock } = createAnalytics({ exitTimeout: 5_000 })
    await analytics.register({
      name: 'hangs',
      type: 'before',
      isLoaded: () => true,
      load() {},
      track: () => new Promise(() => {}),
    })
    let calls = 0
    let isOver = false
    const callback = (): void => {
      calls++
      if (isOver) return
      trackPurchases(analytics, 1, callback)
    }
    trackPurchases(analytics, 1, callback)
    const startMs = clock.monotonic()
    const beforeExit = process.listeners('beforeExit')[0] as () => void
    expect(process.listeners('beforeExit').length).toBeGreaterThanOrEqual(listeners)

    // Node.js emits beforeExit, waits for the work that its listeners have started, and repeats this until there is none.
    let heldMs = 0
    for (let round = 0; round < 100; round++) {
      beforeExit()
      await untilSeen()
      await settled()
      if (clock.holdCount === 0) break
      for (; clock.holdCount > 0; heldMs += 5) await clock.advance(5)
    }

    expect(clock.monotonic() - startMs).toBe(heldMs)
    // `exitTimeout`, and then at most one second in ever shorter waits: half of the second, half of the rest, and so on.
    expect(heldMs).toBeGreaterThanOrEqual(5_900)
    expect(heldMs).toBeLessThanOrEqual(6_100)
    expect(calls).toBeLessThan(50)
    isOver = true
    void analytics.closeAndFlush({ timeout: 1 })
    await clock.advance(10)
  })
})
