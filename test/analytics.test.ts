import { inspect } from 'node:util'
import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { Analytics } from '../src/analytics.ts'
import { Emitter } from '../src/client/emitter.ts'
import type { ErrorEvent } from '../src/client/events.ts'
import type { Stats } from '../src/core/counts.ts'
import type { RequestInfo, ResponseInfo } from '../src/delivery/observer.ts'
import { type DeliveryError, FAILURE_CODES, SettingsError } from '../src/errors/errors.ts'
import type { HTTPResponse } from '../src/http/client.ts'
import DefaultExport, { Analytics as NamedExport } from '../src/index.ts'
import type { Kind } from '../src/message/types.ts'
import { KINDS } from '../src/message/wire.ts'
import type { Callback, Context } from '../src/pipeline/context.ts'
import type { Plugin } from '../src/pipeline/plugin.ts'
import { VERSION } from '../src/version.ts'
import { createAnalytics, recordOutcomes, trackPurchases, WRITE_KEY } from './support/create-analytics.ts'
import { FakeClock, settled, untilSeen } from './support/fake-clock.ts'
import {
  hangUntilAborted,
  networkError,
  type SentRequest,
  silence,
  status,
} from './support/scripted-client.ts'

const NOW = '2026-11-20T09:30:00.000Z'
const BASIC = btoa(`${WRITE_KEY}:`)
const LIBRARY = { name: 'trackpost', version: VERSION }
const METADATA = { nodeVersion: process.versions.node, jsRuntime: 'node' }

let warnings: { message: string; code: string }[]
const unhandled: unknown[] = []
const onUnhandled = (reason: unknown): void => {
  unhandled.push(reason)
}

beforeEach(() => {
  warnings = []
  vi.spyOn(process, 'emitWarning').mockImplementation((message, options) => {
    warnings.push({ message: String(message), code: (options as { code: string }).code })
  })
  unhandled.length = 0
  process.on('unhandledRejection', onUnhandled)
})
afterEach(async () => {
  await settled()
  process.off('unhandledRejection', onUnhandled)
  vi.restoreAllMocks()
  expect(unhandled).toEqual([])
})

/** For each kind of call, the parameters that only it has, and the message fields that they become. */
const CALLS: Record<Kind, { params: Record<string, unknown>; own: Record<string, unknown> }> = {
  identify: {
    params: { traits: { name: 'Zoë Müller', plan: 'Élite' } },
    own: { traits: { name: 'Zoë Müller', plan: 'Élite' } },
  },
  track: {
    params: { event: 'Commande passée', properties: { article: 'Thé 🍰', price: 12.5 } },
    own: { event: 'Commande passée', properties: { article: 'Thé 🍰', price: 12.5 } },
  },
  page: {
    params: { name: 'Thés', category: 'Boutique', properties: { url: 'https://c.example/thés' } },
    own: {
      name: 'Thés',
      category: 'Boutique',
      properties: { url: 'https://c.example/thés', category: 'Boutique' },
    },
  },
  screen: {
    params: { name: 'Panier', category: 'Boutique', properties: { dark: true } },
    own: { name: 'Panier', category: 'Boutique', properties: { dark: true } },
  },
  group: {
    params: { groupId: 'Café Müller', traits: { employees: 7 } },
    own: { groupId: 'Café Müller', traits: { employees: 7 } },
  },
  alias: { params: { previousId: 'anon_42' }, own: { previousId: 'anon_42' } },
}

function call(analytics: Analytics, kind: Kind, params: object, callback?: Callback): void {
  ;(analytics[kind] as (params: unknown, callback?: Callback) => void)(params, callback)
}

describe('the six calls', () => {
  test.each(KINDS)('%s is sent with every field', async (kind) => {
    const { analytics, client } = createAnalytics()

    call(analytics, kind, {
      userId: 'usr_Zoë',
      messageId: 'message-1',
      timestamp: new Date('2019-07-01T10:00:00Z'),
      context: { ip: '192.0.2.7', direct: true },
      integrations: { All: false, Mixpanel: true },
      ...CALLS[kind].params,
    })
    await analytics.flush()

    expect(client.requests).toHaveLength(1)
    expect(JSON.parse((client.requests[0] as SentRequest).body)).toEqual({
      batch: [
        {
          type: kind,
          messageId: 'message-1',
          timestamp: '2019-07-01T10:00:00.000Z',
          userId: 'usr_Zoë',
          ...CALLS[kind].own,
          context: { ip: '192.0.2.7', direct: true, library: LIBRARY },
          integrations: { All: false, Mixpanel: true },
          _metadata: METADATA,
        },
      ],
      writeKey: WRITE_KEY,
      sentAt: NOW,
    })
  })

  test('the request goes to the path of the host, with the write key as credentials', async () => {
    const { analytics, client } = createAnalytics({ host: 'https://c.example/segment/', path: 'v2/lot' })

    trackPurchases(analytics, 1)
    await analytics.flush()

    expect(client.requests[0]).toMatchObject({
      url: 'https://c.example/segment/v2/lot',
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Authorization: `Basic ${BASIC}`,
        'User-Agent': expect.stringMatching(new RegExp(`^trackpost/${VERSION.replaceAll('.', '\\.')}`)),
      },
    })
  })

  test.each([
    ['default', 'https://api.segment.io/v1/batch'],
    ['eu', 'https://events.eu1.segmentapis.com/v1/batch'],
  ] as const)('the region %s sends to %s', async (region, url) => {
    const { analytics, client } = createAnalytics({ region })

    trackPurchases(analytics, 1)
    await analytics.flush()

    expect(client.requests[0]?.url).toBe(url)
  })

  test('the emitter methods may be detached', async () => {
    const { analytics } = createAnalytics()
    const { on, off } = analytics
    const heard: string[] = []
    const listener = (ctx: Context): void => {
      heard.push(ctx.id)
    }

    on('track', listener)
    trackPurchases(analytics, 1)
    await analytics.flush()
    off('track', listener)
    trackPurchases(analytics, 1)
    await analytics.flush()

    expect(heard).toEqual(['purchase-1'])
  })

  test('the methods of a client may be detached and used together', async () => {
    const { analytics } = createAnalytics()
    const { track, identify, page, screen, group, alias, flush, closeAndFlush, register, deregister } =
      analytics
    const kinds = { identify, track, page, screen, group, alias }

    await register({ name: 'a', type: 'utility', isLoaded: () => true, load() {} })
    await deregister('a')
    for (const kind of KINDS) {
      ;(kinds[kind] as (params: unknown) => void)({ userId: 'usr_Zoë', ...CALLS[kind].params })
    }

    expect(await flush()).toEqual({ delivered: 6, failed: 0, pending: 0 })
    expect(await closeAndFlush()).toEqual({ delivered: 0, failed: 0, pending: 0 })
  })

  test('every method may be detached, those of the emitter too, and none is enumerable', () => {
    const { analytics } = createAnalytics()
    const methods = [Analytics, Emitter].flatMap(({ prototype }) =>
      Object.getOwnPropertyNames(prototype).filter(
        (name) => !['constructor', 'VERSION', 'stats', 'status', 'ready', 'promises'].includes(name),
      ),
    )

    expect(methods).toEqual(expect.arrayContaining(['track', 'flush', 'on', 'listenerCount']))
    expect(methods.filter((name) => !Object.hasOwn(analytics, name))).toEqual([])
    expect(Object.keys(analytics)).toEqual([])
  })

  test('a detached method works without its client', async () => {
    const { analytics, client } = createAnalytics()
    const { track, flush } = analytics

    track({ userId: 'usr_Zoë', event: 'Commande passée' })

    expect(await flush()).toEqual({ delivered: 1, failed: 0, pending: 0 })
    expect(client.batchSizes).toEqual([1])
  })

  test('a patch of the class applies to clients that were made before it', () => {
    const { analytics } = createAnalytics()
    const patched = vi.spyOn(Analytics.prototype, 'track').mockImplementation(() => {})

    const { track } = analytics
    track({ userId: 'usr_Zoë', event: 'Commande passée' })
    analytics.track({ userId: 'usr_Zoë', event: 'Commande passée' })

    expect(patched).toHaveBeenCalledTimes(2)
    expect(patched.mock.contexts).toEqual([analytics, analytics])
    expect(analytics.stats.accepted).toBe(0)
    patched.mockRestore()
  })

  test('clients with different settings do not affect each other', async () => {
    const one = createAnalytics({ flushAt: 1 })
    const other = createAnalytics({ writeKey: 'wk_Łódź'.normalize('NFD').replace(/[^\x21-\x7e]/g, 'x') })

    trackPurchases(one.analytics, 2)
    await settled()

    expect(one.client.batchSizes).toEqual([1, 1])
    expect(other.client.requests).toEqual([])
    expect(other.analytics.stats.accepted).toBe(0)
  })

  test('VERSION, the named export and the default export exist', () => {
    expect(createAnalytics().analytics.VERSION).toBe(VERSION)
    expect(NamedExport).toBe(Analytics)
    expect(DefaultExport).toBe(Analytics)
  })
})

