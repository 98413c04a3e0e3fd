import assert from 'node:assert'
import { AsyncLocalStorage } from 'node:async_hooks'
import { generateKeyPairSync } from 'node:crypto'
import { on, once } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import type { ErrorEvent, WarningEvent } from '../../src/events/events.ts'
import type { Callback } from '../../src/pipeline/context.ts'
import { createAnalytics, recordOutcomes, trackPurchases, WRITE_KEY } from '../support/create-analytics.ts'
import { settled } from '../support/fake-clock.ts'
import { catchProcessWarnings } from '../support/process-warnings.ts'
import { networkError, type Reply, status } from '../support/scripted-client.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()
const warned = catchProcessWarnings()

function createPlugin(track: () => never) {
  return { name: 'géo', type: 'enrichment' as const, isLoaded: () => true, load() {}, track }
}

describe('failures that lose no event', () => {
  test('of a plugin cause one process warning, even with different messages', async () => {
    const { analytics } = createAnalytics()
    let user = 0
    await analytics.register(
      createPlugin(() => {
        throw new Error(`cannot enrich user ${user++}`)
      }),
    )

    trackPurchases(analytics, 500)
    await analytics.flush()

    expect(user).toBe(500)
    expect(warned).toEqual(["the plugin 'géo' failed and was skipped: cannot enrich user 0"])
  })

  test('cause warning events, not error events, with the plugin and the event', async () => {
    const { analytics } = createAnalytics()
    const warnings: WarningEvent[] = []
    const errors: ErrorEvent[] = []
    analytics.on('warning', (event) => warnings.push(event)).on('error', (event) => errors.push(event))
    await analytics.register(
      createPlugin(() => {
        throw new Error('non')
      }),
    )

    trackPurchases(analytics, 1)
    await analytics.flush()

    expect(errors).toEqual([])
    expect(warnings).toEqual([
      expect.objectContaining({ code: 'plugin', plugin: 'géo', ctx: expect.anything() }),
    ])
    expect(warnings[0]?.ctx?.id).toBe('purchase-1')
    expect(warned).toEqual([])
  })

  test('of a callback and of a listener cause warning events with the error', async () => {
    const { analytics } = createAnalytics()
    const warnings: WarningEvent[] = []
    analytics.on('warning', (event) => warnings.push(event))
    analytics.on('track', () => Promise.reject(new Error('plus tard')))

    trackPurchases(analytics, 1, () => {
      throw new Error('non')
    })
    await analytics.flush()
    await settled()

    expect(warnings.map(({ code, reason }) => [code, (reason as Error).message])).toEqual([
      ['callback', 'non'],
      ['listener', 'plus tard'],
    ])
    expect(warned).toEqual([])
  })

  test('show no credentials', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
    const clientKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const oauthSettings = { clientId: 'id', keyId: 'key', clientKey }
    const { analytics } = createAnalytics({ oauthSettings, headers: { 'X-Api-Key': 'gateway-secret-1' } })
    const secrets = [WRITE_KEY, btoa(`${WRITE_KEY}:`), 'gateway-secret-1', clientKey]
    analytics.track({} as never, () => assert.fail(secrets.join(' and ')))
    await settled()

    expect(warned[0]).toContain(secrets.map(() => '[redacted]').join(' and '))
  })

  test('of a warning listener cause a process warning, and no further warning event', async () => {
    const { analytics } = createAnalytics()
    let calls = 0
    analytics.on('warning', () => {
      calls++
      throw new Error('encore')
    })

    trackPurchases(analytics, 1, () => {
      throw new Error('non')
    })
    await analytics.flush()

    expect(calls).toBe(1)
    expect(warned).toEqual([expect.stringContaining('a warning listener failed: encore')])
  })
})

describe('a failure', () => {
  const oversized = { userId: 'usr_Zoë', event: 'Vue', properties: { text: 'é'.repeat(20_000) } }
  const throwing = {
    userId: 'usr_Zoë',
    event: 'Vue',
    get properties(): object {
      throw new Error('base fermée')
    },
  }
  const failures: [code: string, emitted: string, params: object, settings: object, replies: Reply[]][] = [
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
      [networkError('ECONNREFUSED')],
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

      analytics.track(params as never, callback)
      const flushed = analytics.flush()
      await clock.advance(60_000)

      expect(await flushed).toEqual({ delivered: 0, failed: 1, pending: 0 })
      expect(outcomes).toEqual([code])
      expect(errors.map((event) => [event.code, event.reason.code])).toEqual([[emitted, code]])
      expect(analytics.stats).toMatchObject({ accepted: 1, failed: 1, pending: 0 })
      expect(analytics.stats.failures[code as 'auth']).toBe(1)
    },
  )

  test('S27: without listeners, the first loss for each reason causes a warning', async () => {
    const { analytics } = createAnalytics({}, [status(400)])

    analytics.track({} as never)
    analytics.track({} as never)
    trackPurchases(analytics, 3)
    await analytics.flush()

    expect(warned).toHaveLength(2)
    expect(warned[1]).toContain('[400] Bad Request')

    await analytics.closeAndFlush()
    trackPurchases(analytics, 1)
    await settled()
    expect(warned[2]).toContain('the client was closed')
  })

  test('a loss causes no warning if there is a callback or an error listener', async () => {
    const { analytics } = createAnalytics({}, [status(400)])
    trackPurchases(analytics, 1, () => {})
    await analytics.flush()
    analytics.on('error', () => {})

    analytics.track({} as never)
    await settled()

    expect(warned).toEqual([])
  })
})

