import { describe, expect, test } from 'vitest'
import type { Scope } from '../../src/message/scope.ts'
import { createAnalytics } from '../support/create-analytics.ts'
import { catchProcessWarnings } from '../support/process-warnings.ts'
import { status } from '../support/scripted-client.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()
const warned = catchProcessWarnings()

function fail(): never {
  throw new Error('scope: secret')
}

const KINDS = [
  ['identify', {}],
  ['track', { event: 'Commande passée' }],
  ['page', { name: 'Prix' }],
  ['screen', { name: 'Panier' }],
  ['group', { groupId: 'atelier' }],
  ['alias', { previousId: 'visiteur-7' }],
] as const

describe('promises', () => {
  test.each(KINDS)('%s resolves to the context of the delivered event', async (kind, params) => {
    const { analytics } = createAnalytics()

    const ctx = await analytics.promises[kind]({ userId: 'usr_Zoë', ...params } as never)

    expect(ctx.event).toMatchObject({ type: kind, userId: 'usr_Zoë' })
  })

  test('calls of one turn are sent in one request, without waiting for flushAt or the interval', async () => {
    const { analytics, client, clock } = createAnalytics({ flushAt: 1_000 })

    await Promise.all(['a', 'b', 'c'].map((event) => analytics.promises.track({ userId: 'usr_Zoë', event })))

    expect(client.batchSizes).toEqual([3])
    expect(clock.elapsedMs).toBe(0)
  })

  test('a promise rejects with the error of its event, also after a bad call', async () => {
    const { analytics } = createAnalytics({ maxRetries: 0, strict: true }, [status(500)])

    await expect(analytics.promises.track({ userId: 'usr_Zoë', event: 'a' })).rejects.toMatchObject({
      code: 'retries_exhausted',
      status: 500,
    })
    await expect(analytics.promises.track({ event: 'a' } as never)).rejects.toMatchObject({ code: 'invalid' })
    expect(analytics.stats).toMatchObject({ failed: 2, pending: 0 })
  })

  test('a promise whose event is inside an asynchronous plugin does not wait for the flush interval', async () => {
    const { analytics, client } = createAnalytics({ flushAt: 1_000 })
    await analytics.register({ name: 'géo', type: 'enrichment', track: async (ctx) => ctx })

    await analytics.promises.track({ userId: 'u', event: 'a' })

    expect(client.batchSizes).toEqual([1])
  })
})