describe('the event that is sent', () => {
  test('does not contain later changes by the caller', async () => {
    const { analytics, client } = createAnalytics()
    const at = new Date('2019-07-01T10:00:00Z')
    const properties = { article: { name: 'Thé' }, list: [1, 2], at }

    analytics.track({ userId: 'usr_Zoë', event: 'Commande passée', properties, timestamp: at })
    properties.article.name = 'Café'
    properties.list.push(3)
    at.setFullYear(1999)
    await analytics.flush()

    expect(client.requests[0]?.batch[0]).toMatchObject({
      timestamp: '2019-07-01T10:00:00.000Z',
      properties: { article: { name: 'Thé' }, list: [1, 2], at: '2019-07-01T10:00:00.000Z' },
    })
  })

  test('is new for each call: one object used for 1,000 calls gives 1,000 events', async () => {
    const { analytics, client } = createAnalytics()
    const params = { userId: 'usr_Zoë', event: 'Vue', properties: { number: 0 } }

    for (let number = 0; number < 1_000; number++) {
      params.properties.number = number
      analytics.track(params)
    }
    await analytics.flush()

    const sent = client.requests.flatMap(({ batch }) => batch as { properties?: { number: number } }[])
    expect(sent.map(({ properties }) => properties?.number)).toEqual(
      Array.from({ length: 1_000 }, (_, i) => i),
    )
  })

  test('may be tracked in a getter of another event', async () => {
    const { analytics, client } = createAnalytics()

    analytics.track({
      userId: 'usr_Zoë',
      event: 'dehors',
      properties: {
        get inside() {
          analytics.track({ userId: 'usr_Zoë', event: 'dedans' })
          return 1
        },
      },
    })
    await analytics.flush()

    expect(client.requests[0]?.batch.map(({ event }) => event).sort()).toEqual(['dedans', 'dehors'])
  })
})

