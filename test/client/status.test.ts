import { describe, expect, test, vi } from 'vitest'
import type { DeliveryError } from '../../src/errors/errors.ts'
import { createAnalytics, trackPurchases } from '../support/create-analytics.ts'
import { settled } from '../support/fake-clock.ts'
import { networkError, silence, status } from '../support/scripted-client.ts'

vi.spyOn(process, 'emitWarning').mockImplementation(() => {})

describe('status', () => {
  test('of a new client shows no events, no pause and no error', () => {
    const { analytics } = createAnalytics()

    expect(analytics.status).toEqual({
      queued: 0,
      queuedBytes: 0,
      inFlight: 0,
      pausedUntil: undefined,
      lastError: undefined,
      lastDeliveredAt: undefined,
      url: 'https://api.segment.io/v1/batch',
    })
  })

  test('counts queued events, with their bytes, and the requests in flight', async () => {
    const { analytics, client } = createAnalytics({ maxConcurrentRequests: 1, flushAt: 2 }, [silence])

    trackPurchases(analytics, 2)
    await settled()
    const [sent] = client.requests
    const bytesOfOne = Buffer.byteLength(JSON.stringify(sent?.batch[0]))
    expect(analytics.status).toMatchObject({ queued: 0, queuedBytes: 0, inFlight: 1 })

    trackPurchases(analytics, 3)
    expect(analytics.status).toMatchObject({ queued: 3, queuedBytes: 3 * bytesOfOne, inFlight: 1 })
    expect(analytics.stats.pending).toBe(5)
  })

  test('has the Date until which no request is sent', async () => {
    const { analytics, clock } = createAnalytics({ flushAt: 1 }, [
      status(429, { 'Retry-After': '30' }),
      status(200),
    ])
    const startedAtMs = clock.now()

    trackPurchases(analytics, 1)
    await settled()
    const pausedMs = (analytics.status.pausedUntil as Date).getTime() - startedAtMs
    // A stated wait becomes up to a fifth longer.
    expect(pausedMs).toBeGreaterThanOrEqual(30_000)
    expect(pausedMs).toBeLessThanOrEqual(36_000)
    expect(analytics.status.lastError).toEqual({
      at: new Date(startedAtMs),
      message: '[429] Too Many Requests',
      status: 429,
    })

    await clock.advance(36_000)
    expect(analytics.status.pausedUntil).toBeUndefined()
    expect(analytics.status.lastDeliveredAt).toEqual(expect.any(Date))
    // A success does not remove the last error.
    expect(analytics.status.lastError?.status).toBe(429)
  })

  test('has a code in its last error when events were lost because of that error', async () => {
    const { analytics, clock } = createAnalytics({ flushAt: 1, maxRetries: 1 }, [
      networkError('ECONNREFUSED'),
    ])

    trackPurchases(analytics, 1)
    await settled()
    expect(analytics.status.lastError).toEqual({
      at: expect.any(Date),
      message: 'connect ECONNREFUSED 192.0.2.7:443',
    })

    await clock.advance(5_000)
    expect(analytics.status.lastError).toMatchObject({ code: 'retries_exhausted' })
  })

  test('shows the last failure of the service in the error after a close that timed out', async () => {
    const { analytics, clock } = createAnalytics({ flushAt: 1 }, [networkError('ECONNREFUSED')])
    const reasons: unknown[] = []
    analytics.on('error', ({ reason }) =>
      reasons.push([
        (reason as DeliveryError).code,
        (reason as Error).message,
        String((reason as Error).cause),
      ]),
    )

    trackPurchases(analytics, 1)
    await settled()
    const closed = analytics.closeAndFlush({ timeout: 100 })
    await clock.advance(100)
    await closed

    const text = expect.stringMatching(/; the service failed with: connect ECONNREFUSED 192\.0\.2\.7:443$/)
    expect(reasons).toEqual([['shutdown_timeout', text, expect.stringContaining('connect ECONNREFUSED')]])
    expect(analytics.status.lastError).toEqual({
      at: expect.any(Date),
      code: 'shutdown_timeout',
      message: text,
    })
  })

  test('the error of an event that finds a full queue has the failure of the service as its cause', async () => {
    const { analytics } = createAnalytics({ maxQueueSize: 2, flushAt: 2 }, [networkError('ECONNREFUSED')])
    const reasons: DeliveryError[] = []
    analytics.on('error', ({ reason }) => reasons.push(reason as DeliveryError))

    trackPurchases(analytics, 2)
    await settled()
    trackPurchases(analytics, 1)
    await settled()

    expect(reasons.map(({ code, cause }) => [code, (cause as Error).message])).toEqual([
      ['queue_full', 'connect ECONNREFUSED 192.0.2.7:443'],
    ])
    expect(reasons[0]?.message).toMatch(
      /^the queue is full; .*; the service failed with: connect ECONNREFUSED/,
    )
  })
})
