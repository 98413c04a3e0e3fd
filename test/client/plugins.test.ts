import { describe, expect, test, vi } from 'vitest'
import { KINDS } from '../../src/message/wire.ts'
import type { Context } from '../../src/pipeline/context.ts'
import type { Plugin } from '../../src/pipeline/plugin.ts'
import { createAnalytics, recordOutcomes, trackPurchases } from '../support/create-analytics.ts'
import { settled } from '../support/fake-clock.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()

describe('an event between the plugins and its outcome', () => {
  test('is passed as the same Context to all callbacks and plugins that existed at the call', async () => {
    const { analytics } = createAnalytics()
    const seen: Context[] = []
    await analytics.register(
      { name: 'first', type: 'before', track: (ctx) => void seen.push(ctx) },
      { name: 'last', type: 'after', track: (ctx) => void seen.push(ctx) },
    )

    trackPurchases(analytics, 1, (_error, ctx) => seen.push(ctx as Context))
    await analytics.flush()
    await settled()

    expect(seen).toHaveLength(3)
    expect(new Set(seen).size).toBe(1)
  })

  test('is passed to an `after` plugin, with its error, when a plugin has dropped it', async () => {
    const { analytics } = createAnalytics()
    const track = vi.fn()
    await analytics.register(
      { name: 'drop', type: 'before', track: () => null as never },
      { name: 'audit', type: 'after', track },
    )

    trackPurchases(analytics, 1)
    await analytics.flush()

    expect(analytics.stats.failures.plugin).toBe(1)
    const [ctx] = track.mock.calls[0] as unknown as [Context]
    expect(ctx.failedDelivery()?.reason.code).toBe('plugin')
  })
})

describe('an asynchronous plugin that tracks', () => {
  test('F105: for each event it handles leaves time for timers', async () => {
    const { analytics } = createAnalytics()
    let handled = 0
    await analytics.register({
      name: 'écho',
      type: 'before',
      async track(ctx) {
        await undefined
        handled++
        // Without a limit, the plugin would track until this number is reached.
        if (handled < 20_000) analytics.track({ userId: 'usr_Zoë', event: 'écho' })
        return ctx
      },
    })

    trackPurchases(analytics, 1)
    await new Promise((resolve) => setTimeout(resolve, 0))

    expect(handled).toBeGreaterThan(500)
    expect(handled).toBeLessThan(2_000)
    await analytics.closeAndFlush({ timeout: -1 })
  })
})

describe('the bound of the queue', () => {
  const numberOf = ({ event }: Context): number => Number(event.properties?.['number'])
  const never = (): Promise<Context> => new Promise(() => {})

  /** A plugin that never settles for purchases from number `from` on. */
  function keeper(from: number, seen: number[] = []): Plugin {
    return {
      name: 'gardien',
      type: 'before',
      track(ctx) {
        seen.push(numberOf(ctx))
        return numberOf(ctx) < from ? ctx : never()
      },
    }
  }

  test('counts the events inside plugins, which end after five seconds', async () => {
    const { analytics, clock } = createAnalytics({ maxQueueSize: 3 })
    const { outcomes, callback } = recordOutcomes()
    await analytics.register(keeper(1))

    trackPurchases(analytics, 5, callback)
    await settled()
    expect(outcomes).toEqual(['queue_full', 'queue_full'])
    await clock.advance(5_000)

    expect(outcomes.slice(2)).toEqual(['plugin', 'plugin', 'plugin'])
  })
})

describe('F104: what a plugin makes of the event', () => {
  // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
  type Act = (ctx: any) => unknown
  const changing =
    (change: Act): Act =>
    (ctx) => {
      change(ctx)
      return ctx
    }
  const setting = (fields: object): Act => changing(({ event }) => Object.assign(event, fields))
  const throwing = () => {
    throw new Error('non')
  }
  /** The outcome: failed with the code, or delivered as the object. */
  const cases: [label: string, act: Act, end: string | object][] = [
    ['a frozen event', changing(({ event }) => Object.freeze(event)), {}],
    [
      '1 MB more (B57)',
      changing((ctx) => ctx.updateEvent('properties.fat', 'é'.repeat(500_000))),
      'too_large',
    ],
    ['another messageId', setting({ messageId: 'autre' }), { messageId: 'autre' }],
    ['a messageId of 100 characters', setting({ messageId: 'm'.repeat(100) }), 'invalid'],
    ['no messageId', changing(({ event }) => Reflect.deleteProperty(event, 'messageId')), 'invalid'],
    ['no type', changing(({ event }) => Reflect.deleteProperty(event, 'type')), { type: 'track' }],
    ['another type', setting({ type: 'alias' }), { type: 'track' }],
    ['no identity', setting({ userId: undefined }), 'invalid'],
    ['an invalid Date', setting({ timestamp: new Date(Number.NaN) }), 'invalid'],
    ['another Date', setting({ timestamp: new Date(0) }), { timestamp: '1970-01-01T00:00:00.000Z' }],
    [
      'its Date, set to another time',
      changing(({ event }) => event.timestamp.setUTCFullYear(2019)),
      { timestamp: '2019-11-20T09:30:00.000Z' },
    ],
    [
      'a cycle',
      changing(({ event: { context } }) => Object.assign(context, { self: context })),
      { context: { self: '[Circular]' } },
    ],
    ['a BigInt', changing((ctx) => ctx.updateEvent('context.big', 1n)), { context: { big: '1' } }],
    [
      'a getter that throws',
      changing(({ event }) => Object.defineProperty(event, 'bad', { get: throwing, enumerable: true })),
      'plugin',
    ],
  ]

  test.each(
    cases.flatMap(([label, act, end]) =>
      (['before', 'enrichment'] as const).map((type) => ({ label, act, end, type })),
    ),
  )('$label, of a plugin of type $type: $end', async ({ act, end, type }) => {
    const { analytics, client } = createAnalytics()
    analytics.on('warning', () => {})
    const outcomes: string[] = []
    const seen: (Context | undefined)[] = []
    await analytics.register({
      name: 'autre',
      type,
      track: (ctx) => (ctx.id === 'purchase-2' ? act(ctx) : ctx) as never,
    })

    for (const number of [1, 2, 3]) {
      analytics.track(
        { userId: 'ada', event: 'Commande', messageId: `purchase-${number}`, properties: { number } },
        (error, ctx) => {
          outcomes[number] = error?.code ?? 'delivered'
          seen[number] = ctx
        },
      )
    }
    await analytics.flush()

    if (end === 'too_large') {
      // With the size after the plugins.
      expect(seen[2]?.failedDelivery()?.reason.message).toMatch(
        /^the message has 1000\d{3} bytes; the limit is 32768$/,
      )
    }
    const isDelivered = typeof end === 'object'
    expect(outcomes.slice(1)).toEqual(['delivered', isDelivered ? 'delivered' : end, 'delivered'])
    const sent = client.requests.flatMap(({ batch }) => batch)
    const others = sent.filter(({ properties }) => JSON.stringify(properties) !== '{"number":2}')
    expect(others.length).toBeGreaterThanOrEqual(2)
    if (!isDelivered) return expect(sent).toHaveLength(2)
    const [message] = sent.filter(({ messageId }) => !['purchase-1', 'purchase-3'].includes(messageId))
    expect(message).toMatchObject({ type: 'track', userId: 'ada', event: 'Commande', ...end })
    expect(seen[2]?.event.event).toBe(message?.['event'])
  })
})

