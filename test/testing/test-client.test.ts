import { afterEach, describe, expect, test, vi } from 'vitest'
import { Analytics } from '../../src/analytics.ts'
import { DeliveryError } from '../../src/errors/errors.ts'
import type { Plugin } from '../../src/pipeline/plugin.ts'
import { createTestClient } from '../../src/testing.ts'
import { recordOutcomes } from '../support/create-analytics.ts'

interface Events {
  'Signed Up': undefined
  'Order Completed': { total: number; placedAt?: Date }
}

const order = (total: number, userId = 'ada') =>
  ({ userId, event: 'Order Completed', properties: { total } }) as const

afterEach(() => {
  vi.useRealTimers()
})

test.each([
  [5, 'a number'],
  ['wk', 'a string'],
  [null, 'null'],
  [[], 'an array'],
])('invalid settings are refused: %j', (settings, got) => {
  expect(() => createTestClient(settings as never)).toThrow(
    expect.objectContaining({ setting: 'settings', message: `settings: expected an object, got ${got}` }),
  )
})

describe('messages', () => {
  test('are in the list when the call returns, in the form in which they would be sent', () => {
    const { analytics, messages } = createTestClient<Events>()

    analytics.track({ ...order(42.5), properties: { total: 42.5, placedAt: new Date(0) } })

    expect(messages).toHaveLength(1)
    expect(messages[0]).toMatchObject({
      type: 'track',
      userId: 'ada',
      event: 'Order Completed',
      properties: { total: 42.5, placedAt: '1970-01-01T00:00:00.000Z' },
      integrations: {},
    })
    expect(messages[0]?.context.library.name).toBe('trackpost')
  })

  test('come from all six calls, in order, with the changes of synchronous plugins', async () => {
    const { analytics, messages } = createTestClient()
    await analytics.register({
      name: 'release',
      type: 'enrichment',
      all: (ctx) => void ctx.updateEvent('context.app.version', '7'),
    })

    analytics.identify({ userId: 'ada', traits: { plan: 'pro' } })
    analytics.track({ userId: 'ada', event: 'Signed Up' })
    analytics.page({ userId: 'ada', name: 'Pricing' })
    analytics.screen({ userId: 'ada', name: 'Basket' })
    analytics.group({ userId: 'ada', groupId: 'engines' })
    analytics.alias({ previousId: 'v-17', userId: 'ada' })
    await analytics.flush()

    expect(messages.map(({ type }) => type)).toEqual([
      'identify',
      'track',
      'page',
      'screen',
      'group',
      'alias',
    ])
    expect(messages.map(({ context }) => context['app'])).toEqual(Array(6).fill({ version: '7' }))
  })

  test('do not include events that a plugin dropped, a disabled client ignored, or the queue refused', async () => {
    // The dropped event has a place until its plugin has run.
    const dropping = createTestClient({ maxQueueSize: 2 })
    await dropping.analytics.register({ name: 'consent', type: 'before', identify: () => null })
    const disabled = createTestClient({ disable: true })

    dropping.analytics.identify({ userId: 'ada' })
    dropping.analytics.track(order(1))
    dropping.analytics.track(order(2))
    disabled.analytics.track(order(1))

    await dropping.analytics.flush()

    expect(dropping.messages).toMatchObject([{ properties: { total: 1 } }])
    expect(disabled.messages).toEqual([])
    expect(dropping.analytics.stats.failures).toMatchObject({ plugin: 1, queue_full: 1 })
  })

  test('do not include an event that the service refused: it is a failure', async () => {
    const { analytics, messages, failures, failNext, clear } = createTestClient<Events>()
    failNext({ status: 400 })

    analytics.track(order(1), () => {})
    analytics.track(order(2))
    await analytics.flush()

    expect(analytics.stats).toMatchObject({ delivered: 1, failed: 1 })
    expect(messages).toMatchObject([{ properties: { total: 2 } }])
    expect(failures).toEqual([
      {
        code: 'rejected',
        error: expect.objectContaining({ name: 'DeliveryError', status: 400 }),
        message: expect.objectContaining({ ...order(1), type: 'track', timestamp: expect.any(String) }),
      },
    ])
    clear()
    expect(failures).toEqual([])
  })

  test('a call too malformed to make an event is a failure without a message', async () => {
    const { analytics, failures } = createTestClient({ strict: false })

    analytics.track(5 as never)
    await analytics.flush()

    expect(failures).toEqual([{ code: 'invalid', error: expect.any(DeliveryError) }])
  })
})

describe('the client', () => {
  test('is an Analytics client with the setting strict', () => {
    const { analytics } = createTestClient()

    expect(analytics).toBeInstanceOf(Analytics)
    expect(() => analytics.track({ userId: '', event: 'x' })).toThrow(DeliveryError)
  })

  test('accepts the settings of production, but sends nothing and requests no token', async () => {
    const httpClient = vi.fn()
    const { analytics } = createTestClient({
      writeKey: 'of-production',
      httpClient,
      oauthSettings: { clientId: 'c', keyId: 'k', clientKey: 'not a key' },
      flushAt: undefined,
    })

    analytics.track(order(1))

    expect(await analytics.flush()).toEqual({ delivered: 1, failed: 0, pending: 0 })
    expect(httpClient).not.toHaveBeenCalled()
  })

  test('calls callbacks with the outcome without a flush', async () => {
    const { analytics } = createTestClient()

    const outcome = await new Promise((resolve) => analytics.track(order(1), resolve))

    expect(outcome).toBeUndefined()
    expect(analytics.stats).toMatchObject({ delivered: 1, pending: 0 })
  })
})

