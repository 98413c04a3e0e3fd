import { describe, expect, test, vi } from 'vitest'
import { createAnalytics, trackPurchases, WRITE_KEY } from '../support/create-analytics.ts'
import { settled } from '../support/fake-clock.ts'
import { hangUntilAborted, networkError, type Reply, silence, status } from '../support/scripted-client.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()
vi.spyOn(process, 'emitWarning').mockImplementation(() => {})

const url = 'https://api.segment.io/v1/batch'

const AUTHORIZATION = `Basic ${btoa(`${WRITE_KEY}:`)}`

describe('verify', () => {
  test('sends an empty batch with the credentials and the headers of the settings', async () => {
    const { analytics, client } = createAnalytics({ headers: { 'X-Tenant': 'a' } })

    const verification = await analytics.verify()

    expect(verification).toEqual({ reachable: true, authorized: true, status: 200, url, hint: undefined })
    expect(client.requests).toHaveLength(1)
    expect(client.requests[0]).toMatchObject({
      url,
      batch: [],
      headers: {
        'Content-Type': 'application/json',
        Authorization: `Basic ${btoa(`${WRITE_KEY}:`)}`,
        'X-Tenant': 'a',
      },
    })
    expect(JSON.parse(client.requests[0]?.body ?? '')).toEqual({
      batch: [],
      writeKey: WRITE_KEY,
      sentAt: '2026-11-20T09:30:00.000Z',
    })
  })

  test.each<[string, Reply, boolean, boolean | undefined, number | undefined, RegExp]>([
    ['401', status(401), true, false, 401, /^\[401\] Unauthorized: .*check writeKey/],
    ['403', status(403), true, false, 403, /^\[403\] Forbidden/],
    ['511', status(511), true, false, 511, /^\[511\]/],
    ['300', status(300), true, undefined, 300, /^\[300\]/],
    ['400', status(400), true, undefined, 400, /^\[400\] Bad Request/],
    ['404', status(404), true, undefined, 404, /there is no tracking API at .*check host and path/],
    [
      '413',
      status(413),
      true,
      undefined,
      413,
      /^\[413\] .*: the service, or a proxy on the way, takes no body of this size; make the event smaller$/,
    ],
    ['429', status(429, { 'Retry-After': '30' }), true, undefined, 429, /^\[429\] Too Many Requests/],
    ['503', status(503), true, undefined, 503, /^\[503\] Service Unavailable/],
    [
      'a redirect',
      status(302, { Location: 'https://login.example/' }),
      true,
      undefined,
      302,
      /login\.example was not followed/,
    ],
    ['a web page', status(200, { 'Content-Type': 'text/html' }), true, true, 200, /web page; check host/],
    ['a refused connection', networkError('ECONNREFUSED'), false, undefined, undefined, /ECONNREFUSED/],
    ['nonsense', () => ({ status: 'ok' }) as never, false, undefined, undefined, /without an integer status/],
  ])('reports %s', async (_, reply, reachable, authorized, code, hint) => {
    const { analytics } = createAnalytics({}, [reply])

    const verification = await analytics.verify()

    expect(verification).toEqual({
      reachable,
      authorized,
      status: code,
      url,
      hint: expect.stringMatching(hint),
    })
  })

  test.each<[string, Reply]>([
    [
      'the status text',
      () => ({ status: 400, statusText: `bad header: ${AUTHORIZATION}`, text: async () => '' }),
    ],
    ['an error', () => Promise.reject(new Error(`bad header: ${AUTHORIZATION}`))],
  ])('repeats no credentials that %s quotes', async (_label, reply) => {
    const { analytics } = createAnalytics({}, [reply])

    const { hint } = await analytics.verify()

    expect(hint).toMatch(/bad header: \[redacted\]$/)
  })

  test('ends after httpRequestTimeout', async () => {
    const { analytics, clock } = createAnalytics({ httpRequestTimeout: 2_000 }, [silence])

    const verifying = analytics.verify()
    await settled()
    expect(clock.holdCount).toBe(1)
    await clock.advance(2_000)

    expect(await verifying).toMatchObject({
      reachable: false,
      hint: expect.stringContaining('within 2000 ms'),
    })
    expect([clock.holdCount, clock.timerCount]).toEqual([0, 0])
  })

  test('does not change stats or status, calls no listener, and does not end a pause', async () => {
    const { analytics, client, clock } = createAnalytics({ flushAt: 1 }, [
      status(503),
      status(503),
      status(200),
    ])
    const heard: string[] = []
    for (const name of ['http_request', 'http_response', 'error', 'warning', 'drained'] as const)
      analytics.on(name, () => heard.push(name))
    await analytics.verify()

    expect(heard).toEqual([])
    expect(analytics.stats).toMatchObject({ accepted: 0, delivered: 0, failed: 0, pending: 0 })
    expect(analytics.status).toMatchObject({ pausedUntil: undefined, lastError: undefined })

    trackPurchases(analytics, 1)
    await settled()
    const { pausedUntil } = analytics.status
    expect(pausedUntil).toBeInstanceOf(Date)
    // While requests are held back, a successful verify() does not end the pause.
    expect(await analytics.verify()).toMatchObject({ authorized: true })
    expect(analytics.status.pausedUntil).toEqual(pausedUntil)
    expect(client.requests).toHaveLength(3)
    await clock.advance(1_000)
    expect(analytics.stats.delivered).toBe(1)
  })

  test('makes no request when the client is disabled or closed', async () => {
    const disabled = createAnalytics({ disable: true })
    const closed = createAnalytics()
    await closed.analytics.closeAndFlush()

    const unasked = { reachable: false, authorized: undefined, status: undefined, url }
    expect(await disabled.analytics.verify()).toEqual({
      ...unasked,
      hint: 'no request was made: disable is set',
    })
    expect(await closed.analytics.verify()).toEqual({
      ...unasked,
      hint: 'no request was made: the client was closed',
    })
    expect([...disabled.client.requests, ...closed.client.requests]).toEqual([])
  })

  test('makes a request even when disable is a function that decides on each event', async () => {
    const { analytics } = createAnalytics({ disable: () => true })

    expect(await analytics.verify()).toMatchObject({ authorized: true })
  })

  test('is aborted by a close that times out', async () => {
    const { analytics, clock } = createAnalytics({}, [hangUntilAborted])
    const verifying = analytics.verify()
    await settled()

    await analytics.closeAndFlush({ timeout: 10 })

    expect(await verifying).toMatchObject({ reachable: false, hint: 'the client was closed' })
    expect(clock.timerCount).toBe(0)
  })

  test('sends nothing when the client is closed while it waits for a token', async () => {
    const tokens = vi.fn(() => new Promise<never>(() => {}))
    const signer = { algorithm: 'RS256', sign: async () => new Uint8Array(256) }
    const { analytics, client } = createAnalytics({
      oauthSettings: { clientId: 'id', keyId: 'key', signer, httpClient: tokens },
    })
    const verifying = analytics.verify()
    await vi.waitFor(() => expect(tokens).toHaveBeenCalled(), { timeout: 60_000, interval: 5 })

    await analytics.closeAndFlush()

    expect(await verifying).toMatchObject({ reachable: false, hint: 'the client was closed' })
    expect(client.requests).toEqual([])
  })
})
