import { expect, onTestFinished, test } from 'vitest'
import { createFront, type FrontOptions, type NewEvent } from '../src/index.ts'
import { basic, post, postPlain, track } from './support.ts'

async function open(options: Partial<FrontOptions> = {}) {
  const kept: NewEvent[] = []
  const append = async (events: readonly NewEvent[]) => void kept.push(...events)
  const front = await createFront({ port: 0, append, ...options })
  onTestFinished(() => front.close())
  return { front, kept }
}

test('a front answers 200 when its events are kept, with their judgement and as plain data', async () => {
  const config = { destinations: [{ name: 'Hook', type: 'webhook' as const, url: 'http://127.0.0.1:1' }] }
  const { front, kept } = await open({ config })
  const batch = [track({ messageId: 'a' }), track({ event: '' })]

  const response = await post(front, '/v1/import', { batch, context: { locale: 'de' } })

  expect([response.status, await response.json()]).toEqual([200, { success: true }])
  expect(kept).toMatchObject([
    { source: 'shop', reason: null, messageId: 'a', deliveries: [{ destination: 'Hook' }] },
    { source: 'shop', reason: 'no_event', deliveries: [] },
  ])
  expect(JSON.parse(kept[0]?.body ?? '')).toMatchObject({ messageId: 'a', context: { locale: 'de' } })
  expect(JSON.parse(JSON.stringify(kept))).toEqual(kept)
  expect(front.counts()).toMatchObject({ accepted: 1, rejected: 1 })
})

test('an accepted event always has a messageId', async () => {
  const { front, kept } = await open()

  await post(front, '/v1/track', track({ messageId: undefined }))

  expect(kept[0]?.messageId).toMatch(/^collector-/)
})

test('F123: a front answers 503 with Retry-After when its events cannot be kept', async () => {
  const faults: unknown[] = []
  const { front } = await open({
    append: () => Promise.reject(new Error('no stream')),
    onFault: (_what, cause) => faults.push(cause),
    whyNotReady: () => 'no stream',
  })

  const response = await post(front, '/v1/track', track())

  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
  expect(faults).toEqual([new Error('no stream')])
  const ready = await fetch(`${front.url}/readyz`)
  expect([ready.status, await ready.json()]).toEqual([503, { status: 'not_ready', reason: 'no stream' }])
})

test('refused requests keep nothing, and everything but the tracking API is absent', async () => {
  const config = { sources: [{ name: 'web', writeKey: 'k' }], rejectUnknownKeys: true }
  const { front, kept } = await open({ config, metrics: () => 'more 1\n' })

  expect((await post(front, '/v1/track', '{', { authorization: basic('k') })).status).toBe(400)
  expect((await postPlain(front, '/v1/track', track({ writeKey: 'x' }))).status).toBe(401)
  expect((await fetch(`${front.url}/api/events`)).status).toBe(404)
  expect((await fetch(front.url)).status).toBe(404)
  expect(kept).toEqual([])
  const metrics = await (await fetch(`${front.url}/metrics`)).text()
  expect(metrics).toMatch(/^trackpost_collector_requests_refused_total 4$/m)
  expect(metrics).toMatch(/^more 1$/m)
})

test('a front issues no tokens, and is not public by accident', async () => {
  const append = async () => {}

  await expect(createFront({ append, host: '0.0.0.0' })).rejects.toThrow(/--allow-public/)
})
