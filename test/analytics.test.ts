import { inspect } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { Analytics } from '../src/analytics.ts'
import DefaultExport, { Analytics as NamedExport } from '../src/index.ts'
import type { Kind } from '../src/message/types.ts'
import { KINDS } from '../src/message/wire.ts'
import type { Callback, Context } from '../src/pipeline/context.ts'
import { VERSION } from '../src/version.ts'
import { createAnalytics, trackPurchases, WRITE_KEY } from './support/create-analytics.ts'
import { settled } from './support/fake-clock.ts'
import { catchProcessWarnings } from './support/process-warnings.ts'
import type { SentRequest } from './support/scripted-client.ts'
import { failOnUnhandledRejections } from './support/unhandled.ts'

const NOW = '2026-11-20T09:30:00.000Z'
const BASIC = btoa(`${WRITE_KEY}:`)
const LIBRARY = { name: 'trackpost', version: VERSION }
const METADATA = { nodeVersion: process.versions.node, jsRuntime: 'node' }

failOnUnhandledRejections()
catchProcessWarnings()

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

  test('VERSION, the named export and the default export exist', () => {
    expect(createAnalytics().analytics.VERSION).toBe(VERSION)
    expect(NamedExport).toBe(Analytics)
    expect(DefaultExport).toBe(Analytics)
  })
})

describe('the event that is sent', () => {
  test('B50: does not contain later changes by the caller', async () => {
    const { analytics, client } = createAnalytics()
    const at = new Date('2019-07-01T10:00:00Z')
    const properties = { article: { name: 'Thé' }, list: [1, 2], at, gone: { a: 1 } }

    analytics.track({ userId: 'usr_Zoë', event: 'Commande passée', properties, timestamp: at })
    properties.article.name = 'Café'
    properties.list.push(3)
    Reflect.deleteProperty(properties.gone, 'a')
    at.setFullYear(1999)
    await analytics.flush()

    expect(client.requests[0]?.batch[0]).toMatchObject({
      timestamp: '2019-07-01T10:00:00.000Z',
      properties: { article: { name: 'Thé' }, list: [1, 2], at: '2019-07-01T10:00:00.000Z', gone: { a: 1 } },
    })
  })

  test('B51: is new for each call: one object used for 10,000 calls gives 10,000 events', async () => {
    const { analytics, client } = createAnalytics()
    const params = { userId: 'usr_Zoë', event: 'Vue', properties: { number: 0 } }

    for (let number = 0; number < 10_000; number++) {
      params.properties.number = number
      analytics.track(params)
    }
    await analytics.flush()

    const sent = client.requests.flatMap(({ batch }) => batch as { properties?: { number: number } }[])
    expect(sent.map(({ properties }) => properties?.number)).toEqual(
      Array.from({ length: 10_000 }, (_, i) => i),
    )
  })

  test('B54: may be tracked in a getter of another event', async () => {
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

  test('drained is emitted once what a callback has tracked has its outcome too', async () => {
    const { analytics, clock } = createAnalytics({ flushAt: 1 })
    const told: string[] = []
    analytics.on('drained', () => told.push('drained'))
    analytics.track({ userId: 'ada', event: 'First' }, () => {
      told.push('first')
      analytics.track({ userId: 'ada', event: 'Second' }, () => told.push('second'))
    })

    await clock.advance(100)

    expect(told).toEqual(['first', 'second', 'drained'])
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
})

describe('closeAndFlush', () => {
  test('F77: delivers the queued events, and leaves no timer and no hold on the process', async () => {
    const { analytics, clock } = createAnalytics()
    trackPurchases(analytics, 1_000)

    const summary = await analytics.closeAndFlush()

    expect(summary).toEqual({ delivered: 1_000, failed: 0, pending: 0 })
    expect(clock.timerCount).toBe(0)
    expect(clock.holdCount).toBe(0)
  })

  test('is called by Symbol.asyncDispose, as at the end of a block with await using', async () => {
    const { analytics, client } = createAnalytics()

    trackPurchases(analytics, 2)
    await analytics[Symbol.asyncDispose]()

    expect(client.batchSizes).toEqual([2])
    trackPurchases(analytics, 1)
    await settled()
    expect(analytics.stats.failures.closed).toBe(1)
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
})