test("B52: what plugins write leaves the caller's objects as they were, and prototypes too", async () => {
  const { analytics, client } = createAnalytics()
  await analytics.register({
    name: 'writer',
    type: 'before',
    track: (ctx) => {
      ctx.updateEvent('properties.deep.added', 1)
      ctx.updateEvent('properties.__proto__.polluted', 1)
      ctx.updateEvent('constructor.prototype.polluted', 1)
      ctx.updateEvent('context.ip', '')
      ;(ctx.event.properties as { list: number[] }).list.push(9)
    },
  })
  const call = {
    userId: 'u',
    event: 'Mine',
    properties: { deep: { a: 1 }, list: [1], when: new Date(0) },
    context: { traits: { a: 1 } },
    integrations: { All: true },
  }
  const before = structuredClone(call)

  for (let count = 0; count < 3; count++) analytics.track(call)
  expect(call).toEqual(before)
  await analytics.flush()

  expect(call).toEqual(before)
  const properties = { deep: { a: 1, added: 1 }, list: [1, 9] }
  expect(client.requests[0]?.batch).toMatchObject(Array(3).fill({ properties, context: { ip: '' } }))
  expect(({} as { polluted?: number }).polluted).toBeUndefined()
})

describe('plugins that cannot be used', () => {
  const broken: Plugin = {
    name: 'cassé',
    type: 'before',
    load() {
      throw new Error('non')
    },
  }

  test('are not in the events register and deregister', async () => {
    const { analytics } = createAnalytics()
    const seen: unknown[] = []
    analytics.on('error', () => {})
    analytics.on('register', (names) => seen.push(['register', names]))
    analytics.on('deregister', (names) => seen.push(['deregister', names]))

    await analytics.register({ name: 'a', type: 'before' }, broken, 5 as never)
    await analytics.deregister('cassé', 'a', 'jamais vu')

    expect(seen).toEqual([
      ['register', ['a']],
      ['deregister', ['a']],
    ])
  })

  test.each([
    ['at once', undefined],
    ['later', async () => {}],
  ])('that load %s are in the event register before any of their handlers runs', async (_, load) => {
    const { analytics } = createAnalytics()
    const seen: unknown[] = []
    const track: Plugin['track'] = (ctx) => void seen.push(ctx.event.event)
    analytics.on('register', (names) => seen.push(names))
    const plugins = (['before', 'destination'] as const).map((type): Plugin => ({ name: type, type, track }))

    analytics.track({ userId: 'u', event: 'Signed Up' })
    const registered = analytics.register(...plugins.map((one) => (load ? { ...one, load } : one)))
    analytics.track({ userId: 'u', event: 'Order Completed' })
    await registered
    await analytics.flush()

    const names = load === undefined ? [['before', 'destination']] : [['before'], ['destination']]
    expect(seen.slice(0, names.length)).toEqual(names)
    expect(seen.slice(names.length).sort()).toEqual([
      'Order Completed',
      'Order Completed',
      'Signed Up',
      'Signed Up',
    ])
  })

  test('let all events fail when they are registered with onLoadFailure drop', async () => {
    const { analytics, client } = createAnalytics()
    const { outcomes, callback } = recordOutcomes()
    await analytics.register({ ...broken, onLoadFailure: 'drop' })

    trackPurchases(analytics, 1, callback)
    for (const kind of KINDS) {
      analytics[kind]({ userId: 'u', event: 'e', groupId: 'g', previousId: 'p' } as never, callback)
    }
    await analytics.flush()
    await analytics.deregister('cassé')
    trackPurchases(analytics, 1, callback)
    await analytics.flush()

    expect(outcomes).toEqual([...Array(7).fill('plugin'), 'delivered'])
    expect(client.requests.map(({ batch }) => batch.length)).toEqual([1])
  })
})