describe('outcomes', () => {
  test.each(KINDS)(
    'a delivered %s calls its callback and emits its event, with the context',
    async (kind) => {
      const { analytics } = createAnalytics()
      const calls: [string, unknown, Context | undefined][] = []
      analytics.on(kind, (ctx) => calls.push(['event', undefined, ctx]))
      analytics.on('error', ({ ctx }) => calls.push(['error', undefined, ctx]))

      call(analytics, kind, { userId: 'usr_Zoë', messageId: 'm1', ...CALLS[kind].params }, (error, ctx) => {
        calls.push(['callback', error, ctx])
      })
      await analytics.flush()

      expect(calls.map(([what, error]) => [what, error])).toEqual([
        ['callback', undefined],
        ['event', undefined],
      ])
      const [[, , ctx]] = calls as [[string, unknown, Context]]
      expect(ctx.id).toBe('m1')
      expect(ctx.attempts).toBe(1)
      expect(ctx.event.timestamp).toEqual(new Date(NOW))
      expect(ctx.event).toMatchObject({ type: kind, integrations: {} })
      expect(ctx.failedDelivery()).toBeUndefined()
    },
  )

  test('a failed event calls its callback and emits error', async () => {
    const { analytics } = createAnalytics({}, [status(400)])
    const errors: ErrorEvent[] = []
    const callback = vi.fn()
    analytics.on('error', (event) => errors.push(event))

    trackPurchases(analytics, 1, callback)
    await analytics.flush()

    expect(errors).toHaveLength(1)
    const { code, reason, ctx } = errors[0] as ErrorEvent
    expect(code).toBe('delivery_failure')
    expect(reason).toMatchObject({ code: 'rejected', status: 400, message: '[400] Bad Request' })
    expect(ctx?.failedDelivery()?.reason).toBe(reason)
    expect(callback).toHaveBeenCalledExactlyOnceWith(reason, ctx)
  })

  const oversized = { userId: 'usr_Zoë', event: 'Vue', properties: { text: 'é'.repeat(20_000) } }
  const throwing = {
    userId: 'usr_Zoë',
    event: 'Vue',
    get properties(): object {
      throw new Error('base fermée')
    },
  }
  const failures: [
    code: string,
    emitted: string,
    params: object,
    settings: object,
    replies: ReturnType<typeof status>[],
  ][] = [
    ['invalid', 'invalid', { event: 'Vue' }, {}, []],
    ['unserializable', 'unserializable', throwing, {}, []],
    ['too_large', 'too_large', oversized, {}, []],
    ['too_large', 'delivery_failure', { userId: 'u', event: 'Vue' }, {}, [status(413)]],
    ['rejected', 'delivery_failure', { userId: 'u', event: 'Vue' }, {}, [status(404)]],
    ['auth', 'delivery_failure', { userId: 'u', event: 'Vue' }, {}, [status(401)]],
    [
      'retries_exhausted',
      'delivery_failure',
      { userId: 'u', event: 'Vue' },
      { maxRetries: 0 },
      [status(503)],
    ],
    [
      'deadline',
      'delivery_failure',
      { userId: 'u', event: 'Vue' },
      { maxRetries: 99, maxTotalBackoffDuration: 1 },
      [status(503)],
    ],
  ]
  test.each(failures)(
    'a failure with %s emits %s and is counted',
    async (code, emitted, params, settings, replies) => {
      const { analytics, clock } = createAnalytics(settings, replies)
      const errors: ErrorEvent[] = []
      const { outcomes, callback } = recordOutcomes()
      analytics.on('error', (event) => errors.push(event))

      call(analytics, 'track', params, callback)
      const flushed = analytics.flush()
      await clock.advance(60_000)

      expect(await flushed).toEqual({ delivered: 0, failed: 1, pending: 0 })
      expect(outcomes).toEqual([code])
      expect(errors.map((event) => [event.code, event.reason.code])).toEqual([[emitted, code]])
      expect(analytics.stats).toMatchObject({ accepted: 1, failed: 1, pending: 0 })
      expect(analytics.stats.failures[code as 'auth']).toBe(1)
    },
  )

  test('events that a full queue refuses in one turn share one error, and the next turn has another one', async () => {
    const { analytics } = createAnalytics({ maxQueueSize: 1, maxConcurrentRequests: 1 }, [silence])
    const errors: unknown[] = []

    trackPurchases(analytics, 3, (error) => errors.push(error))
    await settled()
    trackPurchases(analytics, 2, (error) => errors.push(error))
    await settled()

    expect(errors).toHaveLength(4)
    expect(errors[0]).toBe(errors[1])
    expect(errors[2]).toBe(errors[3])
    expect(errors[2]).not.toBe(errors[0])
  })

  test('an event that is displaced by a newer one reaches its callback unchanged', async () => {
    const { analytics } = createAnalytics({ maxQueueSize: 1, overflow: 'drop-oldest', flushAt: 100 })
    const lost: unknown[] = []

    trackPurchases(analytics, 2, (error, ctx) => error && lost.push([error.code, ctx?.event.properties]))
    await analytics.flush()

    expect(lost).toEqual([['queue_full', { number: 1, article: 'Thé à la menthe', price: 12.5 }]])
  })

  test('events that find a full queue fail with queue_full', async () => {
    const { analytics } = createAnalytics({ maxQueueSize: 3 })
    const { outcomes, callback } = recordOutcomes()

    trackPurchases(analytics, 5, callback)
    await analytics.flush()

    expect(outcomes.sort()).toEqual(['delivered', 'delivered', 'delivered', 'queue_full', 'queue_full'])
    expect(analytics.stats.failures.queue_full).toBe(2)
  })

  test('a bad call does not affect other events', async () => {
    const { analytics, client } = createAnalytics()

    analytics.track({ userId: 'usr_Zoë', event: 'bon 1' })
    for (const bad of [undefined, null, 5, 'x', [], () => {}, {}, { userId: {} }]) {
      call(analytics, 'track', bad as never)
    }
    analytics.track({ userId: 'usr_Zoë', event: 'bon 2' })
    await analytics.flush()

    expect(client.requests[0]?.batch.map(({ event }) => event)).toEqual(['bon 1', 'bon 2'])
    expect(analytics.stats).toMatchObject({ accepted: 10, delivered: 2, failed: 8, pending: 0 })
    expect(analytics.stats.failures.invalid).toBe(8)
  })

  test('callbacks never run during the call', async () => {
    const { analytics } = createAnalytics()
    const calls: string[] = []

    call(analytics, 'track', {}, () => calls.push('callback'))
    calls.push('after the call')
    await settled()

    expect(calls).toEqual(['after the call', 'callback'])
  })

  test.each([null, undefined, 5, 'x', {}])('%j is not a callback and is ignored', async (callback) => {
    const { analytics } = createAnalytics()

    call(analytics, 'track', { userId: 'usr_Zoë', event: 'Vue' }, callback as never)

    expect(await analytics.flush()).toMatchObject({ delivered: 1 })
  })

  test.each<[string, Callback]>([
    [
      'throws',
      () => {
        throw new Error('non')
      },
    ],
    ['rejects', () => Promise.reject(new Error('non'))],
    ['never ends', () => new Promise(() => {})],
  ])('a callback that %s does not affect outcomes', async (_label, bad) => {
    const { analytics } = createAnalytics()
    const { outcomes, callback } = recordOutcomes()
    const listener = vi.fn()
    analytics.on('track', listener)

    analytics.track({ userId: 'usr_Zoë', event: 'Vue' }, bad)
    trackPurchases(analytics, 2, callback)

    expect(await analytics.flush()).toEqual({ delivered: 3, failed: 0, pending: 0 })
    expect(outcomes).toEqual(['delivered', 'delivered'])
    expect(listener).toHaveBeenCalledTimes(3)
  })

  test('the counts of the stats are consistent at every instant', async () => {
    const { analytics, clock } = createAnalytics({ flushAt: 4, maxRetries: 1 }, [
      status(503),
      status(200),
      status(400),
    ])
    // Wrong stats are collected and not thrown, because the client catches the errors of listeners and callbacks.
    const wrong: Stats[] = []
    let checks = 0
    const check = () => {
      const { stats } = analytics
      const { accepted, delivered, failed, pending, failures } = stats
      const counted = Object.values(failures).reduce((sum, count) => sum + count, 0)
      const hasAllCodes = Object.keys(failures).join() === FAILURE_CODES.join()
      if (accepted !== delivered + failed + pending || counted !== failed || !hasAllCodes) wrong.push(stats)
      checks++
    }
    analytics.on('error', check).on('track', check)

    for (let round = 0; round < 10; round++) {
      trackPurchases(analytics, 3, check)
      check()
      await clock.advance(700)
      check()
    }
    void analytics.flush()
    await clock.advance(60_000)

    expect(analytics.stats).toMatchObject({ accepted: 30, pending: 0 })
    check()
    expect(wrong).toEqual([])
    // Each event is checked in its callback and in a listener. Each round has two more checks.
    expect(checks).toBeGreaterThanOrEqual(2 * 30 + 2 * 10)
  })

  test('drained is emitted each time the last pending event has its outcome', async () => {
    const { analytics } = createAnalytics()
    const drained = vi.fn()
    analytics.on('drained', drained)

    trackPurchases(analytics, 3)
    await analytics.flush()
    expect(drained).toHaveBeenCalledTimes(1)
    trackPurchases(analytics, 1)
    await analytics.flush()

    expect(drained).toHaveBeenCalledTimes(2)
  })
})

