import * as segment from '@segment/analytics-node'
import { PostHog } from 'posthog-node'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Analytics } from '../../src/index.ts'
import type { Loopback } from '../support/loopback.ts'
import { type ServiceRequest, startService } from '../support/service.ts'

// biome-ignore lint/suspicious/noExplicitAny: each library has its own messages
type Message = any

let service: Loopback
let requests: ServiceRequest<Message>[]
let status: number

// The guides make statements about other libraries. These tests run the libraries to check the statements.
beforeEach(async () => {
  requests = []
  status = 200
  service = await startService<Message>((request, response) => {
    requests.push(request)
    // Redirects only once.
    if (status !== 307) return status
    status = 200
    response.setHeader('location', '/elsewhere')
    return 307
  })
})
afterEach(() => service.close())

describe('docs/migration/segment.md: @segment/analytics-node', () => {
  const open = (flushAt = 1) => new segment.Analytics({ writeKey: 'k', host: service.url, flushAt })

  test('throws for bad calls, also for numeric ids', async () => {
    const analytics = open()

    expect(() => analytics.track({ userId: 'u' } as never)).toThrow('event')
    expect(() => analytics.track({ userId: 5, event: 'E' } as never)).toThrow('userId')
    expect(() => analytics.track({ userId: 'u', event: 'E', properties: [1] as never })).toThrow('properties')
  })

  test('delivers an event with an empty userId', async () => {
    const analytics = open()
    analytics.track({ userId: '', event: 'E' })
    await analytics.closeAndFlush()

    expect(requests[0]?.batch[0]).toMatchObject({ userId: '', event: 'E' })
  })

  test('reads the arguments only when the batch is sent', async () => {
    const analytics = open(20)
    const properties = { n: 1 }
    analytics.track({ userId: 'u', event: 'E', properties })
    properties.n = 2
    await analytics.closeAndFlush()

    expect(requests[0]?.batch[0].properties).toEqual({ n: 2 })
  })

  test('shows credentials in http_request, and the body of the request in http_response', async () => {
    const analytics = open()
    const shown: { headers?: Record<string, unknown>; body: string }[] = []
    analytics.on('http_request', (request) => shown.push(request))
    analytics.on('http_response', (response) => shown.push({ body: String(response.body) }))
    analytics.track({ userId: 'u', event: 'E' })
    await analytics.closeAndFlush()

    expect(shown[0]?.headers?.['Authorization']).toBe(`Basic ${btoa('k:')}`)
    expect(shown[1]?.body).toBe(shown[0]?.body)
  })

  test('follows redirects, with the Authorization header', async () => {
    status = 307
    const analytics = open()
    analytics.track({ userId: 'u', event: 'E' })
    await analytics.closeAndFlush()

    expect(requests.map(({ path }) => path)).toEqual(['/v1/batch', '/elsewhere'])
    expect(requests[1]?.headers.authorization).toBe(`Basic ${btoa('k:')}`)
  })

  test('never calls the callback of a call after close, and warns of overlapping flushes', async () => {
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const analytics = open(20)
    analytics.track({ userId: 'u', event: 'E' })
    await Promise.all([analytics.flush(), analytics.flush()])
    expect(warned).toHaveBeenCalledTimes(1)
    await analytics.closeAndFlush()
    const callback = vi.fn()

    const heard = new Promise((resolve) => analytics.on('call_after_close', resolve))
    analytics.track({ userId: 'u', event: 'Late' }, callback)
    await heard

    expect(callback).not.toHaveBeenCalled()
    warned.mockRestore()
  })
})

describe('docs/migration/posthog-node.md: posthog-node', () => {
  test('has the defaults that the guide lists', async () => {
    const posthog = new PostHog('phc_k', { host: service.url })
    const { flushAt, maxBatchSize, maxQueueSize, flushInterval, requestTimeout } =
      posthog as unknown as Record<string, number>

    expect([flushAt, maxBatchSize, maxQueueSize, flushInterval, requestTimeout]).toEqual([
      20, 100, 10_000, 5_000, 10_000,
    ])
    await posthog.shutdown()
  })

  test('sends the messages that the guide lists for its calls, with a generated id for a call without an id', async () => {
    const posthog = new PostHog('phc_k', { host: service.url, disableCompression: true })
    posthog.identify({ distinctId: 'ada', properties: { email: 'a' } })
    posthog.capture({ distinctId: 'ada', event: 'Signed Up', groups: { company: 'g1' } })
    posthog.alias({ distinctId: 'ada', alias: 'visitor-7' })
    posthog.groupIdentify({ groupType: 'company', groupKey: 'g1', properties: { name: 'A' } })
    posthog.capture({ event: 'Nobody' })
    await posthog.shutdown()

    const events = requests.flatMap(({ batch }) => batch as { event: string; distinct_id: string }[])
    expect(new Set(requests.map(({ path }) => path))).toEqual(new Set(['/batch/']))
    expect(JSON.parse(requests[0]?.text ?? '').api_key).toBe('phc_k')
    expect(events.map(({ event }) => event)).toEqual([
      '$identify',
      'Signed Up',
      '$create_alias',
      '$groupidentify',
      'Nobody',
    ])
    expect(events.map(({ distinct_id }) => distinct_id.slice(0, 3))).toEqual([
      'ada',
      'ada',
      'ada',
      '$co',
      expect.any(String),
    ])
    expect(events[4]?.distinct_id).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('rejects flush() after a refusal, where Trackpost calls the listeners and counts', async () => {
    status = 400
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    const theirs = new PostHog('phc_k', { host: service.url, disableCompression: true })
    const ours = new Analytics({ writeKey: 'k', host: service.url })
    const losses: string[] = []
    theirs.on('error', (error: Error) => losses.push(error.name))
    ours.on('error', ({ reason }) => losses.push(reason.name))
    theirs.capture({ distinctId: 'ada', event: 'Signed Up' })
    ours.track({ userId: 'ada', event: 'Signed Up' })

    await expect(theirs.flush()).rejects.toMatchObject({ name: 'PostHogFetchHttpError' })
    expect(await ours.flush()).toMatchObject({ failed: 1 })
    expect(losses).toEqual(['PostHogFetchHttpError', 'DeliveryError'])
    await theirs.shutdown()
    logged.mockRestore()
  })
})
