import { channel } from 'node:diagnostics_channel'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { DiagnosticsMessages } from '../../src/client/diagnostics.ts'
import { openChannel } from '../../src/runtime/platform.web.ts'
import { createAnalytics, trackPurchases, WRITE_KEY } from '../support/create-analytics.ts'
import { settled } from '../support/fake-clock.ts'
import { networkError, status } from '../support/scripted-client.ts'

vi.spyOn(process, 'emitWarning').mockImplementation(() => {})

type Name = keyof DiagnosticsMessages
const NAMES: readonly Name[] = [
  ...(['trackpost:accepted', 'trackpost:request', 'trackpost:response'] as const),
  ...(['trackpost:outcome', 'trackpost:pause'] as const),
]

const unsubscribe: (() => void)[] = []
afterEach(() => {
  for (const run of unsubscribe.splice(0)) run()
})

function subscribe(names: readonly Name[] = NAMES) {
  const heard: { name: Name; message: Record<string, unknown> }[] = []
  for (const name of names) {
    const listener = (message: unknown) => heard.push({ name, message: message as Record<string, unknown> })
    channel(name).subscribe(listener)
    unsubscribe.push(() => channel(name).unsubscribe(listener))
  }
  return {
    heard,
    on: <One extends Name>(name: One) =>
      heard
        .filter((one) => one.name === name)
        .map(({ message }) => message as unknown as DiagnosticsMessages[One]),
  }
}