describe('strict', () => {
  test('bad calls throw, and are not accepted', async () => {
    const { analytics } = createAnalytics({ strict: true })
    const callback = vi.fn()

    expect(() => call(analytics, 'track', { event: 'Vue' }, callback)).toThrow(
      expect.objectContaining({
        code: 'invalid',
        message: 'track: expected userId or anonymousId, got neither',
      }),
    )
    await settled()

    expect(callback).not.toHaveBeenCalled()
    expect(analytics.stats.accepted).toBe(0)
  })

  test('good calls do not throw, even when their events are lost later', async () => {
    const { analytics } = createAnalytics({ strict: true }, [status(400)])

    expect(() => trackPurchases(analytics, 1)).not.toThrow()
    expect(await analytics.flush()).toMatchObject({ failed: 1 })
  })
})

describe('disable', () => {
  test('an event that is too large fails nevertheless', async () => {
    const { analytics } = createAnalytics({ disable: true })
    const { outcomes, callback } = recordOutcomes()

    analytics.track({ userId: 'u', event: 'Vue', properties: { text: 'é'.repeat(16_400) } }, callback)
    await analytics.flush()

    expect(outcomes).toEqual(['too_large'])
  })

  test('no request is made, and every event counts as delivered', async () => {
    const { analytics, client, clock } = createAnalytics({ disable: true, flushAt: 1 })
    const { outcomes, callback } = recordOutcomes()

    trackPurchases(analytics, 3, callback)
    call(analytics, 'track', {}, callback)

    expect(await analytics.flush()).toEqual({ delivered: 3, failed: 1, pending: 0 })
    expect(await analytics.closeAndFlush()).toEqual({ delivered: 0, failed: 0, pending: 0 })
    expect(outcomes).toEqual(['delivered', 'delivered', 'delivered', 'invalid'])
    expect(client.requests).toEqual([])
    expect(clock.timerCount).toBe(0)
  })
})

describe('flush', () => {
  test('resolves at once when there is nothing to wait for', async () => {
    expect(await createAnalytics().analytics.flush()).toEqual({ delivered: 0, failed: 0, pending: 0 })
  })

  test('does not wait for the flush interval, and keeps the process alive while it waits', async () => {
    const { analytics, clock } = createAnalytics({}, [status(503), status(200)])

    trackPurchases(analytics, 2)
    const flushed = analytics.flush()
    await settled()
    expect(clock.holdCount).toBe(1)
    await clock.advance(1_001)

    expect(await flushed).toEqual({ delivered: 2, failed: 0, pending: 0 })
    expect(clock.holdCount).toBe(0)
    expect(clock.timerCount).toBe(0)
  })

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

  // docs/faults.md, row F74.
  test('1,000 flushes at once all resolve, and make one request', async () => {
    const { analytics, client, clock } = createAnalytics()
    trackPurchases(analytics, 10)

    const summaries = await Promise.all(Array.from({ length: 1_000 }, () => analytics.flush()))

    expect(summaries.every(({ delivered }) => delivered === 10)).toBe(true)
    expect(client.requests).toHaveLength(1)
    expect(clock.holdCount).toBe(0)
  })

  test('does not wait for events that are tracked later', async () => {
    const { analytics } = createAnalytics({}, [status(200), silence])

    trackPurchases(analytics, 1)
    const flushed = analytics.flush()
    await Promise.resolve()
    analytics.track({ userId: 'usr_Zoë', event: 'plus tard' })

    expect(await flushed).toEqual({ delivered: 1, failed: 0, pending: 0 })
    expect(analytics.stats.pending).toBe(1)
  })

  test('resolves when it is called from a callback', async () => {
    const { analytics } = createAnalytics({ flushAt: 1 })
    const summaries: unknown[] = []

    trackPurchases(analytics, 2, () => {
      void analytics.flush().then((summary) => summaries.push(summary))
    })
    await settled()

    expect(summaries).toHaveLength(2)
  })

  test.each([null, 5, 'x', { timeout: 'bald' }, { timeout: -1 }, { timeout: Number.NaN }])(
    'accepts %j as options',
    async (options) => {
      const { analytics } = createAnalytics()
      trackPurchases(analytics, 1)

      expect(await analytics.flush(options as never)).toEqual({ delivered: 1, failed: 0, pending: 0 })
    },
  )

  test.each([Object.create(null), Symbol('s'), 1n])('accepts a timeout that has no text', async (timeout) => {
    const { analytics } = createAnalytics()
    analytics.on('warning', () => {})

    expect(await analytics.flush({ timeout })).toEqual({ delivered: 0, failed: 0, pending: 0 })
    expect(await analytics.closeAndFlush({ timeout })).toEqual({ delivered: 0, failed: 0, pending: 0 })
  })

  test('closes the client with the option close', async () => {
    const { analytics } = createAnalytics()
    const { outcomes, callback } = recordOutcomes()

    await analytics.flush({ close: true })
    trackPurchases(analytics, 1, callback)
    await settled()

    expect(outcomes).toEqual(['closed'])
  })
})

