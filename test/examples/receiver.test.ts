import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Receiver, startReceiver } from '../../examples/receiver.mjs'

const WRITE_KEY = 'wk_Geneva_Zx81'
const BASIC = `Basic ${Buffer.from(`${WRITE_KEY}:`).toString('base64')}`
const KINDS = ['identify', 'track', 'page', 'screen', 'group', 'alias']

let receiver: Receiver

beforeEach(async () => {
  receiver = await startReceiver({
    writeKey: WRITE_KEY,
    rejects: ({ event }) => event === 'Never Welcome',
  })
})
afterEach(() => receiver.close())

async function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<number> {
  const response = await fetch(receiver.url + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: BASIC, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  await response.arrayBuffer()
  return response.status
}

function order(messageId: string, event = 'Order Completed'): object {
  return { type: 'track', messageId, userId: 'user-1042', event, properties: { note: 'très bien' } }
}

test.each(KINDS)('a single %s is stored under its path', async (kind) => {
  const status = await post(`/v1/${kind}`, { messageId: 'm-1', userId: 'user-1042', event: 'Seen' })

  expect(status).toBe(200)
  expect(receiver.events).toMatchObject([{ type: kind, messageId: 'm-1' }])
})

test('context and integrations of a batch are merged into its messages', async () => {
  const item = { ...order('m-1'), context: { locale: 'ja-JP' }, integrations: { Amplitude: true } }
  await post('/v1/batch', {
    batch: [item],
    context: { locale: 'en', ip: '203.0.113.7' },
    integrations: { All: false },
  })

  expect(receiver.events).toMatchObject([
    { context: { locale: 'ja-JP', ip: '203.0.113.7' }, integrations: { All: false, Amplitude: true } },
  ])
})

test('a message that arrives twice is stored once', async () => {
  await post('/v1/batch', { batch: [order('m-1'), order('m-2')] })
  await post('/v1/batch', { batch: [order('m-2'), order('m-3')] })

  expect(receiver.events.map(({ messageId }) => messageId)).toEqual(['m-1', 'm-2', 'm-3'])
  expect(receiver.duplicates).toEqual(['m-2'])
})

test('the write key may be in the body instead of the header', async () => {
  const send = (writeKey: string) =>
    fetch(`${receiver.url}/v1/batch`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ batch: [order('m-1')], writeKey }),
    })

  expect((await send('not-the-key')).status).toBe(401)
  expect((await send(WRITE_KEY)).status).toBe(200)
  expect(receiver.events).toHaveLength(1)
})

test.each([
  ['credentials without the colon', 401, { Authorization: `Basic ${btoa(WRITE_KEY)}` }, order('m-1')],
  ['another content type', 400, { 'Content-Type': 'text/plain' }, order('m-1')],
  ['no JSON', 400, {}, '{"userId":'],
  ['a message over 32 KB', 400, {}, { ...order('m-1'), text: 'é'.repeat(16_400) }],
  ['a message that the receiver was told to reject', 400, {}, order('m-1', 'Never Welcome')],
])('the status for %s is %i', async (_, expected, headers, body) => {
  const status = await post('/v1/track', body, headers as Record<string, string>)

  expect(status).toBe(expected)
  expect(receiver.events).toEqual([])
})

test('a batch over 500 KB leads to 400', async () => {
  const batch = Array.from({ length: 20 }, (_, index) => ({
    ...order(`m-${index}`),
    text: 'é'.repeat(13_000),
  }))

  expect(await post('/v1/batch', { batch })).toBe(400)
  expect(await post('/v1/batch', { batch: batch.slice(1) })).toBe(200)
})

test('messages without an identity or an event name get 200 and are refused', async () => {
  const status = await post('/v1/batch', {
    batch: [
      { type: 'track', messageId: 'm-1', event: 'Seen' },
      { type: 'track', messageId: 'm-2', userId: 'user-1042' },
    ],
  })

  expect(status).toBe(200)
  expect(receiver.events).toEqual([])
  expect(receiver.refused).toEqual([
    { messageId: 'm-1', reason: 'no_user_anon_id' },
    { messageId: 'm-2', reason: 'no_event' },
  ])
})

test('queued faults answer requests in order, and the messages of these requests are not stored', async () => {
  receiver.faults.push({ status: 503 }, { status: 429, headers: { 'Retry-After': '1' } })

  expect(await post('/v1/track', order('m-1'))).toBe(503)
  expect(await post('/v1/track', order('m-1'))).toBe(429)
  expect(await post('/v1/track', order('m-1'), { 'X-Retry-Count': '2' })).toBe(200)
  expect(receiver.events).toHaveLength(1)
  expect(receiver.requests).toMatchObject([
    { status: 503, retryCount: 0, ids: ['m-1'] },
    { status: 429, retryCount: 0 },
    { status: 200, retryCount: 2 },
  ])
})
