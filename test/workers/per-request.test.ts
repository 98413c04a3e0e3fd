import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Analytics } from '../../src/analytics.ts'
import type { HTTPFetchFn } from '../../src/http/client.ts'
import type { AnalyticsSettings } from '../../src/settings/settings.ts'
import { perRequest } from '../../src/workers.ts'

beforeEach(() => vi.useFakeTimers({ now: Date.UTC(2026, 0) }))
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const EVENT = { userId: 'ada', event: 'Order Completed' }

/** A service that answers with `status`, given the number of events of a request. */
class FakeService {
  /** The number of events of each request. */
  readonly sizes: number[] = []
  status: (size: number) => number | Promise<number> = () => 200
  retryAfter: string | undefined

  readonly fetch = (async (_url, { body }) => {
    const { length } = JSON.parse(String(body)).batch
    this.sizes.push(length)
    const headers = { 'Retry-After': this.retryAfter ?? '' }
    const status = await this.status(length)
    return new Response('{}', { status, headers })
  }) as HTTPFetchFn
}

function create(settings: Partial<AnalyticsSettings> = {}, options?: Parameters<typeof perRequest>[1]) {
  const service = new FakeService()
  const warnings: string[] = []
  const logger = {
    debug: () => {},
    info: () => {},
    warn: (_: object, text: string) => warnings.push(text.replace('trackpost: ', '')),
    error: () => {},
  }
  const given = { writeKey: 'wk_Zurich_7Qm4', httpClient: service.fetch, logger, ...settings }
  return { service, warnings, analyticsOf: perRequest(given as AnalyticsSettings, options) }
}

/** The `ctx` of a request. Its `waitUntil` needs its `this`. */
class Context {
  readonly promises: Promise<unknown>[] = []
  waitUntil(promise: Promise<unknown>): void {
    this.promises.push(promise)
  }
}

function outcomeOf(analytics: Analytics): Promise<string> {
  return new Promise((resolve) => analytics.track(EVENT, (error) => resolve(error?.code ?? 'delivered')))
}

test('the same object gets the same client, another object another one', () => {
  const { analyticsOf } = create()
  const [one, other] = [new Context(), new Context()]

  expect(analyticsOf(one)).toBe(analyticsOf(one))
  expect(analyticsOf(other)).not.toBe(analyticsOf(one))
})

test('what is tracked is handed to waitUntil of the ctx, once for each turn, until each event is delivered', async () => {
  const { analyticsOf, service, warnings } = create()
  const ctx = new Context()

  analyticsOf(ctx).track(EVENT)
  analyticsOf(ctx).track(EVENT)
  await Promise.all(ctx.promises)

  expect(ctx.promises).toHaveLength(1)
  expect(service.sizes).toEqual([2])
  expect(analyticsOf(ctx).stats).toMatchObject({ delivered: 2, pending: 0 })
  expect(warnings).toEqual([])
})

test('waitUntil may be given beside the object of the request, or in the settings', async () => {
  const handed: string[] = []
  const waitUntil = (by: string) => () => handed.push(by)
  const { analyticsOf, warnings } = create({ waitUntil: waitUntil('settings') })

  analyticsOf(new Request('https://shop.example'), { waitUntil: waitUntil('options') }).track(EVENT)
  analyticsOf(new Request('https://shop.example')).track(EVENT)

  expect(handed).toEqual(['options', 'settings'])
  expect(warnings).toEqual([])
})

test('the promise that was handed over ends after 25 s with shutdown_timeout while a request hangs', async () => {
  const { analyticsOf, service } = create({ httpRequestTimeout: 60_000 })
  service.status = () => new Promise(() => {})
  const ctx = new Context()
  const outcome = outcomeOf(analyticsOf(ctx))
  let hasEnded = false
  void Promise.all(ctx.promises).then(() => {
    hasEnded = true
  })

  await vi.advanceTimersByTimeAsync(24_999)
  expect(hasEnded).toBe(false)
  await vi.advanceTimersByTimeAsync(1)

  expect(hasEnded).toBe(true)
  expect(await outcome).toBe('shutdown_timeout')
})

test('the end of 25 s concerns only what was handed over then: later events of the request go on', async () => {
  const { analyticsOf, service } = create({ httpRequestTimeout: 60_000, maxConcurrentRequests: 2 })
  service.status = () => new Promise(() => {})
  const ctx = new Context()
  const first = outcomeOf(analyticsOf(ctx))
  await vi.advanceTimersByTimeAsync(20_000)
  service.status = () => new Promise((resolve) => setTimeout(resolve, 10_000, 200))
  const inFlight = outcomeOf(analyticsOf(ctx))
  await vi.advanceTimersByTimeAsync(0)
  const waiting = outcomeOf(analyticsOf(ctx))

  await vi.advanceTimersByTimeAsync(4_999)
  expect(service.sizes).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(1)
  expect(service.sizes).toHaveLength(3)
  await vi.advanceTimersByTimeAsync(10_000)

  expect(await Promise.all([first, inFlight, waiting])).toEqual([
    'shutdown_timeout',
    'delivered',
    'delivered',
  ])
  expect(analyticsOf(ctx).stats.pending).toBe(0)
})