describe('closeAndFlush', () => {
  // docs/faults.md, row F77.
  test('delivers the queued events, and leaves no timer and no hold on the process', async () => {
    const { analytics, clock } = createAnalytics()
    trackPurchases(analytics, 1_000)

    const summary = await analytics.closeAndFlush()

    expect(summary).toEqual({ delivered: 1_000, failed: 0, pending: 0 })
    expect(clock.timerCount).toBe(0)
    expect(clock.holdCount).toBe(0)
  })

  // docs/faults.md, row F78.
  test('at its timeout gives every event its outcome before it resolves, and sends nothing more', async () => {
    const { analytics, client, clock } = createAnalytics({ flushAt: 5, maxQueueSize: 100 }, [
      hangUntilAborted,
    ])
    const { outcomes, callback } = recordOutcomes()
    trackPurchases(analytics, 40, callback)
    let outcomesAtEnd: string[] | undefined
    const closed = analytics.closeAndFlush({ timeout: 1_000 }).then((summary) => {
      outcomesAtEnd = [...outcomes]
      return summary
    })

    await clock.advance(1_000)
    await settled()
    const requests = client.requests.length
    await clock.advance(600_000)

    expect(await closed).toEqual({ delivered: 0, failed: 40, pending: 0 })
    expect(outcomesAtEnd).toEqual(new Array(40).fill('shutdown_timeout'))
    expect(client.requests).toHaveLength(requests)
    expect(client.requests.every(({ signal }) => signal?.aborted)).toBe(true)
    expect(clock.timerCount).toBe(0)
    expect(clock.holdCount).toBe(0)
  })

  // docs/faults.md, row F79.
  test('waits longer than a rate limit of a minute by default', async () => {
    const { analytics, clock } = createAnalytics({}, [status(429, { 'Retry-After': '60' }), status(200)])
    trackPurchases(analytics, 2)

    const closed = analytics.closeAndFlush()
    // A stated wait becomes up to 10 s longer.
    await clock.advance(70_001)

    expect(await closed).toEqual({ delivered: 2, failed: 0, pending: 0 })
  })

  test('gives up after 75 s without a response', async () => {
    const { analytics, clock } = createAnalytics({ maxRetries: 100 }, [silence])
    trackPurchases(analytics, 2)

    const closed = analytics.closeAndFlush()
    await clock.advance(75_000)

    expect(await closed).toEqual({ delivered: 0, failed: 2, pending: 0 })
  })

  test.each([Number.NaN, 'bald', null])(
    'has its usual timeout if %s is given, with a warning',
    async (timeout) => {
      const { analytics, clock } = createAnalytics({ maxRetries: 100 }, [silence])
      trackPurchases(analytics, 1)

      const warned: unknown[] = []
      analytics.on('warning', ({ code }) => warned.push(code))

      void analytics.closeAndFlush({ timeout: timeout as never })
      await clock.advance(74_999)
      expect(analytics.stats.pending).toBe(1)
      await clock.advance(1)

      expect(warned).toEqual(['flush'])
      expect(analytics.stats.failures).toMatchObject({ shutdown_timeout: 1 })
    },
  )

  // docs/faults.md, row F80.
  test('returns the same promise when it is called again', async () => {
    const { analytics } = createAnalytics()

    const first = analytics.closeAndFlush()

    expect(analytics.closeAndFlush({ timeout: 1 })).toBe(first)
    expect(analytics.flush({ close: true })).toBe(first)
    await first
  })

  test('a later call emits call_after_close, and calls its callback with closed', async () => {
    const { analytics, client } = createAnalytics()
    const submitted: unknown[] = []
    const { outcomes, callback } = recordOutcomes()
    analytics.on('call_after_close', (message) => submitted.push(message))
    await analytics.closeAndFlush()

    analytics.track({ userId: 'usr_Zoë', event: 'trop tard' }, callback)
    await settled()

    expect(submitted).toEqual([expect.objectContaining({ type: 'track', event: 'trop tard' })])
    expect(outcomes).toEqual(['closed'])
    expect(analytics.stats).toMatchObject({ accepted: 1, failed: 1, pending: 0 })
    expect(client.requests).toEqual([])
  })

  test('a later bad call also fails with closed, even with the setting strict', async () => {
    const { analytics } = createAnalytics({ strict: true })
    const { outcomes, callback } = recordOutcomes()
    await analytics.closeAndFlush()

    expect(() => call(analytics, 'track', undefined as never, callback)).not.toThrow()
    await settled()

    expect(outcomes).toEqual(['closed'])
  })

  test('is called by Symbol.asyncDispose, as at the end of a block with await using', async () => {
    const { analytics, client } = createAnalytics()

    trackPurchases(analytics, 2)
    await analytics[Symbol.asyncDispose]()

    expect(client.batchSizes).toEqual([2])
    trackPurchases(analytics, 1)
    expect(analytics.stats.failures.closed).toBe(1)
  })

  test('leaves no timer for a plugin that is still loading or a response body that has not ended', async () => {
    const endless = () => ({ status: 200, statusText: 'OK', text: () => new Promise<string>(() => {}) })
    const { analytics, client, clock } = createAnalytics({}, [endless])
    const plugin = createPlugin('lent', 'destination')
    plugin.load = () => new Promise(() => {})
    void analytics.register(plugin)
    trackPurchases(analytics, 1)

    const summary = await analytics.closeAndFlush()

    expect(summary).toEqual({ delivered: 1, failed: 0, pending: 0 })
    expect(clock.timerCount).toBe(0)
    expect(client.requests[0]?.signal?.aborted).toBe(true)
  })
})

describe('waitUntil', () => {
  test('is called with one promise for each turn that tracks events', async () => {
    const promises: Promise<unknown>[] = []
    const { analytics, client } = createAnalytics({ waitUntil: (promise) => promises.push(promise) })

    trackPurchases(analytics, 3)
    expect(promises).toHaveLength(1)
    await promises[0]

    expect(client.batchSizes).toEqual([3])
    trackPurchases(analytics, 1)
    await promises[1]
    expect(client.batchSizes).toEqual([3, 1])
  })

  test('that throws causes a warning, and the events are still sent', async () => {
    const { analytics, client } = createAnalytics({
      waitUntil: () => {
        throw new Error('non')
      },
    })

    const codes: string[] = []
    analytics.on('warning', ({ code }) => codes.push(code))

    expect(() => trackPurchases(analytics, 2)).not.toThrow()
    await settled()

    expect(client.batchSizes).toEqual([2])
    expect(codes).toEqual(['wait_until'])
  })
})

