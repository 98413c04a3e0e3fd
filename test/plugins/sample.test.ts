import { describe, expect, test } from 'vitest'
import { shareOf } from '../../src/plugins/sample.ts'
import { type SampleOptions, sample } from '../../src/plugins.ts'
import { createAnalytics, recordOutcomes } from '../support/create-analytics.ts'

async function keptUsers(options: SampleOptions, count: number): Promise<string[]> {
  const { analytics, client } = createAnalytics({ flushAt: 1_000 })
  analytics.on('error', () => {})
  await analytics.register(sample(options))
  for (let user = 0; user < count; user++) analytics.track({ userId: `usr_${user}`, event: 'e' })
  await analytics.flush()
  return client.requests.flatMap(({ batch }) => batch.map(({ userId }) => String(userId)))
}

describe('the sampled users', () => {
  test.each([
    // These values must never change: another hash would move users in and out of samples.
    ['usr_Zoë', 0.2616278985515237],
    ['usr_1042', 0.955776279559359],
    ['', 0.6689221884589642],
    ['🍵', 0.5635208238381892],
  ])('the share of %j never changes', (text, share) => {
    expect(shareOf(text)).toBe(share)
  })

  test.each([0.01, 0.1, 0.5, 0.9])('a rate of %d keeps about that share of the users', (rate) => {
    const count = 20_000
    const kept = Array.from({ length: count }, (_, user) => shareOf(`usr_${user}`)).filter(
      (one) => one < rate,
    )

    // A fair draw stays within four standard deviations.
    const deviation = Math.sqrt(count * rate * (1 - rate))
    expect(Math.abs(kept.length - count * rate)).toBeLessThan(4 * deviation)
  })
})

describe('a sample', () => {
  test('keeps the same users each time, and keeps them at a higher rate too', async () => {
    const some = await keptUsers({ rate: 0.2 }, 300)
    const again = await keptUsers({ rate: 0.2 }, 300)
    const more = await keptUsers({ rate: 0.5 }, 300)

    expect(again).toEqual(some)
    expect(some.length).toBeGreaterThan(0)
    expect(more.length).toBeGreaterThan(some.length)
    expect(more).toEqual(expect.arrayContaining(some))
  })

  test.each([
    [0, 0],
    [1, 50],
  ])('at a rate of %d keeps %d of 50 users', async (rate, expected) => {
    expect(await keptUsers({ rate }, 50)).toHaveLength(expected)
  })

  test('uses userId, or else anonymousId, for every kind; a dropped event fails with the code plugin', async () => {
    const { analytics } = createAnalytics()
    const { outcomes, callback } = recordOutcomes()
    await analytics.register(sample({ rate: 0.2617 }))

    analytics.track({ userId: 'usr_Zoë', anonymousId: 'x', event: 'e' }, callback)
    analytics.page({ anonymousId: 'usr_Zoë' }, callback)
    await analytics.deregister('sample')
    await analytics.register(sample({ rate: 0.2615 }))
    analytics.group({ userId: 'usr_Zoë', groupId: 'g' }, callback)
    analytics.screen({ anonymousId: 'usr_Zoë' }, callback)
    await analytics.flush()

    expect([...outcomes].sort()).toEqual(['delivered', 'delivered', 'plugin', 'plugin'])
  })

  test('by a custom key keeps events without a key, and an invalid key loses only its event', async () => {
    const { analytics } = createAnalytics()
    const { outcomes, callback } = recordOutcomes()
    const keys: unknown[] = [undefined, null, 7, '', {}, Symbol('s'), Promise.resolve('x')]
    await analytics.register(
      sample({
        rate: 1,
        by: ({ properties }) => {
          if (properties?.['index'] === 7) throw new Error('non')
          return keys[Number(properties?.['index'])] as never
        },
      }),
    )

    for (let index = 0; index < 8; index++) {
      analytics.track({ userId: 'u', event: 'e', properties: { index } }, callback)
    }
    const { delivered, failed } = await analytics.flush()

    expect([delivered, failed]).toEqual([4, 4])
    expect(outcomes.filter((outcome) => outcome === 'plugin')).toHaveLength(4)
  })

  test.each([
    ['no options', undefined, 'options: expected an object'],
    ['no rate', {}, 'rate: expected a number from 0 to 1, got undefined'],
    ['a rate of 10', { rate: 10 }, 'rate: expected a number from 0 to 1'],
    ['NaN', { rate: Number.NaN }, 'got NaN'],
    ['a rate that is text', { rate: '0.1' }, 'got a string'],
    ['a by that is no function', { rate: 1, by: 'userId' }, 'by: expected a function'],
    ['a misspelt option', { rate: 1, key: 'user' }, "there is no option 'key'"],
  ])('%s: refused when the plugin is created', (_label, options, message) => {
    expect(() => sample(options as never)).toThrow(TypeError)
    expect(() => sample(options as never)).toThrow(message)
  })
})