describe('find and waitFor', () => {
  test('find returns all matches, by a part of a message or by a function', () => {
    const { analytics, find } = createTestClient<Events>()
    analytics.track(order(1))
    analytics.track(order(2, 'zoe'))
    analytics.track({ userId: 'ada', event: 'Signed Up' })
    analytics.identify({ userId: 'ada', traits: { plan: 'pro' } })

    expect(find({ event: 'Order Completed' }).map(({ properties }) => properties.total)).toEqual([1, 2])
    expect(find({ event: 'Order Completed', properties: { total: 2 } })).toHaveLength(1)
    expect(find({ event: 'Order Completed', properties: { total: expect.any(Number) } })).toHaveLength(2)
    expect(find({ userId: 'ada' })).toHaveLength(3)
    expect(find({ type: 'identify', traits: { plan: 'pro' } })).toHaveLength(1)
    expect(find(({ type }) => type === 'track')).toHaveLength(3)
    expect(find({ event: 'Order Completed', properties: { total: 3 } })).toEqual([])
  })

  test('waitFor finds present and later messages', async () => {
    const { analytics, waitFor } = createTestClient<Events>()
    analytics.track(order(1))

    const there = await waitFor({ event: 'Order Completed' })
    const later = waitFor({ event: 'Signed Up' })
    setImmediate(() => analytics.track({ userId: 'zoe', event: 'Signed Up' }))

    expect(there.properties.total).toBe(1)
    expect((await later).userId).toBe('zoe')
  })

  test('waitFor rejects at its timeout with the nearest messages', async () => {
    const { analytics, waitFor } = createTestClient<Events>()
    analytics.track(order(41))
    await analytics.flush()

    const waiting = waitFor({ event: 'Order Completed', properties: { total: 42 } }, { timeout: 1 })

    await expect(waiting).rejects.toThrow('properties.total: expected 42, got 41')
    await expect(waitFor({ type: 'alias' }, { timeout: 1 })).rejects.toThrow('no such message within 1 ms')
  })

  test('clear forgets messages and pending failures', async () => {
    const { analytics, messages, failNext, clear } = createTestClient()
    analytics.track(order(1))
    failNext({ times: Number.POSITIVE_INFINITY })

    clear()
    analytics.track(order(2))

    expect(messages).toMatchObject([{ properties: { total: 2 } }])
    expect(await analytics.flush()).toMatchObject({ delivered: 2, failed: 0 })
  })
})

describe('failNext', () => {
  test.each([
    ['a 503', undefined, 'delivered'],
    ['four 503s, one more than there are retries', { times: 4 }, 'retries_exhausted'],
    ['an unavailable service', { times: Number.POSITIVE_INFINITY }, 'retries_exhausted'],
    ['a 400', { status: 400 }, 'rejected'],
    ['a 401', { status: 401 }, 'auth'],
    ['a 413', { status: 413 }, 'too_large'],
    ['a rate limit', { status: 429, retryAfter: 5 }, 'delivered'],
    ['a long rate limit', { status: 429, retryAfter: 300 }, 'retries_exhausted'],
    [
      'a rate limit that never ends',
      { status: 429, retryAfter: 5, times: Number.POSITIVE_INFINITY },
      'retries_exhausted',
    ],
    ['a connection that fails', { code: 'ECONNREFUSED' }, 'delivered'],
    ['connections that fail', { code: 'ECONNREFUSED', times: Number.POSITIVE_INFINITY }, 'retries_exhausted'],
  ])(
    '%s: the event has the same outcome as in production, without a wait',
    async (_label, failure, outcome) => {
      const { analytics, failNext } = createTestClient()
      const { outcomes, callback } = recordOutcomes()
      failNext(failure)

      analytics.track(order(1), callback)
      await analytics.flush()

      expect(outcomes).toEqual([outcome])
    },
  )

  test('failures occur in the order of the calls of failNext', async () => {
    const { analytics, failNext } = createTestClient({ maxConcurrentRequests: 1 })
    const { outcomes, callback } = recordOutcomes()
    failNext({ status: 400 })
    failNext({ status: 401, times: 2 })

    for (let number = 0; number < 4; number++) analytics.track(order(number), callback)
    await analytics.flush()

    expect(outcomes).toEqual(['rejected', 'auth', 'auth', 'delivered'])
  })
})

test('the timeouts of flushes pass in real time while a plugin is working, and leave no timer', async () => {
  vi.useFakeTimers()
  const { analytics } = createTestClient()
  let finish = (): void => {}
  const stuck: Plugin = {
    name: 'stuck',
    type: 'before',
    track: () =>
      new Promise((resolve) => {
        finish = () => resolve(undefined)
      }),
  }
  await analytics.register(stuck)

  analytics.track(order(1))
  const short = analytics.flush({ timeout: 1_000 })
  const long = analytics.flush({ timeout: 4_000 })
  await vi.advanceTimersByTimeAsync(1_000)

  expect(await short).toEqual({ delivered: 0, failed: 0, pending: 1 })
  expect(vi.getTimerCount()).toBe(2)
  finish()
  expect(await long).toEqual({ delivered: 1, failed: 0, pending: 0 })
  expect(vi.getTimerCount()).toBe(0)
})
