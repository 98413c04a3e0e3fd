import { expect, test } from 'vitest'
import { newEvent, newRequest } from '../../../collector/src/conformance/new-event.ts'
import type { NewEvent } from '../../../collector/src/store/ports.ts'
import {
  DecodeError,
  decode,
  decodeRequests,
  encode,
  encodeOne,
  encodeRequests,
  underNewKey,
} from '../../src/log/codec.ts'

const odd: NewEvent[] = [
  newEvent('a', { body: '{"event":"Größe \\n \u2028 gewählt"}', deliveries: [{ destination: 'Hook' }] }),
  newEvent('b', { body: null, reason: 'no_event', name: null, warnings: ['timestamp'], requestId: '12' }),
  newEvent('c', { body: '{\n  "event": "with a line break"\n}' }),
  newEvent('d', { body: '', name: 'line\nbreak', sent: { added: ['x'], changed: { y: 1 }, removed: [] } }),
  newEvent('e', { violations: [{ path: '', keyword: 'unplanned', message: 'no' }], timestampMs: -1.5 }),
]

test('F151: an event whose message is no JSON object is broken; a number that is out of range becomes null', () => {
  const bodies = ['{"a":', 'true', '[]', '{"n":1e131072,"id":12345678901234567891}']

  const { events, broken } = decode(payloadOf(bodies.map((body) => newEvent('m', { body }))))

  expect(broken.map(({ reason }) => reason)).toEqual([
    'the message of an event is not JSON',
    'the message of an event is not an object',
    'the message of an event is not an object',
  ])
  expect(events.map(({ body }) => body)).toEqual(['{"n":null,"id":12345678901234567891}'])
})

function payloadOf(events: NewEvent[]): Buffer {
  const [chunk] = encode(events)
  return chunk?.payload ?? Buffer.alloc(0)
}

test('a written event is read unchanged, whatever it contains', () => {
  const [chunk, ...more] = encode(odd)

  expect(more).toEqual([])
  const { key, events, broken } = decode(chunk?.payload ?? Buffer.alloc(0))
  expect(key).toBe(chunk?.key)
  expect(broken).toEqual([])
  expect(events).toEqual(odd)
})

test('inherited data is written once in each message, before the first event that has it', () => {
  const inherited = JSON.stringify({ context: { large: 'ß'.repeat(5000) } })
  const events = [
    newEvent('a'),
    ...Array.from({ length: 500 }, (_, index) => newEvent(`m${index}`, { inherited })),
    newEvent('b', { inherited: '{"context":{"line":"\\n"}}', body: null }),
  ]

  const [chunk, ...more] = encode(events)
  expect(more).toEqual([])
  expect(decode(chunk?.payload ?? Buffer.alloc(0)).events).toEqual(events)
  expect(chunk?.payload.toString().split(inherited)).toHaveLength(2)
  const chunks = encode(events, 50_000)
  expect(chunks.flatMap(({ payload }) => decode(payload).events)).toEqual(events)
  expect(Math.max(...chunks.map(({ payload }) => payload.length))).toBeLessThan(50_100)
  const one = events[3] as NewEvent
  expect(decode(encodeOne('k', one))).toEqual({ key: 'k', events: [one], broken: [] })
  const again = underNewKey(encodeOne('k', one), '2')
  expect(decode(again)).toEqual({ key: 'k.2', events: [one], broken: [] })
})

test('an event whose inherited data is missing or not an object is unreadable, also in a message of its own', () => {
  const payload = encodeOne('k', newEvent('a', { inherited: '{"context":{}}' })).toString()
  for (const shared of ['5', '[]', 'null', '{', '']) {
    const { events, broken } = decode(Buffer.from(payload.replace('{"context":{}}', shared)))
    expect([events, broken.length], shared).toEqual([[], 1])
    expect(decode(broken[0]?.payload ?? Buffer.alloc(0)).broken).toHaveLength(1)
  }
})

test('a large request is split into messages, in order, each with its own key', () => {
  const events = Array.from({ length: 2500 }, (_, index) =>
    newEvent(`m${index}`, { body: `{"x":"${'ß'.repeat(100)}"}` }),
  )

  const chunks = encode(events, 100_000)

  expect(chunks.flatMap(({ payload }) => decode(payload).events)).toEqual(events)
  expect(Math.max(...chunks.map(({ payload }) => payload.length))).toBeLessThan(100_100)
  expect(new Set(chunks.map(({ key }) => key)).size).toBe(chunks.length)
  const small = events.map((event) => ({ ...event, body: null }))
  expect(encode(small).every(({ payload }) => decode(payload).events.length <= 1000)).toBe(true)
  const [alone, ...others] = encode([newEvent('big', { body: `{"x":"${'x'.repeat(500_000)}"}` })])
  expect([alone?.payload.length ?? 0, others.length]).toEqual([expect.any(Number), 0])
  expect(encode([])).toEqual([])
})

