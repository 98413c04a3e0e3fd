import { describe, expect, test, vi } from 'vitest'
import { KINDS } from '../../src/message/wire.ts'
import { Context } from '../../src/pipeline/context.ts'
import type { Plugin } from '../../src/pipeline/plugin.ts'
import { createAnalytics, recordOutcomes, trackPurchases } from '../support/create-analytics.ts'
import { settled } from '../support/fake-clock.ts'
import { silence, status } from '../support/scripted-client.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()

describe('an event between the plugins and its outcome', () => {
  const enrich: Plugin = {
    name: 'release',
    type: 'enrichment',
    track: (ctx) => ctx.updateEvent('context.release', '7'),
  }

  test('is passed to a listener that was added after the call, as the plugins left it', async () => {
    const { analytics } = createAnalytics()
    await analytics.register(enrich)
    const seen: unknown[] = []

    trackPurchases(analytics, 1)
    analytics.on('track', (ctx) => seen.push([ctx.id, ctx.attempts, ctx.event.context['release']]))
    await analytics.flush()

    expect(seen).toEqual([['purchase-1', 1, '7']])
  })

  test('has the log entries of the plugins', async () => {
    const { analytics } = createAnalytics()
    await analytics.register({ name: 'note', type: 'before', track: (ctx) => ctx.log('info', 'vu') })
    const notes: string[] = []

    trackPurchases(analytics, 1)
    analytics.on('track', (ctx) => notes.push(...ctx.logs().map(({ message }) => message)))
    await analytics.flush()

    expect(notes).toEqual(['vu'])
  })

  test('is passed to an `after` plugin that was registered after the call', async () => {
    const { analytics } = createAnalytics()
    await analytics.register(enrich)
    const seen: unknown[] = []

    trackPurchases(analytics, 1)
    await analytics.register({
      name: 'audit',
      type: 'after',
      track: (ctx) => void seen.push([ctx.id, ctx.attempts, ctx.event.context['release']]),
    })
    await analytics.flush()

    expect(seen).toEqual([['purchase-1', 1, '7']])
  })

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

  test.each([
    ['track', 200],
    ['error', 400],
  ] as const)(
    'is passed to a listener for %s as the Context that the plugins got, even without a callback',
    async (name, code) => {
      const { analytics } = createAnalytics({}, [status(code)])
      const seen: unknown[] = []
      await analytics.register({ name: 'first', type: 'before', track: (ctx) => void seen.push(ctx) })
      analytics.on(name, (given) => seen.push(given instanceof Context ? given : given.ctx))

      trackPurchases(analytics, 1)
      await analytics.flush()

      expect(seen).toHaveLength(2)
      expect(seen[1]).toBe(seen[0])
    },
  )

  test('is not passed to an `after` plugin when a plugin has dropped it', async () => {
    const { analytics } = createAnalytics()
    const track = vi.fn()
    await analytics.register(
      { name: 'drop', type: 'before', track: () => null as never },
      { name: 'audit', type: 'after', track },
    )

    trackPurchases(analytics, 1)
    await analytics.flush()

    expect(analytics.stats.failures.plugin).toBe(1)
    expect(track).not.toHaveBeenCalled()
  })
})

