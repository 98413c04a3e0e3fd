import { describe, expect, test } from 'vitest'
import type { WarningEvent } from '../../src/client/events.ts'
import { createAnalytics, recordOutcomes } from '../support/create-analytics.ts'
import { settled } from '../support/fake-clock.ts'
import { catchProcessWarnings } from '../support/process-warnings.ts'

const warnings = catchProcessWarnings()

/** Passes a value of a wrong type, as JavaScript callers can. */
const untyped = (value: unknown) => value as () => boolean

test('disable: true sends nothing, and causes no warning; bad and too large events fail nevertheless', async () => {
  const { analytics, client, clock } = createAnalytics({ disable: true, flushAt: 1 })
  const { outcomes, callback } = recordOutcomes()

  analytics.track({ userId: 'ada', event: 'Order Completed' }, callback)
  analytics.track({} as never, callback)
  analytics.track({ userId: 'u', event: 'Vue', properties: { text: 'é'.repeat(16_400) } }, callback)

  expect(await analytics.flush()).toEqual({ delivered: 1, failed: 2, pending: 0 })
  expect(await analytics.closeAndFlush()).toEqual({ delivered: 0, failed: 0, pending: 0 })
  expect(outcomes.sort()).toEqual(['delivered', 'invalid', 'too_large'])
  expect(client.requests).toEqual([])
  expect(clock.timerCount).toBe(0)
  expect(warnings).toEqual([])
})

describe('disable as a function', () => {
  test('is called for every event, and decides for this event alone', async () => {
    let isGiven = false
    const { analytics, client } = createAnalytics({ disable: () => !isGiven })
    const { outcomes, callback } = recordOutcomes()

    analytics.track({ userId: 'ada', event: 'Before', messageId: 'm1' }, callback)
    isGiven = true
    analytics.track({ userId: 'ada', event: 'During', messageId: 'm2' }, callback)
    isGiven = false
    analytics.track({ userId: 'ada', event: 'After', messageId: 'm3' }, callback)
    await analytics.flush()

    expect(client.requests.flatMap(({ messageIds }) => messageIds)).toEqual(['m2'])
    expect(outcomes).toEqual(['delivered', 'delivered', 'delivered'])
    expect(analytics.stats).toMatchObject({ accepted: 3, delivered: 3, pending: 0 })
  })

  test('decides at the time of the call, however long a plugin takes', async () => {
    let isDisabled = true
    let go = (): void => {}
    const { analytics, client } = createAnalytics({ disable: () => isDisabled })
    await analytics.register({
      name: 'slow',
      type: 'before',
      track: (ctx) =>
        new Promise((resolve) => {
          go = () => resolve(ctx)
        }),
    })

    analytics.track({ userId: 'ada', event: 'Refused' })
    isDisabled = false
    await settled()
    go()
    await analytics.flush()

    expect(client.requests).toEqual([])
    expect(analytics.stats.delivered).toBe(1)
  })

  test.each([
    ['throws', () => untyped(fail)],
    ['returns a promise', () => untyped(async () => false)],
    ['returns a promise that rejects', () => untyped(() => Promise.reject(new Error('no store')))],
    ['returns nothing', () => untyped(() => undefined)],
    ['returns a word', () => untyped(() => 'false')],
    ['returns 0', () => untyped(() => 0)],
    [
      'returns an object whose then throws',
      () => untyped(() => Object.defineProperty({}, 'then', { get: fail })),
    ],
  ])('sends nothing and causes a warning if it %s', async (_, create) => {
    const { analytics, client } = createAnalytics({ disable: create() })
    const heard: WarningEvent[] = []
    analytics.on('warning', (warning) => heard.push(warning))
    const { outcomes, callback } = recordOutcomes()

    analytics.track({ userId: 'ada', event: 'Order Completed' }, callback)
    await analytics.flush()

    expect(client.requests).toEqual([])
    expect(outcomes).toEqual(['delivered'])
    expect(heard.map(({ code }) => code)).toEqual(['disable'])
    expect(heard[0]?.reason).toBeInstanceOf(Error)
    expect(warnings).toEqual([])
  })

  test('causes one process warning for all failures when there is no listener, with the error and its place', async () => {
    const { analytics } = createAnalytics({
      disable: () => {
        throw new Error('no consent store')
      },
    })

    for (let n = 0; n < 3; n++) analytics.track({ userId: 'ada', event: 'Order Completed' })
    await analytics.flush()

    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('disable')
    expect(warnings[0]).toMatch(/no consent store \(at .*disable\.test\.ts:\d+:\d+\)/)
  })

  test.each([
    ['a string', () => 'yes, secret'],
    ['a promise', async () => fail()],
    ['null', () => null],
  ])('causes a process warning that says that it returned %s', async (got, disable) => {
    const { analytics } = createAnalytics({ disable: disable as never })

    analytics.track({ userId: 'ada', event: 'Order Completed' })
    await analytics.flush()

    expect(warnings).toEqual([
      expect.stringContaining(`disable: expected a boolean, got ${got}; nothing is sent`),
    ])
    expect(warnings[0]).not.toContain('secret')
  })

  test('is not called for an event that it tracks itself, and that event is not sent', async () => {
    let asked = 0
    const { analytics, client } = createAnalytics({
      disable: () => {
        if (++asked < 50) analytics.track({ userId: 'ada', event: 'Asked' })
        return false
      },
    })

    analytics.track({ userId: 'ada', event: 'Order Completed' })
    await analytics.flush()

    expect(asked).toBe(1)
    expect(client.requests.flatMap(({ batch }) => batch.map(({ event }) => event))).toEqual([
      'Order Completed',
    ])
    expect(analytics.stats).toMatchObject({ accepted: 2, delivered: 2 })
  })

  test('is left out of the settings in the initialize event', async () => {
    const { analytics } = createAnalytics({ disable: () => false, headers: { 'X-Tenant': 'a' } })
    const shown: object[] = []
    analytics.on('initialize', (settings) => shown.push(settings))

    await analytics.flush()
    await Promise.resolve()

    expect(shown).toHaveLength(1)
    expect(shown[0]).not.toHaveProperty('disable')
    expect(shown[0]).not.toHaveProperty('headers')
  })
})

function fail(): never {
  throw new Error('the consent store is gone')
}