describe('the events that a client emits', () => {
  test('initialize contains the settings in force, without secrets', async () => {
    const { analytics } = createAnalytics({ flushAt: 7, waitUntil: () => {} })
    const seen: unknown[] = []
    analytics.on('initialize', (settings) => seen.push(settings))
    await settled()

    expect(seen).toEqual([
      expect.objectContaining({ flushAt: 7, host: 'https://api.segment.io', maxRetries: 3 }),
    ])
    expect(JSON.stringify(seen)).not.toContain(WRITE_KEY)
    expect(Object.keys(seen[0] as object)).not.toContain('httpClient')
  })

  test('http_request and http_response show each attempt without credentials', async () => {
    const { analytics, clock } = createAnalytics({}, [
      status(503, { 'Set-Cookie': 'geheim' }),
      status(200, { Date: 'Fri, 20 Nov 2026 09:30:00 GMT' }),
    ])
    const requests: RequestInfo[] = []
    const responses: ResponseInfo[] = []
    analytics.on('http_request', (info) => requests.push(info))
    analytics.on('http_response', (info) => responses.push(info))

    trackPurchases(analytics, 1)
    void analytics.flush()
    await clock.advance(1_001)

    expect(requests).toHaveLength(2)
    expect(requests[0]).toMatchObject({ method: 'POST', headers: { Authorization: '[redacted]' } })
    expect(requests[1]?.headers['X-Retry-Count']).toBe('1')
    expect(JSON.parse(requests[0]?.body as string)).toMatchObject({ writeKey: '[redacted]', sentAt: NOW })
    expect(responses).toEqual([
      expect.objectContaining({
        status: 503,
        statusText: 'Service Unavailable',
        headers: { 'Set-Cookie': '[redacted]' },
      }),
      expect.objectContaining({ status: 200, statusText: 'OK' }),
    ])
    for (const secret of [WRITE_KEY, BASIC, 'geheim']) {
      expect(JSON.stringify([requests, responses])).not.toContain(secret)
    }
  })
})

describe('secrets', () => {
  test('are not shown when the client is inspected or serialised', () => {
    const { analytics } = createAnalytics()
    trackPurchases(analytics, 1)

    const shown = [
      inspect(analytics, { depth: 20, showHidden: true }),
      JSON.stringify(analytics),
      String(analytics),
      JSON.stringify(Object.getOwnPropertyDescriptors(analytics)),
    ].join()

    expect(shown).not.toContain(WRITE_KEY)
    expect(shown).not.toContain(BASIC)
    expect(JSON.parse(JSON.stringify(analytics))).toEqual({
      host: 'https://api.segment.io',
      stats: analytics.stats,
    })
  })

  test('are redacted when an HTTP client quotes the request in its error', async () => {
    const { analytics } = createAnalytics({ maxRetries: 0 }, [
      ({ headers, body }) => Promise.reject(new Error(`failed: ${JSON.stringify(headers)} ${body}`)),
    ])
    const errors: DeliveryError[] = []
    analytics.on('error', ({ reason }) => errors.push(reason))

    trackPurchases(analytics, 1)
    await analytics.flush()

    const shown = inspect(errors, { depth: 20, showHidden: true })
    expect(errors).toHaveLength(1)
    expect(shown).not.toContain(WRITE_KEY)
    expect(shown).not.toContain(BASIC)
  })
})

describe('warnings', () => {
  test('without listeners, the first loss for each reason causes a warning', async () => {
    const { analytics } = createAnalytics({}, [status(400)])

    call(analytics, 'track', {})
    call(analytics, 'track', {})
    trackPurchases(analytics, 3)
    await analytics.flush()

    expect(warnings.map(({ code }) => code)).toEqual(['TRACKPOST_INVALID', 'TRACKPOST_REJECTED'])
    expect(warnings[1]?.message).toContain('[400] Bad Request')
  })

  test('a loss causes no warning if there is a callback or an error listener', async () => {
    const { analytics } = createAnalytics({}, [status(400)])
    trackPurchases(analytics, 1, () => {})
    await analytics.flush()
    analytics.on('error', () => {})

    call(analytics, 'track', {})
    await settled()

    expect(warnings).toEqual([])
  })

  test('an unknown setting is reported, with the names that exist', () => {
    createAnalytics({ flushAtt: 5 } as never)

    expect(warnings).toEqual([
      {
        code: 'TRACKPOST_UNKNOWN_SETTING',
        message: expect.stringMatching(/^unknown settings: flushAtt; the settings are writeKey, .*flushAt, /),
      },
    ])
  })

  test('bad settings throw in the constructor', () => {
    expect(() => new Analytics({ writeKey: '' })).toThrow(SettingsError)
    expect(() => new (Analytics as unknown as new () => Analytics)()).toThrow(SettingsError)
  })
})

function createPlugin(name: string, type: Plugin['type'], track?: Plugin['track']): Plugin {
  return { name, type, isLoaded: () => true, load() {}, ...(track === undefined ? {} : { track }) }
}

describe('plugins', () => {
  test('change the event, cancel it, and see its outcome', async () => {
    const { analytics, client } = createAnalytics()
    const seen: unknown[] = []
    analytics.on('error', ({ code, reason, ctx }) => seen.push([code, reason.code, ctx?.id]))
    await analytics.register(
      createPlugin('filtre', 'before', (ctx) => {
        if (ctx.event.properties?.['number'] === 2) ctx.cancel('sans accord')
        return ctx
      }),
      createPlugin('géo', 'enrichment', (ctx) => {
        ctx.updateEvent('context.ville', 'Łódź')
        return ctx
      }),
      createPlugin('bilan', 'after', (ctx) => void seen.push([ctx.id, ctx.attempts])),
    )

    trackPurchases(analytics, 3)
    await analytics.flush()

    expect(client.requests[0]?.messageIds).toEqual(['purchase-1', 'purchase-3'])
    expect(client.requests[0]?.batch[0]?.context).toMatchObject({ ville: 'Łódź' })
    expect(seen).toEqual([
      ['plugin', 'plugin', 'purchase-2'],
      ['purchase-1', 1],
      ['purchase-3', 1],
    ])
  })

  test('events that are tracked while a plugin loads wait for the plugin, and ready resolves after the load', async () => {
    const { analytics, client } = createAnalytics()
    let loaded = (): void => {}
    const plugin = createPlugin('lent', 'enrichment', (ctx) => {
      ctx.updateEvent('properties.vu', true)
      return ctx
    })
    plugin.load = () =>
      new Promise<void>((resolve) => {
        loaded = resolve
      })
    void analytics.register(plugin)

    trackPurchases(analytics, 1)
    await settled()
    expect(analytics.stats.pending).toBe(1)
    loaded()
    await analytics.ready
    await analytics.flush()

    expect(client.requests[0]?.batch[0]).toMatchObject({ properties: { vu: true } })
  })
})

