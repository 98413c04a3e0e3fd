import { describe, expect, test } from 'vitest'
import type { WarningEvent } from '../../src/events/events.ts'
import { createAnalytics, recordOutcomes } from '../support/create-analytics.ts'
import { settled } from '../support/fake-clock.ts'
import { catchProcessWarnings } from '../support/process-warnings.ts'

const warnings = catchProcessWarnings()

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
    ['an error', fail, 'the consent store is gone (at '],
    ['a promise', async () => false, 'expected a boolean, got a promise; nothing is sent'],
    ['a promise that rejects', async () => fail(), 'expected a boolean, got a promise'],
    ['nothing', () => undefined, 'expected a boolean, got undefined'],
    ['a word', () => 'false, secret', 'expected a boolean, got a string; nothing is sent'],
    ['0', () => 0, 'expected a boolean, got a number'],
    ['null', () => null, 'expected a boolean, got null'],
    ['an object whose then throws', () => Object.defineProperty({}, 'then', { get: fail }), 'disable: '],
  ])('sends nothing if it gives %s, and causes a warning, or one process warning for all', async (...row) => {
    const [, disable, text] = row
    const { analytics, client } = createAnalytics({ disable: disable as () => boolean })
    const { outcomes, callback } = recordOutcomes()
    const heard: WarningEvent[] = []

    analytics.track({ userId: 'ada', event: 'Order Completed' }, callback)
    analytics.track({ userId: 'ada', event: 'Order Completed' }, callback)
    await analytics.flush()
    analytics.on('warning', (warning) => heard.push(warning))
    analytics.track({ userId: 'ada', event: 'Order Completed' }, callback)
    await analytics.flush()

    expect(client.requests).toEqual([])
    expect(outcomes).toEqual(['delivered', 'delivered', 'delivered'])
    expect(warnings).toEqual([expect.stringContaining(text)])
    expect(warnings[0]).not.toContain('secret')
    expect(heard).toEqual([expect.objectContaining({ code: 'disable', reason: expect.any(Error) })])
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