// docs/faults.md, row F105.
describe('an asynchronous plugin that tracks', () => {
  test('for each event it handles leaves time for timers', async () => {
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

  test('with drop-oldest, the oldest waiting event makes room for an event that is inside a plugin', async () => {
    const { analytics } = createAnalytics({ maxQueueSize: 3, overflow: 'drop-oldest' }, [silence])
    const outcomes: unknown[] = []
    analytics.on('error', ({ code, ctx }) => outcomes.push([code, ctx?.id]))
    await analytics.register(keeper(4))

    trackPurchases(analytics, 4)
    await settled()

    expect(outcomes).toEqual([['queue_full', 'purchase-1']])
    expect(analytics.stats.pending).toBe(3)
  })
})

test('a getter is read once for each event, even when events wait inside an asynchronous plugin', async () => {
  const { analytics, client } = createAnalytics()
  await analytics.register({ name: 'slow', type: 'enrichment', track: async () => {} })
  let reads = 0
  const properties = {
    get total() {
      return ++reads
    },
  }

  for (let index = 0; index < 3; index++) analytics.track({ userId: 'usr_Zoë', event: 'Départ', properties })
  await analytics.flush()

  const totals = client.requests
    .flatMap(({ batch }) => batch)
    .map(({ properties }) => (properties as { total?: unknown }).total)
  expect([totals, reads]).toEqual([[1, 2, 3], 3])
})

describe('the return value of a plugin', () => {
  const replacements: [string, (ctx: Context) => unknown][] = [
    ['another context', ({ event }) => new Context({ ...event, event: 'Commande masquée' })],
    ['an event', ({ event }) => ({ ...event, event: 'Commande masquée' })],
    ['a promise of a context', async ({ event }) => new Context({ ...event, event: 'Commande masquée' })],
    ['a promise of an event', async ({ event }) => ({ ...event, event: 'Commande masquée' })],
  ]

  test.each(replacements)('that is %s is sent, and passed to the callback', async (_label, replace) => {
    const { analytics, client } = createAnalytics()
    const seen: (string | undefined)[] = []
    await analytics.register({ name: 'masque', type: 'before', track: replace as never })

    trackPurchases(analytics, 2, (_error, ctx) => seen.push(ctx?.event.event))
    await settled()
    await analytics.flush()

    expect(client.requests[0]?.batch.map(({ event }) => event)).toEqual([
      'Commande masquée',
      'Commande masquée',
    ])
    expect(client.requests[0]?.messageIds).toEqual(['purchase-1', 'purchase-2'])
    expect(seen).toEqual(['Commande masquée', 'Commande masquée'])
  })

  test.each([null, false, 5, 'x', {}])('of type before makes an event fail if it is %j', async (value) => {
    const { analytics, client } = createAnalytics()
    const { outcomes, callback } = recordOutcomes()
    await analytics.register({ name: 'masque', type: 'before', track: () => value as never })

    trackPurchases(analytics, 2, callback)
    await analytics.flush()

    expect(outcomes).toEqual(['plugin', 'plugin'])
    expect(client.requests).toEqual([])
  })
})

describe('plugins that cannot be used', () => {
  const broken: Plugin = {
    name: 'cassé',
    type: 'before',
    load() {
      throw new Error('non')
    },
  }

  test('are named in a warning, if they have a name', async () => {
    const { analytics } = createAnalytics()
    const named: unknown[] = []
    analytics.on('warning', ({ plugin }) => named.push(plugin))

    await analytics.register({ name: 'a', type: 'middle' as never }, undefined as never)

    expect(named).toEqual(['a', ''])
  })

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

test('plugins of type after, and then those of type utility, get the outcome', async () => {
  const { analytics } = createAnalytics()
  const seen: string[] = []
  const observe = (name: string, type: Plugin['type']): Plugin => ({
    name,
    type,
    track(ctx) {
      seen.push(`${name}: ${ctx.attempts}, ${ctx.stats.metrics.length}`)
    },
  })
  await analytics.register(observe('outil', 'utility'), observe('bilan', 'after'), {
    name: 'compteur',
    type: 'enrichment',
    track(ctx) {
      ctx.stats.increment('vus')
      return ctx
    },
  })

  trackPurchases(analytics, 1)
  await analytics.flush()

  expect(seen).toEqual(['bilan: 1, 1', 'outil: 1, 1'])
})

test('a log entry has the time of the clock', async () => {
  const { analytics, clock } = createAnalytics()
  const times: (Date | undefined)[] = []
  await analytics.register({
    name: 'a',
    type: 'before',
    track(ctx) {
      ctx.log('info', 'vu')
    },
  })

  trackPurchases(analytics, 1, (_error, ctx) => times.push(ctx?.logs()[0]?.time))
  await analytics.flush()

  expect(times).toEqual([new Date(clock.now())])
})

test('a text over the default limit passes through plugins when maxMessageBytes allows it', async () => {
  const { analytics } = createAnalytics({ maxMessageBytes: 100_000 })
  const { outcomes, callback } = recordOutcomes()
  await analytics.register({ name: 'a', type: 'before', track: (ctx) => ctx })

  analytics.track({ userId: 'u', event: 'e', properties: { text: 'x'.repeat(50_000) } }, callback)
  analytics.track({ userId: 'u', event: 'e', properties: { text: 'x'.repeat(50_000), odd: 5n } }, callback)
  await analytics.flush()

  expect(outcomes).toEqual(['delivered', 'delivered'])
})
