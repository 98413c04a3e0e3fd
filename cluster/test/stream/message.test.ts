import { expect, test } from 'vitest'
import { decode, decodeAccepted, encode, keyOf } from '../../src/stream/message.ts'
import { newEvent } from '../support/events.ts'

test('an event comes out as it went in', () => {
  const event = newEvent('a', {
    name: 'l\nine "quotes" \u0000 \ud800',
    message: { properties: { text: 'l\nine' } },
    warnings: ['content_type'],
    sent: { added: ['receivedAt'], changed: {}, removed: [] },
  })

  expect(decode(encode(event))).toEqual(event)
  expect(decodeAccepted(encode(event)).body).toBe(event.body)
})

test('an event without a message has none afterwards', () => {
  const event = { ...newEvent('a'), reason: 'invalid_json' as const, body: null, messageId: null }

  expect(decode(encode(event))).toEqual(event)
  expect(() => decodeAccepted(encode(event))).toThrow('the event has no message')
})

test('the body of an event that was not accepted is left out when it is very long, of others never', () => {
  const body = JSON.stringify({ text: 'x'.repeat(250_000) })

  expect(decode(encode(newEvent('a', { reason: 'bad_item', body }))).body).toBeNull()
  expect(decode(encode(newEvent('a', { body }))).body).toBe(body)
})

test('the key depends on source and messageId alone', () => {
  expect(keyOf(newEvent('a'))).toBe(keyOf(newEvent('a', { receivedAtMs: 1, body: '{}' })))
  const keys = [
    newEvent('a'),
    newEvent('b'),
    newEvent('a', { source: 'blog' }),
    newEvent('', { source: 'shopa' }),
  ].map(keyOf)
  expect(new Set(keys).size).toBe(4)
  for (const key of keys) expect(key).toMatch(/^[\w-]{43}$/)
})

test.each(['', 'x', '{}', '{}\n{}', '[]\n', '1\n{}', 'null\n{}'])('%j is no event', (text) => {
  expect(() => decode(Buffer.from(text))).toThrow('not written by a front of this version')
})
