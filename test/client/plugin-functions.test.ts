import { describe, expect, test } from 'vitest'
import type { PluginFunction } from '../../src/pipeline/registration.ts'
import { createTestClient } from '../../src/testing.ts'

const call = { userId: 'ada', event: 'Signed Up', properties: { password: 'engine', plan: 'pro' } }

describe('a function as a plugin', () => {
  test('gets each event of every kind, and its return value replaces the event', async () => {
    const { analytics, messages } = createTestClient()
    await analytics.register((event) => ({
      ...event,
      context: { ...event.context, app: { version: event.type } },
    }))

    analytics.track(call)
    analytics.alias({ userId: 'ada', previousId: 'v-17' })
    await analytics.flush()

    expect(messages.map(({ context }) => context['app'])).toEqual([
      { version: 'track' },
      { version: 'alias' },
    ])
    expect(messages[0]).toMatchObject({ messageId: expect.any(String), properties: call.properties })
  })

  test('may change the event in place, and return nothing', async () => {
    const { analytics, messages } = createTestClient()
    await analytics.register((event) => {
      delete event.properties?.['password']
    })

    analytics.track(call)
    await analytics.flush()

    expect(messages).toMatchObject([{ properties: { plan: 'pro' } }])
    expect(messages[0]).not.toHaveProperty('properties.password')
  })

  test.each([null, false] as const)('drops the event by returning %s, at once or later', async (answer) => {
    for (const drop of [() => answer, async () => answer]) {
      const { analytics, failures } = createTestClient()
      await analytics.register(drop)

      analytics.track(call)
      await analytics.flush()

      expect(failures.map(({ error }) => error.message)).toEqual([
        expect.stringContaining(`it returned ${answer}`),
      ])
    }
  })

  test('has the name of the function, or another unique name if that is taken', async () => {
    const { analytics, messages } = createTestClient()
    const registered: string[][] = []
    analytics.on('register', (names) => registered.push(names))
    const mark = (name: string): PluginFunction => {
      const put: PluginFunction = (event) => {
        event.properties = { ...event.properties, [name]: true }
      }
      return Object.defineProperty(put, 'name', { value: name })
    }
    const marks = ['scrubEmails', 'scrubEmails', ''].map(mark)
    await analytics.register(...marks)

    analytics.track({ userId: 'ada', event: 'Signed Up' })
    await analytics.flush()
    await analytics.deregister('scrubEmails')

    expect(registered[0]?.[0]).toBe('scrubEmails')
    expect(new Set(registered[0]).size).toBe(3)
    expect(messages[0]).toMatchObject({ properties: { scrubEmails: true, '': true } })
  })

  test('is refused when it is a class: the plugin must be an instance', async () => {
    const { analytics, messages } = createTestClient()
    const warnings: unknown[] = []
    analytics.on('warning', ({ reason }) => warnings.push(String(reason)))
    class Consent {
      name = 'consent'
    }

    await analytics.register(Consent as never)
    analytics.track(call)

    expect(warnings).toEqual([
      expect.stringContaining("expected an instance of Consent, got the class; write 'new'"),
    ])
    expect(messages).toHaveLength(1)
  })
})