test('a repeated request has the same dedupId; one with other ids, sources or reasons does not', () => {
  const idOf = (...events: NewEvent[]) => encode(events)[0]?.dedupId
  const [a, b] = [newEvent('a'), newEvent('b')]

  expect(idOf(a, b)).toBe(idOf({ ...a, body: '{"receivedAt":"later"}', receivedAtMs: 5 }, b))
  const others = [
    idOf(a),
    idOf(b, a),
    idOf({ ...a, source: 'other' }, b),
    idOf({ ...a, reason: 'no_event' }, b),
  ]
  expect(new Set([idOf(a, b), ...others]).size).toBe(5)
  // A request that was refused as a whole has no messageIds, so it gets no dedupId.
  expect(idOf({ ...a, messageId: null, reason: 'invalid_json' })).toBeUndefined()
})

test('an unreadable event does not affect the valid ones around it', () => {
  const wrong = [
    newEvent('x', { receivedAtMs: null as never }),
    newEvent('x', { body: 5 as never }),
    newEvent('x', { name: { a: 1 } as never }),
    newEvent('x', { messageId: true as never }),
    newEvent('x', { deliveries: [null] as never }),
    newEvent('x', { deliveries: Array(1001).fill({ destination: 'Hook' }) }),
    newEvent('x', { deliveries: [{ destination: 7 }] as never }),
  ]
  for (const event of wrong) {
    const sound = [newEvent('a'), newEvent('b')] as const
    const text = encode([sound[0], { ...event, body: null }, sound[1]])[0]?.payload.toString() ?? ''
    const payload = Buffer.from(
      event.body === null || typeof event.body === 'string' ? text : text.replace('"body":null', '"body":5'),
    )

    const { events, broken } = decode(payload)

    expect(events).toEqual(sound)
    expect(broken).toHaveLength(1)
    expect(() => decode(broken[0]?.payload ?? Buffer.alloc(0))).not.toThrow()
    expect(decode(broken[0]?.payload ?? Buffer.alloc(0)).broken).toHaveLength(1)
  }
})

test('a message in another format is refused as a whole', () => {
  const [chunk] = encode(odd)
  const whole = chunk?.payload.toString() ?? ''
  for (const text of [
    '',
    'x',
    '3 key\n',
    '1\n',
    '1 \n',
    whole.slice(0, -1),
    `${whole}{}\n`,
    '\u0000'.repeat(9),
  ]) {
    expect(() => decode(Buffer.from(text)), JSON.stringify(text.slice(0, 20))).toThrow(DecodeError)
  }
  expect(decode(Buffer.from('1 k\n{}\n\nnull\n\n[]\nx\n')).broken).toHaveLength(3)
})

test('a message with a new key has the same events, and a second new key does not make the key longer', () => {
  const payload = encode(odd)[0]?.payload ?? Buffer.alloc(0)
  const again = underNewKey(underNewKey(payload, '7'), '8')

  expect(decode(again).events).toEqual(odd)
  expect(decode(again).key).toBe(`${decode(payload).key}.8`)
  expect(Buffer.from(underNewKey(Buffer.from('garbage'), '1')).toString()).toBe('garbage')
})

test('requests are split into messages; a request that is too large by itself loses its headers and body', () => {
  const plain = newRequest('1', { headers: {}, body: null })
  const size = JSON.stringify([plain]).length
  const wordy = newRequest('1', { headers: { a: 'ö'.repeat(size) }, body: 'b'.repeat(size) })
  const idsOf = (maxBytes: number) =>
    encodeRequests([plain, plain, wordy, plain], maxBytes).map((message) => {
      expect(message.length).toBeLessThanOrEqual(maxBytes)
      return decodeRequests(message).map(({ headers, bodyIsCut }) => [Object.keys(headers).length, bodyIsCut])
    })

  const whole = [0, plain.bodyIsCut]
  expect(idsOf(2 * size)).toEqual([
    [whole, whole],
    [[0, true], whole],
  ])
  expect(idsOf(size + 2)).toEqual([[whole], [whole], [[0, true]], [whole]])
  expect(idsOf(size / 2)).toEqual([])
  expect(encodeRequests([])).toEqual([])
})

test('encoded requests are decoded unchanged, and other data is left out', () => {
  const requests = [newRequest('1'), newRequest('2', { problem: { code: 'x', message: 'y' }, body: null })]
  expect(encodeRequests(requests).map(decodeRequests)).toEqual([requests])

  const odd = [null, 5, {}, { ...newRequest('3'), status: '200' }, { ...newRequest('4'), userAgent: true }]
  expect(decodeRequests(Buffer.from(JSON.stringify([...odd, newRequest('5')])))).toEqual([newRequest('5')])
  expect(decodeRequests(Buffer.from('{"a":'))).toEqual([])
  expect(decodeRequests(Buffer.from('{}'))).toEqual([])
})
