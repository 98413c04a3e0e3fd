import { expect, test } from 'vitest'
import { type Envelope, readMessage } from '../src/ingest/message.ts'
import { Refusal, readRequest } from '../src/ingest/read-request.ts'
import { isSameContent } from '../src/store/same-content.ts'

const envelope: Envelope = {
  inheritance: undefined,
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
  readMessage({ ...complete, ...fields }, undefined, { ...envelope, ...more }, 0)

test('an event with an invalid timestamp loses only its time', () => {
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

test.each([
  ['1970-01-01T00:00:01.000Z', ['timestamp_far']],
  ['2026-05-19T12:00:00.000Z', ['timestamp_far']],
  ['2026-05-18T11:00:00.000Z', []],
  ['2001-01-01T00:00:00.000Z', []],
])('an event of %s has the warnings %j', (timestamp, warnings) => {
  expect(read({ timestamp })).toMatchObject({ reason: null, warnings })
})

test('an empty list counts as an empty map, as PHP writes it', () => {
  const { reason, body, sent } = read({ properties: [], traits: [], context: [], integrations: [] })

  expect(reason).toBeNull()
  expect(JSON.parse(body)).toMatchObject({ properties: {}, traits: {}, context: {}, integrations: {} })
  expect(sent.changed).toEqual({ properties: [], traits: [], context: [], integrations: [] })
  expect(read({ properties: [1] }).reason).toBe('bad_field')
})

test('the same content with its keys in another order is a duplicate', () => {
  const one = '{"a":{"x":1,"y":[{"p":1,"q":2}]},"b":2,"receivedAt":"1","context":{"library":{"name":"x"}}}'

  expect(isSameContent(one, '{"b":2,"a":{"y":[{"q":2,"p":1}],"x":1},"receivedAt":"2","context":{}}')).toBe(
    true,
  )
  expect(isSameContent(one, '{"b":2,"a":{"y":[{"q":2,"p":3}],"x":1},"context":{}}')).toBe(false)
  expect(isSameContent(one, '{"b":2,"a":{"y":[{"q":2,"p":1}],"x":1},"context":{"locale":"de"}}')).toBe(false)
})

function request(text: string | Buffer) {
  try {
    return readRequest(Buffer.from(text as string), 'batch')
  } catch (cause) {
    if (cause instanceof Refusal) return cause
    throw cause
  }
}

test('a byte order mark is ignored, with a warning', () => {
  expect(request('\ufeff{"batch":[{"a":"ö"}]}')).toMatchObject({
    items: [{ a: 'ö' }],
    warnings: ['byte_order_mark'],
  })
})

test('F153: a sentAt of a batch that is not a time is left out, with a warning', () => {
  for (const sentAt of ['"soon"', `"${'x'.repeat(480_000)}"`, '[1]', '1e400', '{}']) {
    expect(request(`{"batch":[],"sentAt":${sentAt}}`)).toMatchObject({
      sentAt: undefined,
      warnings: expect.arrayContaining(['batch_field']),
    })
  }
  for (const sentAt of ['2026-05-17T09:30:00.000Z', '2026-05-17']) {
    expect(request(JSON.stringify({ batch: [], sentAt }))).toMatchObject({ sentAt, warnings: [] })
  }
  expect(request('{"batch":[],"sentAt":null}')).toMatchObject({ warnings: [] })
})

test('a batch whose context or integrations is neither an object nor null causes a warning', () => {
  expect(request('{"batch":[],"context":"x"}')).toMatchObject({ warnings: ['batch_field'] })
  expect(request('{"batch":[],"context":null,"integrations":{}}')).toMatchObject({ warnings: [] })
})

test('an error in a refused body is reported with its position in bytes, line and column', () => {
  expect(request('{"batch":[\n{"ö": oops}]}')).toMatchObject({
    reason: 'invalid_json',
    problem: { code: 'invalid_json', offset: 18, line: 2, column: 7 },
    more: { offset: 18, line: 2, column: 7 },
  })
  expect(request(Buffer.from([0x7b, 0x22, 0xc3, 0xb6, 0xff, 0x22]))).toMatchObject({
    reason: 'invalid_json',
    problem: { offset: 4, line: 1, column: 4 },
  })
  expect(request(`{"batch":[1,\n"${'x'.repeat(32_768)}"]}`)).toMatchObject({
    reason: 'event_too_large',
    problem: { message: expect.stringContaining('item 1 has 32770 bytes') },
    items: [{ reason: 'batch_refused' }, { reason: 'event_too_large' }],
  })
  expect(request(`${'['.repeat(65)}${']'.repeat(65)}`)).toMatchObject({ reason: 'too_deep' })
  expect(request('['.repeat(400_000))).toMatchObject({ reason: 'invalid_json' })
})

test('a batch of 5,000 items is accepted, a larger one is refused', () => {
  const batchOf = (count: number) => request(`{"batch":[${Array(count).fill(0).join(',')}]}`)

  expect(batchOf(5000)).toMatchObject({ items: expect.objectContaining({ length: 5000 }) })
  expect(batchOf(5001)).toMatchObject({ reason: 'too_many_items' })
})

test('F151: an item with a number that a double does not hold has a warning, and the others have none', () => {
  const roundedIn = (text: string) => {
    const read = request(text)
    return read instanceof Refusal ? read.reason : { items: [...read.rounded], warnings: read.warnings }
  }

  expect(roundedIn('{"batch":[{"a":9007199254740993},{"a":"9007199254740993"},{"b":[1e999]}]}')).toEqual({
    items: [0, 2],
    warnings: [],
  })
  expect(roundedIn('{"batch":[{}],"context":{"id":12345678901234567890}}')).toEqual({
    items: [],
    warnings: ['number'],
  })
  expect(
    roundedIn('{"batch":[{"a":1.50000000000000000,"b":9007199254740992,"c":123456789012345680000}]}'),
  ).toEqual({
    items: [],
    warnings: [],
  })
})
