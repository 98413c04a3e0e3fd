import { describe, expect, test } from 'vitest'
import { KINDS } from '../../src/message/wire.ts'
import type { Plugin } from '../../src/pipeline/plugin.ts'
import { filter, rename } from '../../src/plugins.ts'
import { createAnalytics, recordOutcomes } from '../support/create-analytics.ts'
import { settled } from '../support/fake-clock.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()

describe('a filter function', () => {
  test.each([
    ['synchronous', (type: string) => type !== 'page'],
    ['asynchronous', async (type: string) => type !== 'page'],
  ])('that is %s lets events of every kind through when it returns true', async (_label, decide) => {
    const { analytics, client } = createAnalytics()
    const reasons: string[] = []
    analytics.on('error', ({ reason }) => reasons.push(reason.message))
    await analytics.register(filter(({ type }) => decide(type)))

    for (const kind of KINDS) {
      analytics[kind]({ userId: 'u', event: 'e', groupId: 'g', previousId: 'p' } as never)
    }
    await settled()
    await analytics.flush()

    const sent = client.requests.flatMap(({ batch }) => batch.map(({ type }) => type))
    expect(sent).toEqual(KINDS.filter((kind) => kind !== 'page'))
    expect(reasons).toEqual(["the plugin 'filter' dropped the event: the filter refused it"])
  })

  test.each([undefined, null, 0, 1, '', 'true', {}, []])('that returns %j drops the event', async (value) => {
    for (const predicate of [() => value, async () => value]) {
      const { analytics, client } = createAnalytics()
      const { outcomes, callback } = recordOutcomes()
      await analytics.register(filter(predicate as never))

      analytics.track({ userId: 'u', event: 'e' }, callback)
      await settled()
      await analytics.flush()

      expect(outcomes).toEqual(['plugin'])
      expect(client.requests).toEqual([])
    }
  })

  test('that is synchronous makes the plugin synchronous', () => {
    const { all } = filter(() => true) as Required<Plugin>

    expect(all({ event: {} } as never)).toBeUndefined()
  })

  test.each([
    [undefined, {}, 'predicate: expected a function, got undefined'],
    [() => true, { nom: 'x' }, "there is no option 'nom'; the options are name"],
    [() => true, { name: 5 }, 'name: expected a non-empty string, got a number'],
  ])('with %j and %j is refused when the plugin is created', (predicate, options, message) => {
    expect(() => filter(predicate as never, options as never)).toThrow(message)
  })
})

describe('rename', () => {
  test('gives each track event its new name, does not rename it again, and changes no other events', async () => {
    const { analytics, client } = createAnalytics()
    await analytics.register(rename({ a: 'b', b: 'a', order_completed: 'Order Completed' }))

    for (const event of ['a', 'b', 'order_completed', 'Order_Completed', 'constructor', '__proto__']) {
      analytics.track({ userId: 'u', event })
    }
    analytics.page({ userId: 'u', name: 'a' })
    await analytics.flush()

    const sent = client.requests.flatMap(({ batch }) => batch.map(({ event, name }) => event ?? name))
    expect(sent).toEqual(['b', 'a', 'Order Completed', 'Order_Completed', 'constructor', '__proto__', 'a'])
  })

  test('does not change a name that another plugin has replaced by something that is not a string', async () => {
    const { track } = rename({ '5': 'five', undefined: 'none' }) as Required<Plugin>
    const events: object[] = [{ event: 5 }, { event: undefined }, { event: { toString: () => '5' } }]
    const before = events.map((event) => ({ ...event }))

    for (const event of events) track({ event } as never)

    expect(events).toEqual(before)
  })

  test('works with 300,000 names', async () => {
    const names = Object.fromEntries(
      Array.from({ length: 300_000 }, (_, index) => [`n${index}`, `N${index}`]),
    )
    const { track } = rename(names) as Required<Plugin>
    const event = { event: 'n299999' }

    track({ event } as never)

    expect(event).toEqual({ event: 'N299999' })
  })

  test.each([
    [null, {}, 'names: expected an object, got null'],
    [['a'], {}, 'names: expected an object, got an array'],
    [{ a: '' }, {}, 'a: expected a non-empty string, got an empty string'],
    [{ a: 5 }, {}, 'a: expected a non-empty string, got a number'],
    [{}, { nom: 'x' }, "there is no option 'nom'"],
  ])('with %j and %j is refused when the plugin is created', (names, options, message) => {
    expect(() => rename(names as never, options as never)).toThrow(message)
  })
})