describe('the diagnostics channels', () => {
  test('follow an event from its call to its outcome', async () => {
    const { heard, on } = subscribe()
    const { analytics, clock } = createAnalytics({ flushAt: 1 }, [status(503), status(200)])

    trackPurchases(analytics, 1)
    expect(heard.map(({ name }) => name)).toEqual(['trackpost:accepted'])
    await clock.advance(2_000)

    expect(heard.map(({ name }) => name.slice(10))).toEqual([
      ...['accepted', 'request', 'response', 'pause', 'request', 'response', 'outcome'],
    ])
    expect(on('trackpost:accepted')[0]).toEqual({ client: analytics, kind: 'track', messageId: 'purchase-1' })
    const [first, second] = on('trackpost:request')
    const [refused, taken] = on('trackpost:response')
    expect(first?.request).toEqual({
      url: 'https://api.segment.io/v1/batch',
      attempt: 1,
      events: 1,
      bytes: expect.any(Number),
    })
    expect(second?.request.attempt).toBe(2)
    expect(refused).toMatchObject({ client: analytics, status: 503, problem: '[503] Service Unavailable' })
    expect(taken).toMatchObject({ status: 200, problem: undefined, durationMs: 0 })
    // The messages of a request and of its response carry the same `request` object, which can be the key of a WeakMap.
    expect([refused?.request, taken?.request]).toEqual([first?.request, second?.request])
    expect(refused?.request).toBe(first?.request)
    const [pause] = on('trackpost:pause')
    expect(pause?.waitMs).toBeGreaterThanOrEqual(500)
    expect(on('trackpost:outcome')).toEqual([
      { client: analytics, kind: 'track', messageId: 'purchase-1', attempts: 2, error: undefined },
    ])
  })

  test('report the number of bytes of the body', async () => {
    const { on } = subscribe(['trackpost:request'])
    const { analytics, client } = createAnalytics({ flushAt: 1 })

    trackPurchases(analytics, 1)
    await settled()

    expect(on('trackpost:request')[0]?.request.bytes).toBe(Buffer.byteLength(client.requests[0]?.body ?? ''))
  })

  test('report requests without a response, with their duration', async () => {
    const { on } = subscribe(['trackpost:response'])
    const { analytics, clock } = createAnalytics({ flushAt: 1, httpRequestTimeout: 3_000, maxRetries: 0 }, [
      () => new Promise(() => {}),
    ])

    trackPurchases(analytics, 1)
    await clock.advance(3_000)

    expect(on('trackpost:response')).toMatchObject([
      { status: undefined, durationMs: 3_000, problem: 'no response within 3000 ms' },
    ])
  })

  test('report failed events, including bad calls and calls after close', async () => {
    const { on } = subscribe()
    const { analytics } = createAnalytics({ maxQueueSize: 1 })

    analytics.track({} as never)
    trackPurchases(analytics, 2)
    await analytics.closeAndFlush()
    trackPurchases(analytics, 1)
    await settled()

    expect(on('trackpost:accepted').map(({ messageId }) => messageId)).toEqual([
      ...[undefined, 'purchase-1', 'purchase-2', 'purchase-1'],
    ])
    expect(on('trackpost:outcome').map(({ messageId, error }) => [messageId, error?.code])).toEqual([
      [undefined, 'invalid'],
      ['purchase-2', 'queue_full'],
      ['purchase-1', undefined],
      ['purchase-1', 'closed'],
    ])
  })

  test('report outcomes with the id of the event to a late subscriber, also when a plugin has changed the id', async () => {
    const { analytics } = createAnalytics()
    await analytics.register({
      name: 'ids',
      type: 'before',
      track(ctx) {
        if (ctx.id === 'purchase-2') ctx.updateEvent('messageId', 'changed')
      },
    })
    trackPurchases(analytics, 2)
    const { on } = subscribe(['trackpost:outcome'])

    await analytics.flush()

    expect(on('trackpost:outcome').map(({ messageId }) => messageId)).toEqual(['purchase-1', 'changed'])
  })

  test('report another pause when a rate limit is extended', async () => {
    const { on } = subscribe(['trackpost:pause'])
    const { analytics } = createAnalytics({ flushAt: 1, maxConcurrentRequests: 2 }, [
      status(429, { 'Retry-After': '10' }),
      status(429, { 'Retry-After': '20' }),
    ])

    trackPurchases(analytics, 1)
    await Promise.resolve()
    trackPurchases(analytics, 1)
    await settled()

    expect(on('trackpost:pause').map(({ waitMs }) => waitMs)).toEqual([
      expect.closeTo(10_000, -4),
      expect.closeTo(20_000, -4),
    ])
  })

  test('contain no credentials', async () => {
    const { heard } = subscribe()
    const quoted = `${WRITE_KEY} ${btoa(`${WRITE_KEY}:`)} gateway-secret-1`
    const { analytics, clock } = createAnalytics(
      { flushAt: 1, maxRetries: 1, headers: { 'X-Api-Key': 'gateway-secret-1' } },
      [() => ({ status: 503, statusText: quoted }), () => Promise.reject(new Error(quoted))],
    )

    trackPurchases(analytics, 1)
    await clock.advance(5_000)

    const text = heard
      .map(({ message: { client, error, ...rest } }) => `${JSON.stringify(rest)} ${(error as Error)?.stack}`)
      .join()
    expect(text).toContain('[redacted] [redacted] [redacted]')
    expect(text).not.toMatch(/wk_Zurich|gateway-secret/)
    expect(text).not.toContain(btoa(`${WRITE_KEY}:`))
  })

  test('have no subscribers where the runtime has no channels', () => {
    const none = openChannel('trackpost:accepted')

    expect(none.hasSubscribers).toBe(false)
    expect(none.publish({})).toBeUndefined()
  })

  test('read nothing while there is no subscriber', async () => {
    const published = vi.spyOn(Object.getPrototypeOf(channel('trackpost:accepted')), 'publish')
    const { analytics, clock } = createAnalytics({ flushAt: 1 }, [networkError('ECONNREFUSED'), status(200)])
    const parse = vi.spyOn(JSON, 'parse')

    trackPurchases(analytics, 1)
    await clock.advance(2_000)

    expect(analytics.stats.delivered).toBe(1)
    expect(published).not.toHaveBeenCalled()
    // The fake service parses the two requests that it gets. Nothing else was parsed: the client read no stored message.
    expect(parse).toHaveBeenCalledTimes(2)
  })
})