test('an event that was handed over is awaited: in an outage it fails after maxRetries + 1 requests', async () => {
  const { analyticsOf, service } = create()
  service.status = () => 503
  const ctx = new Context()
  const analytics = analyticsOf(ctx)

  analytics.track(EVENT)
  await vi.advanceTimersByTimeAsync(25_000)
  await Promise.all(ctx.promises)

  expect(analytics.stats).toMatchObject({ failures: { retries_exhausted: 1 }, pending: 0 })
  expect(service.sizes).toEqual([1, 1, 1, 1])
})

test('when waitUntil throws, the events are sent all the same, and one warning says so', async () => {
  const { analyticsOf, warnings } = create()
  const broken = () => ({
    waitUntil() {
      throw new Error('the request is over')
    },
  })

  const all = [analyticsOf(broken()), analyticsOf(broken())]
  const outcomes = all.map(outcomeOf)
  await vi.advanceTimersByTimeAsync(0)

  expect(await Promise.all(outcomes)).toEqual(['delivered', 'delivered'])
  expect(warnings).toEqual([expect.stringMatching(/^wait_until: it failed/)])
})

test('without waitUntil the client works, with one warning for all requests', async () => {
  const { analyticsOf, warnings } = create()

  const outcomes = [outcomeOf(analyticsOf({})), outcomeOf(analyticsOf({}))]
  await vi.advanceTimersByTimeAsync(10_000)

  expect(await Promise.all(outcomes)).toEqual(['delivered', 'delivered'])
  expect(warnings).toEqual([expect.stringMatching(/^perRequest: there is no waitUntil/)])
})

test('after a client was closed, its object gets a new one', async () => {
  const { analyticsOf } = create()
  const ctx = new Context()
  const closed = analyticsOf(ctx)
  await closed.closeAndFlush()

  expect(analyticsOf(ctx)).not.toBe(closed)
  expect(analyticsOf(ctx)).toBe(analyticsOf(ctx))
})

test('what is not an object gets a client of its own, and is reported once', () => {
  const { analyticsOf, warnings } = create()
  const wrong = undefined as unknown as object

  expect(analyticsOf(wrong)).not.toBe(analyticsOf(wrong))
  expect(warnings).toEqual([expect.stringMatching(/^perRequest: expected the object .* got undefined/)])
})

test('with strict, what is not an object throws', () => {
  const { analyticsOf } = create({ strict: true })

  expect(() => analyticsOf(7 as unknown as object)).toThrow(
    expect.objectContaining({ code: 'invalid', message: expect.stringContaining('got a number') }),
  )
})

test('bad settings, a bad key and a spool throw at once', () => {
  expect(() => create({ writeKey: '' })).toThrow('writeKey')
  const oauthSettings = { clientId: 'client', keyId: 'key', clientKey: 'no key' }
  expect(() => create({ oauthSettings })).toThrow('oauthSettings.clientKey')
  const spool = { open: () => {} } as never
  expect(() => create({ spool })).toThrow('spool: it serves one client')
})

test('settings that are a mistake are told once, not for each request', () => {
  const { analyticsOf, warnings } = create({ maxQueueSize: 5 })

  analyticsOf(new Context())
  analyticsOf(new Context())

  expect(warnings).toEqual([expect.stringContaining('maxQueueSize (5) is less than flushAt (15)')])
})

test('the plugins are registered with each client', async () => {
  const loaded: object[] = []
  const plugin = {
    name: 'release',
    type: 'before' as const,
    load: (_: unknown, analytics: object) => {
      loaded.push(analytics)
    },
  }
  const { analyticsOf } = create({}, { plugins: [plugin, (event) => (event.type === 'page' ? null : event)] })
  const [one, other] = [analyticsOf(new Context()), analyticsOf(new Context())]

  one.page({ userId: 'ada' })
  const outcome = outcomeOf(other)
  await vi.advanceTimersByTimeAsync(0)

  expect(loaded).toEqual([one, other])
  expect(one.stats.failures.plugin).toBe(1)
  expect(await outcome).toBe('delivered')
})

test('the learnt limit is shared: after a 413 to one request, the others send less at once', async () => {
  const { analyticsOf, service } = create()
  service.status = (size) => (size > 2 ? 413 : 200)
  for (let request = 0; request < 2; request++) {
    const ctx = new Context()
    for (let event = 0; event < 8; event++) analyticsOf(ctx).track(EVENT)
    await vi.advanceTimersByTimeAsync(0)
    await Promise.all(ctx.promises)
  }

  expect(service.sizes).toEqual([8, 4, 4, 2, 2, 2, 2, 2, 2, 2, 2])
})

test('after an accepted request of any client, a refusal of the credentials is an outage, not a wrong setting', async () => {
  const { analyticsOf, service } = create()
  const first = outcomeOf(analyticsOf(new Context()))
  await vi.advanceTimersByTimeAsync(0)
  await first
  service.status = () => 403
  const second = outcomeOf(analyticsOf(new Context()))
  await vi.advanceTimersByTimeAsync(0)
  service.status = () => 200
  await vi.advanceTimersByTimeAsync(2_000)

  expect(await second).toBe('delivered')
})
