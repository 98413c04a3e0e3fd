import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Analytics } from '../../src/analytics.ts'
import { createAnalytics, recordOutcomes, trackPurchases } from '../support/create-analytics.ts'
import { settled } from '../support/fake-clock.ts'

const sent = (client: { requests: readonly { body: string }[] }): { properties: Record<string, unknown> }[] =>
  client.requests.flatMap(({ body }) => JSON.parse(body).batch)

test('F103: a plugin that blocks the process for longer than a request may take causes no timeouts, and keeps the order', async () => {
  const { analytics, client, clock } = createAnalytics({ httpRequestTimeout: 1_000, flushAt: 10 })
  await analytics.register({
    name: 'blocks',
    type: 'enrichment',
    track: async (ctx) => {
      if (ctx.event.properties?.['number'] === 40) clock.stall(2_000)
    },
  })

  trackPurchases(analytics, 100)
  const flushed = analytics.flush()
  await clock.advance(10_000)

  expect(await flushed).toEqual({ delivered: 100, failed: 0, pending: 0 })
  expect(sent(client).map(({ properties }) => properties['number'])).toEqual(
    Array.from({ length: 100 }, (_, index) => index + 1),
  )
})

describe('F105: a plugin that calls its client', () => {
  test.each(['before', 'enrichment', 'destination', 'after'] as const)(
    'with the type %s does not wait for its own event in a flush, and the event is delivered',
    async (type) => {
      const { analytics, clock } = createAnalytics({ flushAt: 1 })
      const { outcomes, callback } = recordOutcomes()
      const summaries: unknown[] = []
      await analytics.register({
        name: 'flushes',
        type,
        async track(ctx) {
          summaries.push(await analytics.flush())
          return ctx
        },
      })

      trackPurchases(analytics, 2, callback)
      const flushed = analytics.flush()
      await settled()
      await clock.advance(0)

      expect(summaries).toHaveLength(2)
      expect(outcomes).toEqual(['delivered', 'delivered'])
      expect(await flushed).toEqual({ delivered: 2, failed: 0, pending: 0 })
    },
  )

  test.each<[string, (client: Analytics) => unknown]>([
    ['starts a flush', (client) => void client.flush()],
    ['deregisters itself', (client) => client.deregister('busy')],
    ['closes the client', (client) => client.closeAndFlush()],
  ])('and %s in each of five handlers loses none of its events', async (_label, act) => {
    const { analytics, clock } = createAnalytics()
    await analytics.register({ name: 'busy', type: 'before', track: async () => void (await act(analytics)) })

    trackPurchases(analytics, 5)
    void analytics.flush()
    await clock.advance(1)

    expect(analytics.stats).toMatchObject({ accepted: 5, delivered: 5, pending: 0 })
  })

  test('later than within its handler, and waits for the close, has five seconds', async () => {
    const { analytics, clock } = createAnalytics()
    const { outcomes, callback } = recordOutcomes()
    const close = () => Promise.resolve().then(() => analytics.closeAndFlush())
    await analytics.register({ name: 'busy', type: 'before', track: async () => void (await close()) })

    trackPurchases(analytics, 5, callback)
    await clock.advance(5_000)

    expect(outcomes).toEqual(new Array(5).fill('plugin'))
  })

  test('and tracks for each event, at once, gets no third event from one call', async () => {
    const { analytics } = createAnalytics()
    analytics.on('error', () => {})
    const track = () => analytics.track({ userId: 'ada', event: 'écho' })
    await analytics.register({ name: 'busy', type: 'before', track })

    trackPurchases(analytics, 5)
    await settled()
    await analytics.flush()

    expect(analytics.stats).toMatchObject({
      accepted: 15,
      delivered: 10,
      failures: { plugin: 5 },
      pending: 0,
    })
  })

  test('can close the client: new events are refused, and its own event is delivered afterwards', async () => {
    const { analytics, clock } = createAnalytics({ flushAt: 100 })
    const { outcomes, callback } = recordOutcomes()
    const summaries: unknown[] = []
    await analytics.register({
      name: 'closes',
      type: 'before',
      async track(ctx) {
        summaries.push(await analytics.closeAndFlush())
        return ctx
      },
    })

    trackPurchases(analytics, 1, callback)
    await settled()
    await clock.advance(0)
    trackPurchases(analytics, 1, callback)
    await settled()

    expect(summaries).toEqual([{ delivered: 0, failed: 0, pending: 1 }])
    expect(outcomes.sort()).toEqual(['closed', 'delivered'])
    expect(clock.timerCount).toBe(0)
    expect(clock.holdCount).toBe(0)
  })
})

test('a flush does not wait for what plugins do with later events', async () => {
  const { analytics } = createAnalytics()
  let events = 0
  const track = (): Promise<void> | undefined => (++events === 2 ? new Promise(() => {}) : undefined)
  await analytics.register({ name: 'hangs', type: 'destination', track })
  trackPurchases(analytics, 1)
  const flushed = analytics.flush()
  trackPurchases(analytics, 1)

  expect(await flushed).toEqual({ delivered: 1, failed: 0, pending: 0 })
})

describe('an event with a callback', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
    vi.unstubAllGlobals()
  })

  test.each([
    ['OTHER', 0],
    ['AWS_LAMBDA_FUNCTION_NAME', 1],
    ['VERCEL', 1],
    ['NETLIFY', 1],
    ['FUNCTION_TARGET', 1],
    ['FUNCTIONS_WORKER_RUNTIME', 1],
    ['K_SERVICE', 1],
  ])('with the variable %s, makes %d request at the end of its turn', async (name, requests) => {
    vi.stubEnv(name, 'shop')
    const { analytics, client } = createAnalytics()
    trackPurchases(analytics, 1)
    await settled()
    expect(client.requests).toEqual([])
    trackPurchases(analytics, 1, () => {})
    await settled()

    expect(client.requests).toHaveLength(requests)
  })

  test.each([
    ['Cloudflare Workers', 'navigator', { userAgent: 'Cloudflare-Workers' }, 1],
    ['the edge of Vercel', 'EdgeRuntime', 'edge-runtime', 1],
    ['Deno, whose variables are not read', 'Deno', {}, 0],
  ])('on %s (%s = %j), makes %d request at the end of its turn', async (_name, global, value, requests) => {
    vi.stubEnv('VERCEL', global === 'Deno' ? '1' : '')
    vi.stubGlobal(global, value)
    const { analytics, client } = createAnalytics()
    trackPurchases(analytics, 1, () => {})
    await settled()

    expect(client.requests).toHaveLength(requests)
  })
})