describe('a scope', () => {
  async function sentBy(act: (harness: ReturnType<typeof createAnalytics>) => void, settings = {}) {
    const harness = createAnalytics(settings)
    act(harness)
    await harness.analytics.flush()
    return harness.client.requests.flatMap(({ batch }) => batch)
  }

  test.each(KINDS)(
    'sets the identity of %s calls, and its events share requests with other events of the client',
    async (kind, params) => {
      const sent = await sentBy(({ analytics }) => {
        analytics.with({ userId: 'usr_Zoë' })[kind](params as never)
        analytics.track({ userId: 'autre', event: 'b' })
      })

      expect(sent).toMatchObject([{ type: kind, userId: 'usr_Zoë' }, { userId: 'autre' }])
    },
  )

  test('an empty id is none: in a scope, and in a call', async () => {
    const sent = await sentBy(({ analytics }) => {
      const outer = analytics.with({ userId: 'usr_Zoë', anonymousId: 'visiteur-7' })
      outer.with({ userId: '', anonymousId: '' }).track({ event: 'a' })
      outer.track({ userId: '', anonymousId: '', event: 'b' })
    })

    const ids = { userId: 'usr_Zoë', anonymousId: 'visiteur-7' }
    expect(sent).toMatchObject([ids, ids])
  })

  test('merges context and integrations level by level; the call takes precedence, then the inner scope', async () => {
    const outer: Scope = {
      anonymousId: 'visiteur-7',
      context: { ip: '192.0.2.1', app: { name: 'boutique', version: '1' } },
      integrations: { All: false, CRM: true },
      timestamp: '2026-01-01T00:00:00.000Z',
    }
    const [message] = await sentBy(({ analytics }) => {
      analytics
        .with(outer)
        .with({ userId: 'usr_Zoë', context: { app: { version: '2' } } })
        .track({ event: 'a', context: { app: { build: '77' } }, integrations: { CRM: false } })
    })

    expect(message).toMatchObject({
      userId: 'usr_Zoë',
      anonymousId: 'visiteur-7',
      timestamp: '2026-01-01T00:00:00.000Z',
      context: { ip: '192.0.2.1', app: { name: 'boutique', version: '2', build: '77' } },
      integrations: { All: false, CRM: false },
    })
    expect(outer.context).toEqual({ ip: '192.0.2.1', app: { name: 'boutique', version: '1' } })
  })

  test('adds its properties to track, page and screen, level by level, where the call does not set them', async () => {
    const properties = { release: '7', stage: 'production', app: { name: 'boutique', lang: 'fr' } }
    const scope = () => ({ userId: 'usr_Zoë', properties })

    const sent = await sentBy(
      ({ analytics }) => {
        const own = { stage: 'beta', app: { lang: 'de' } }
        for (const [kind, params] of KINDS) analytics.with({})[kind](params as never)
        analytics.with({ properties: { stage: 'test', n: 1 } }).track({ event: 'b', properties: own })
      },
      { scope },
    )

    const found = sent.map(({ type, properties }) => [type, properties])
    expect(found).toEqual([
      ['identify', undefined],
      ['track', properties],
      ['page', properties],
      ['screen', properties],
      ['group', undefined],
      ['alias', undefined],
      ['track', { release: '7', stage: 'beta', n: 1, app: { name: 'boutique', lang: 'de' } }],
    ])
    expect(properties.app).toEqual({ name: 'boutique', lang: 'fr' })
  })

  test('is copied when with() is called', async () => {
    const scope = { userId: 'usr_Zoë', context: { ip: '192.0.2.1', app: { version: '1' } } }
    const [message] = await sentBy(({ analytics }) => {
      const tracker = analytics.with(scope)
      scope.userId = 'autre'
      scope.context.ip = '::1'
      scope.context.app.version = '2'
      tracker.track({ event: 'a' })
    })

    expect(message).toMatchObject({ userId: 'usr_Zoë', context: { ip: '192.0.2.1', app: { version: '1' } } })
  })

  test('has promises and flush, and its methods may be detached', async () => {
    const { analytics, client } = createAnalytics({ flushAt: 1_000 })
    const { track, promises, flush } = analytics.with({ userId: 'usr_Zoë' })

    await promises.track({ event: 'a' })
    track({ event: 'b' })
    const summary = await flush()

    expect(client.batchSizes).toEqual([1, 1])
    expect(summary).toEqual({ delivered: 1, failed: 0, pending: 0 })
  })

  test('the scope setting is called for every event; with() and the call take precedence', async () => {
    let user = 0
    const sent = await sentBy(
      ({ analytics }) => {
        analytics.track({ event: 'a' } as never)
        analytics.with({ userId: 'zoë' }).track({ event: 'b' })
        analytics.track({ userId: 'call', event: 'c' })
      },
      { scope: () => ({ userId: `user-${user++}`, context: { ip: '::1' } }) },
    )

    expect(sent.map(({ userId }) => userId)).toEqual(['user-0', 'zoë', 'call'])
    expect(sent.map(({ context }) => context['ip'])).toEqual(['::1', '::1', '::1'])
  })

  test.each<[string, () => unknown, string]>([
    ['throws', () => fail(), 'it failed, and was ignored, as further ones will be: scope: secret (at '],
    [
      'returns a number',
      () => 7,
      'it failed, and was ignored, as further ones will be: scope: expected an object',
    ],
    ['returns an array', () => ['secret'], 'it failed'],
    ['returns a promise', async () => ({ userId: 'x' }), 'it failed'],
    ['has a then that throws', () => Object.defineProperty({}, 'then', { get: fail }), 'it failed'],
    ['has a getter that throws', () => Object.defineProperty({}, 'context', { get: fail }), 'it failed'],
  ])('a scope function that %s causes one warning that says why, and no event is lost', async (...row) => {
    const [, scope, text] = row
    const { analytics } = createAnalytics({ scope: scope as never })
    const codes: string[] = []

    analytics.track({ userId: 'usr_Zoë', event: 'a' })
    analytics.track({ userId: 'usr_Zoë', event: 'a' })
    expect(warned).toEqual([expect.stringContaining(`scope: ${text}`)])
    analytics.on('warning', ({ code }) => codes.push(code))
    analytics.track({ userId: 'usr_Zoë', event: 'a' })

    expect(await analytics.flush()).toEqual({ delivered: 3, failed: 0, pending: 0 })
    expect(codes).toEqual(['scope'])
  })

  test('a scope function that tracks an event is not called for that event', async () => {
    let calls = 0
    const { analytics } = createAnalytics({
      scope: () => {
        calls++
        analytics.track({ userId: 'usr_Zoë', event: 'inner' })
        return undefined
      },
    })

    analytics.track({ userId: 'usr_Zoë', event: 'outer' })

    expect(await analytics.flush()).toMatchObject({ delivered: 2 })
    expect(calls).toBe(1)
  })
})