describe('the end of the process', () => {
  /** Creates a client, and collects the listeners that it would add to the process. */
  async function createOnProcess(settings: object, replies: Parameters<typeof createAnalytics>[1]) {
    const listeners: (() => void)[] = []
    const exits: (() => void)[] = []
    const events: string[] = []
    const add = (event: string | symbol, listener: unknown): NodeJS.Process => {
      events.push(String(event))
      if (event === 'beforeExit') listeners.push(listener as () => void)
      else exits.push(listener as () => void)
      return process
    }
    const spies = [
      vi.spyOn(process, 'on').mockImplementation(add),
      vi.spyOn(process, 'prependListener').mockImplementation(add),
    ]
    vi.resetModules()
    const { createAnalytics } = await import('./support/create-analytics.ts')
    const harness = createAnalytics(settings, replies, new FakeClock())
    const runOutOfWork = async (): Promise<void> => {
      for (const listener of listeners) listener()
      await untilSeen()
    }
    const restore = (): void => {
      for (const spy of spies) spy.mockRestore()
    }
    const end = (): void => {
      for (const listener of exits) listener()
    }
    return { ...harness, events, runOutOfWork, end, restore }
  }

  // docs/faults.md, row F87.
  test('a client without events listens only to the end of the process and sets no timer', async () => {
    const { events, clock, restore } = await createOnProcess({}, [status(200)])
    restore()

    expect(events).toEqual(['beforeExit', 'exit'])
    expect(clock.timerCount).toBe(0)
    expect(clock.holdCount).toBe(0)
  })

  // docs/faults.md, row F81.
  test('a process that runs out of work is kept alive until queued events are delivered', async () => {
    const { analytics, client, clock, events, runOutOfWork, restore } = await createOnProcess({}, [
      status(200),
    ])
    trackPurchases(analytics, 3)
    await settled()
    restore()

    await runOutOfWork()
    expect(clock.holdCount).toBe(1)
    await settled()

    expect(events).toEqual(['beforeExit', 'exit'])
    expect(client.batchSizes).toEqual([3])
    expect(clock.holdCount).toBe(0)
  })

  test('after exitTimeout the remaining events fail with shutdown_timeout, and the process may end', async () => {
    const { analytics, clock, runOutOfWork, restore } = await createOnProcess({ exitTimeout: 2_000 }, [
      hangUntilAborted,
    ])
    const { outcomes, callback } = recordOutcomes()
    trackPurchases(analytics, 2, callback)
    restore()

    await runOutOfWork()
    await clock.advance(1_999)
    expect(outcomes).toEqual([])
    await clock.advance(1)
    await settled()

    expect(outcomes).toEqual(['shutdown_timeout', 'shutdown_timeout'])
    expect(clock.holdCount).toBe(0)
    expect(clock.timerCount).toBe(0)
  })

  test('with exitTimeout 0 the process is not kept alive at all', async () => {
    const { analytics, clock, client, runOutOfWork, restore } = await createOnProcess({ exitTimeout: 0 }, [
      status(200),
    ])
    const { outcomes, callback } = recordOutcomes()
    trackPurchases(analytics, 2, callback)
    restore()

    await runOutOfWork()

    expect(outcomes).toEqual(['shutdown_timeout', 'shutdown_timeout'])
    expect(clock.holdCount).toBe(0)
    await settled()
    expect(client.requests).toEqual([])
  })

  test('a listener that tracks an event at each beforeExit does not keep the process alive: the last event fails at exit', async () => {
    const { analytics, events, runOutOfWork, end, restore } = await createOnProcess({}, [status(200)])
    const { outcomes, callback } = recordOutcomes()

    for (let round = 0; round < 2; round++) {
      const seen = runOutOfWork()
      trackPurchases(analytics, 1, callback)
      await seen
      if (round === 0) await settled()
    }
    restore()
    expect(outcomes).toEqual(['delivered'])
    expect(events).toEqual(['beforeExit', 'exit'])
    end()

    expect(outcomes).toEqual(['delivered', 'shutdown_timeout'])
  })

  test('what later exit listeners track has its outcome at once, also if a callback tracks again each time', async () => {
    const { analytics, end, restore } = await createOnProcess({}, [status(200)])
    const { outcomes, callback } = recordOutcomes()
    restore()
    end()

    trackPurchases(analytics, 2, callback)
    expect(outcomes).toEqual(['shutdown_timeout', 'shutdown_timeout'])

    let tracked = 0
    const again = (): void => {
      tracked++
      trackPurchases(analytics, 1, again)
    }
    again()
    expect(tracked).toBeGreaterThan(100)
    expect(analytics.stats.pending).toBeLessThanOrEqual(1)
  })

  test('a script that awaits one event after the other has the whole exitTimeout for each event', async () => {
    const answers: (() => void)[] = []
    const slow = (): Promise<HTTPResponse> =>
      new Promise((resolve) => answers.push(() => resolve({ status: 200, statusText: 'OK', headers: {} })))
    const { analytics, clock, runOutOfWork, restore } = await createOnProcess({ exitTimeout: 1_000 }, [slow])
    const { outcomes, callback } = recordOutcomes()

    for (let round = 0; round < 5; round++) {
      trackPurchases(analytics, 1, callback)
      await runOutOfWork()
      await clock.advance(400)
      answers.shift()?.()
      await settled()
    }
    restore()

    expect(outcomes).toEqual(Array.from({ length: 5 }, () => 'delivered'))
  })

  test('code that tracks an event after each loss does not keep the process alive for ever', async () => {
    const { analytics, clock, runOutOfWork, restore } = await createOnProcess({ exitTimeout: 1_000 }, [
      silence,
    ])
    analytics.on('error', () => analytics.track({ userId: 'usr_Zoë', event: 'encore' }))
    trackPurchases(analytics, 1)
    restore()

    let heldMs = 0
    for (let round = 0; round < 20; round++) {
      await runOutOfWork()
      for (; clock.holdCount > 0; heldMs++) await clock.advance(1)
    }

    expect(heldMs).toBeGreaterThanOrEqual(1_000)
    expect(heldMs).toBeLessThanOrEqual(2_000)
  })

  test('a script that goes on after an outage loses no event that it tracks afterwards', async () => {
    const { analytics, clock, runOutOfWork, restore } = await createOnProcess({ exitTimeout: 1_000 }, [
      hangUntilAborted,
      status(200),
    ])
    const { outcomes, callback } = recordOutcomes()

    for (let round = 0; round < 3; round++) {
      trackPurchases(analytics, 1, callback)
      await runOutOfWork()
      await clock.advance(1_000)
    }
    restore()

    expect(outcomes).toEqual(['shutdown_timeout', 'delivered', 'delivered'])
  })
})

