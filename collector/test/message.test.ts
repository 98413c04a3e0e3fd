import { expect, test } from 'vitest'
import { type Envelope, readMessage } from '../src/ingest/message.ts'
import { readRequest } from '../src/ingest/read-request.ts'
import { isSameContent } from '../src/store/same-content.ts'

const envelope: Envelope = {
  context: undefined,
  integrations: undefined,
  sentAt: undefined,
  sentAtMs: undefined,
  receivedAtMs: Date.parse('2026-05-17T12:00:00.000Z'),
  receivedAt: '2026-05-17T12:00:00.000Z',
  remoteAddress: '203.0.113.9',
  warnings: [],
}
const complete = {
  type: 'track',
  userId: 'u',
  event: 'Order Completed',
  messageId: 'm1',
  timestamp: '2026-05-17T11:59:00.000Z',
  context: {},
  integrations: {},
}
const read = (fields: object, more: Partial<Envelope> = {}) =>
  readMessage({ ...complete, ...fields }, undefined, { ...envelope, ...more })

test('a timestamp that cannot be read costs the event its time alone', () => {
  const { reason, timestampMs, body, warnings } = read({ timestamp: 'yesterday' })

  expect({ reason, timestampMs, warnings }).toEqual({
    reason: null,
    timestampMs: envelope.receivedAtMs,
    warnings: ['timestamp'],
  })
  expect(JSON.parse(body)).toMatchObject({
    timestamp: envelope.receivedAt,
    originalTimestamp: 'yesterday',
  })
})

test('a timestamp without a zone is read as UTC, and that is noted', () => {
  const { timestampMs, warnings } = read({ timestamp: '2026-05-17T11:59:00' })

  expect(timestampMs).toBe(Date.parse('2026-05-17T11:59:00.000Z'))
  expect(warnings).toEqual(['timestamp_zone'])
})

test('a write key in an item is noted, and taken out', () => {
  const { warnings, body, sent } = read({ writeKey: 'k' })

  expect(warnings).toEqual(['write_key_in_item'])
  expect(body).not.toContain('writeKey')
  expect(sent.removed).toEqual(['writeKey'])
})

test('what the service added and changed is told, with what was sent', () => {
  const { sent } = read(
    { messageId: undefined, context: { direct: true, ip: '10.0.0.1' } },
    {
      context: { locale: 'de-DE', ip: '10.0.0.2' },
      integrations: { Warehouse: false },
      sentAt: '2026-05-17T11:59:30.000Z',
      sentAtMs: Date.parse('2026-05-17T11:59:30.000Z'),
    },
  )

  expect(sent).toEqual({
    added: ['originalTimestamp', 'sentAt', 'context.locale', 'integrations.Warehouse', 'receivedAt'],
    changed: { timestamp: '2026-05-17T11:59:00.000Z', messageId: undefined, 'context.ip': '10.0.0.1' },
    removed: [],
  })
})

test('the same content with its keys in another order is the same event sent again', () => {
  const one = '{"a":{"x":1,"y":[{"p":1,"q":2}]},"b":2,"receivedAt":"1"}'

  expect(isSameContent(one, '{"b":2,"a":{"y":[{"q":2,"p":1}],"x":1},"receivedAt":"2"}')).toBe(true)
  expect(isSameContent(one, '{"b":2,"a":{"y":[{"q":2,"p":3}],"x":1}}')).toBe(false)
})

const request = (text: string) => readRequest(Buffer.from(text), 'batch')

test('a byte order mark is passed over, and noted', () => {
  expect(request('\ufeff{"batch":[{"a":"ö"}]}')).toMatchObject({
    items: [{ a: 'ö' }],
    warnings: ['byte_order_mark'],
  })
})

test('context or integrations of a batch that are no objects are noted', () => {
  expect(request('{"batch":[],"context":"x"}')).toMatchObject({ warnings: ['batch_field'] })
  expect(request('{"batch":[],"context":null,"integrations":{}}')).toMatchObject({ warnings: [] })
})

test('what is wrong in a refused body is told with its place in bytes, line and column', () => {
  expect(request('{"batch":[\n{"ö": oops}]}')).toMatchObject({
    refused: 'invalid_json',
    problem: { code: 'invalid_json', offset: 18, line: 2, column: 7 },
  })
  expect(readRequest(Buffer.from([0x7b, 0x22, 0xc3, 0xb6, 0xff, 0x22]), 'batch')).toMatchObject({
    refused: 'invalid_json',
    problem: { offset: 4, line: 1, column: 4 },
  })
  expect(request(`{"batch":[1,\n"${'x'.repeat(32_768)}"]}`)).toMatchObject({
    refused: 'event_too_large',
    problem: { offset: 13, line: 2, column: 1, message: expect.stringContaining('item 1 has 32770 bytes') },
    items: [{ reason: 'batch_refused' }, { reason: 'event_too_large' }],
  })
  expect(request('['.repeat(65))).toMatchObject({ refused: 'too_deep', problem: { offset: 64 } })
})

test('of a batch, 5,000 items are read and the rest is counted', () => {
  const parsed = request(`{"batch":[${Array(250_001).fill(0).join(',')}]}`)

  expect(parsed).toMatchObject({ rest: 245_001 })
  expect('items' in parsed && parsed.items).toHaveLength(5000)
})