describe('B53: a callback', () => {
  test.each([null, undefined, 5, 'x', {}])('%j is not a callback and is ignored', async (callback) => {
    const { analytics } = createAnalytics()

    analytics.track({ userId: 'usr_Zoë', event: 'Vue' }, callback as never)

    expect(await analytics.flush()).toMatchObject({ delivered: 1 })
  })

  test.each<[string, Callback]>([
    [
      'throws',
      () => {
        throw new Error('non')
      },
    ],
    [
      'throws null',
      () => {
        throw null
      },
    ],
    ['rejects', () => Promise.reject(new Error('non'))],
    ['rejects with undefined', () => Promise.reject(undefined)],
    ['never ends', () => new Promise(() => {})],
    [
      'returns an object whose then throws',
      () => Object.defineProperty({}, 'then', { get: () => assert.fail() }) as never,
    ],
  ])('a callback that %s is called once, and does not affect outcomes', async (_label, act) => {
    const { analytics } = createAnalytics()
    const { outcomes, callback } = recordOutcomes()
    const listener = vi.fn()
    analytics.on('track', listener)
    const bad = vi.fn(act)

    analytics.track({ userId: 'usr_Zoë', event: 'Vue' }, bad)
    trackPurchases(analytics, 2, callback)

    expect(await analytics.flush()).toEqual({ delivered: 3, failed: 0, pending: 0 })
    expect(outcomes).toEqual(['delivered', 'delivered'])
    expect(bad).toHaveBeenCalledTimes(1)
    expect(listener).toHaveBeenCalledTimes(3)
  })
})

describe('the asynchronous context', () => {
  // Each request of a server tracks in its own context; events of several requests share a batch.
  test.each([
    ['without plugins', undefined],
    ['through an asynchronous plugin', async () => settled()],
  ])('of a callback is that of its call, %s', async (_label, track) => {
    const storage = new AsyncLocalStorage<string>()
    const { analytics, clock } = createAnalytics({ flushAt: 7 }, [status(503), status(200)])
    if (track !== undefined) {
      await analytics.register({ ...createPlugin(track as never), type: 'before' })
    }
    const seen: [string, string | undefined][] = []

    for (let user = 0; user < 40; user++) {
      storage.run(`user-${user}`, () =>
        trackPurchases(analytics, 1, () => seen.push([`user-${user}`, storage.getStore()])),
      )
    }
    const flushed = analytics.flush()
    await clock.advance(10_000)
    await flushed

    expect(seen).toHaveLength(40)
    expect(seen.filter(([called, store]) => called !== store)).toEqual([])
  })

  test('of a plugin is that of its call, also if that is a promise', async () => {
    const storage = new AsyncLocalStorage<string>()
    const { analytics } = createAnalytics()
    const seen: unknown[] = []
    const note = (): void => void seen.push(storage.getStore())
    await analytics.register(createPlugin(note as never))

    const track = (userId: string) => analytics.promises.track({ userId, event: 'Vue' })
    await Promise.all(['ada', 'zoë'].map((user) => storage.run(user, () => track(user))))

    expect(seen).toEqual(['ada', 'zoë'])
  })
})

describe('node:events', () => {
  test('`once` resolves with the next event, and rejects on an error', async () => {
    const { analytics, client } = createAnalytics({ maxRetries: 0 })
    const delivered = once(analytics as never, 'track')
    trackPurchases(analytics, 1)
    await analytics.flush()

    expect((await delivered)[0]).toMatchObject({ id: 'purchase-1' })

    client.answerWith(status(400))
    const failed = once(analytics as never, 'track')
    trackPurchases(analytics, 1)
    await analytics.flush()

    await expect(failed).rejects.toMatchObject({ code: 'delivery_failure' })
    expect([analytics.listenerCount('track'), analytics.listenerCount('error')]).toEqual([0, 0])
  })

  test('`on` iterates over events until its signal is aborted', async () => {
    const { analytics } = createAnalytics()
    const controller = new AbortController()
    const ids: string[] = []

    const reading = (async () => {
      for await (const [ctx] of on(analytics as never, 'track', { signal: controller.signal })) {
        ids.push((ctx as { id: string }).id)
        if (ids.length === 3) controller.abort()
      }
    })().catch((error: Error) => error.name)
    trackPurchases(analytics, 3)
    await analytics.flush()

    expect(await reading).toBe('AbortError')
    expect(ids).toEqual(['purchase-1', 'purchase-2', 'purchase-3'])
    expect([analytics.listenerCount('track'), analytics.listenerCount('error')]).toEqual([0, 0])
  })
})