describe('with the global fetch', () => {
  const server = setupServer()
  beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
  afterEach(() => server.resetHandlers())
  afterAll(() => server.close())

  function createOverFetch(settings: object = {}): Analytics {
    const { analytics } = createAnalytics({ ...settings, httpClient: undefined })
    return analytics
  }

  test('an event is sent as JSON with the write key as credentials', async () => {
    const seen: { body: unknown; headers: Headers }[] = []
    server.use(
      http.post('https://api.segment.io/v1/batch', async ({ request }) => {
        seen.push({ body: await request.json(), headers: request.headers })
        return HttpResponse.json({ success: true })
      }),
    )
    const analytics = createOverFetch()

    analytics.track({ userId: 'usr_Zoë', event: 'Commande passée 🍰' })
    const summary = await analytics.flush()

    expect(summary).toEqual({ delivered: 1, failed: 0, pending: 0 })
    expect(seen[0]?.body).toMatchObject({ batch: [{ event: 'Commande passée 🍰' }], writeKey: WRITE_KEY })
    expect(seen[0]?.headers.get('authorization')).toBe(`Basic ${BASIC}`)
  })

  test('a redirect is not followed, and the error names its host', async () => {
    server.use(
      http.post('https://api.segment.io/v1/batch', () =>
        HttpResponse.text(null, { status: 307, headers: { Location: 'https://login.example/x' } }),
      ),
    )
    const analytics = createOverFetch()
    const errors: DeliveryError[] = []
    analytics.on('error', ({ reason }) => errors.push(reason))

    trackPurchases(analytics, 1)
    await analytics.flush()

    expect(errors[0]?.code).toBe('rejected')
    expect(errors[0]?.message).toMatch(/^\[307\] .*: the redirect to login\.example was not followed$/)
  })

  test('an event counts as delivered when the response is 200 with a web page', async () => {
    server.use(http.post('https://api.segment.io/v1/batch', () => HttpResponse.html('<h1>Bienvenue</h1>')))
    const analytics = createOverFetch()

    trackPurchases(analytics, 1)

    expect(await analytics.flush()).toMatchObject({ delivered: 1 })
  })

  test('a network failure is reported with the message of fetch', async () => {
    server.use(http.post('https://api.segment.io/v1/batch', () => HttpResponse.error()))
    const analytics = createOverFetch({ maxRetries: 0 })
    const errors: DeliveryError[] = []
    analytics.on('error', ({ reason }) => errors.push(reason))

    trackPurchases(analytics, 1)
    await analytics.flush()

    expect(errors[0]).toMatchObject({ code: 'retries_exhausted' })
    expect(errors[0]?.message).toContain('Failed to fetch')
  })
})

describe('an HTTP client that misbehaves', () => {
  test.each<[string, Parameters<typeof createAnalytics>[1]]>([
    [
      'headers that throw',
      [
        () => ({
          status: 503,
          statusText: 'Service Unavailable',
          get headers(): never {
            throw new Error('non')
          },
        }),
      ],
    ],
    [
      'a header that throws',
      [
        () => ({
          status: 503,
          statusText: 'Service Unavailable',
          headers: {
            get 'retry-after'() {
              throw new Error('non')
            },
          },
        }),
      ],
    ],
    ['a response of undefined', [() => undefined as never]],
    ['a connection that is lost each time', [networkError('ECONNRESET')]],
  ])('%s: requests are repeated, and the event fails with retries_exhausted', async (_label, replies) => {
    const { analytics, clock } = createAnalytics({ maxRetries: 1 }, replies)
    const { outcomes, callback } = recordOutcomes()

    trackPurchases(analytics, 1, callback)
    void analytics.flush()
    await clock.advance(60_000)

    expect(outcomes).toEqual(['retries_exhausted'])
  })
})

test('flush calls a callback with no error and the summary, and a callback that throws has no other effect', async () => {
  const { analytics } = createAnalytics()
  trackPurchases(analytics, 3)
  const calls: unknown[][] = []

  const summary = await analytics.flush((...args) => {
    calls.push(args)
    throw new Error('the callback of a flush')
  })

  expect(summary).toEqual({ delivered: 3, failed: 0, pending: 0 })
  expect(calls).toEqual([[undefined, summary]])
})

describe('custom limits in bytes', () => {
  /** A purchase whose message has about `bytes` bytes. */
  const purchase = (bytes: number) => ({
    userId: 'u',
    event: 'Commande passée',
    properties: { note: 'x'.repeat(bytes - 400) },
  })

  test('a message up to maxMessageBytes is delivered, and a larger one fails with an error that names the limit', async () => {
    const { analytics } = createAnalytics({ maxMessageBytes: 65_536 })
    const errors: string[] = []

    analytics.track(purchase(65_000), (error) => errors.push(error?.message ?? 'delivered'))
    analytics.track(purchase(66_500), (error) => errors.push(error?.message ?? 'delivered'))
    await analytics.flush()

    expect(errors.sort()).toEqual([
      'delivered',
      expect.stringMatching(/^the message has 66\d{3} bytes; the limit is 65536$/),
    ])
  })

  test('no request body is larger than maxBodyBytes', async () => {
    const { analytics, client } = createAnalytics({
      maxMessageBytes: 2_048,
      maxBodyBytes: 8_192,
      flushAt: 100,
    })
    for (let number = 0; number < 40; number++) analytics.track(purchase(1_500))

    const summary = await analytics.flush()

    const sizes = client.requests.map(({ body }) => Buffer.byteLength(JSON.stringify(body)))
    expect(summary.delivered).toBe(40)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(8_192)
    expect(Math.min(...sizes)).toBeGreaterThan(4_096)
  })
})
