import { describe, expect, test } from 'vitest'
import { KINDS } from '../../src/message/wire.ts'
import type { Plugin } from '../../src/pipeline/plugin.ts'
import { PLUGIN_TYPES } from '../../src/pipeline/registration.ts'
import { createAnalytics, recordOutcomes, trackPurchases } from '../support/create-analytics.ts'
import { settled } from '../support/fake-clock.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()

function callAll(analytics: ReturnType<typeof createAnalytics>['analytics']): void {
  for (const kind of KINDS) {
    analytics[kind]({ userId: 'usr_Zoë', event: 'Panier vu', groupId: 'g', previousId: 'p' } as never)
  }
}

describe('a handler for all kinds', () => {
  test.each(PLUGIN_TYPES)(
    'of a %s plugin is called for each kind, as a method of its plugin',
    async (type) => {
      const { analytics } = createAnalytics()
      const seen: unknown[] = []
      const plugin: Plugin = {
        name: 'tout',
        type,
        all(ctx) {
          seen.push([this === plugin, ctx.event.type])
        },
      }
      await analytics.register(plugin)

      callAll(analytics)
      await analytics.flush()

      expect(seen).toEqual(KINDS.map((kind) => [true, kind]))
    },
  )

  test('is not called for a kind that has its own handler', async () => {
    const { analytics } = createAnalytics()
    const seen: string[] = []
    await analytics.register({
      name: 'tout',
      type: 'before',
      all: (ctx) => void seen.push(`all: ${ctx.event.type}`),
      track: (ctx) => void seen.push(`track: ${ctx.event.type}`),
      alias: undefined as never,
    })

    callAll(analytics)
    await settled()

    expect(seen).toEqual(KINDS.map((kind) => `${kind === 'track' ? 'track' : 'all'}: ${kind}`))
  })
})

describe('a problem that a plugin reports', () => {
  const reporting = (name: string, type: Plugin['type']): Plugin => ({
    name,
    type,
    async track(ctx) {
      await undefined
      ctx.report(name, new TypeError('prix manquant'))
    },
  })

  test.each(PLUGIN_TYPES)('reaches warning listeners from a %s plugin, and loses no event', async (type) => {
    const { analytics } = createAnalytics()
    const { outcomes, callback } = recordOutcomes()
    const warnings: unknown[] = []
    analytics.on('warning', ({ code, plugin, reason, ctx }) => {
      const { message, cause } = reason as Error
      warnings.push([code, plugin, message, (cause as Error).name, ctx?.id])
    })
    await analytics.register(reporting('un', type), reporting('deux', type))

    trackPurchases(analytics, 1, callback)
    await settled()
    await analytics.flush()

    const told = (name: string) => [
      'plugin',
      name,
      `the plugin '${name}' reported: prix manquant`,
      'TypeError',
      'purchase-1',
    ]
    expect(warnings).toEqual([told('un'), told('deux')])
    expect(outcomes).toEqual(['delivered'])
  })

  test('becomes one process warning for each plugin when there is no listener', async () => {
    const { analytics } = createAnalytics()
    const warnings: string[] = []
    const note = ({ message, name }: Error): void => {
      if (name === 'TrackpostWarning') warnings.push(message)
    }
    process.on('warning', note)
    await analytics.register(reporting('un', 'before'), reporting('deux', 'enrichment'))

    trackPurchases(analytics, 3)
    await settled()
    await analytics.flush()
    await settled()
    process.off('warning', note)

    expect(warnings).toEqual(['un', 'deux'].map((name) => `the plugin '${name}' reported: prix manquant`))
  })
})
