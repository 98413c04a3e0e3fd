import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_MESSAGE_BYTES, serialize } from '../../src/message/serialize.ts'

/** Text units with the bytes that each takes inside a JSON string. */
const UNITS = [
  { unit: 'a', label: 'ASCII', bytes: 1 },
  { unit: 'é', label: 'two-byte letters', bytes: 2 },
  { unit: '€', label: 'three-byte signs', bytes: 3 },
  { unit: '🍰', label: 'emoji', bytes: 4 },
  { unit: '"', label: 'quotes, which are escaped', bytes: 2 },
  { unit: '\\', label: 'backslashes, which are escaped', bytes: 2 },
  { unit: '\u0001', label: 'control characters, which are escaped sixfold', bytes: 6 },
  { unit: '\ud83c', label: 'lone surrogates, which are escaped', bytes: 6 },
]

/** A message of exactly `size` bytes, most of them `unit`. */
function messageOf(size: number, { unit, bytes }: { unit: string; bytes: number }, asKey: boolean): object {
  const frame = Buffer.byteLength(JSON.stringify(asKey ? { p: { '': 1 } } : { p: '' }))
  const count = Math.floor((size - frame) / bytes)
  const text = unit.repeat(count) + 'x'.repeat((size - frame) % bytes)
  return asKey ? { p: { [text]: 1 } } : { p: text }
}

describe('sizes', () => {
  const cases = UNITS.flatMap((unit) =>
    [false, true].map((asKey) => ({ ...unit, asKey, where: asKey ? 'a key' : 'a value' })),
  )

  test.each(cases)('the limit is exact for $label in $where', ({ asKey, ...unit }) => {
    const [below, at, above] = [-1, 0, 1].map((by) => messageOf(MAX_MESSAGE_BYTES + by, unit, asKey))

    expect(serialize(below as object).bytes).toBe(32_767)
    expect(serialize(at as object).bytes).toBe(32_768)
    expect(() => serialize(above as object)).toThrow(
      expect.objectContaining({
        code: 'too_large',
        message: 'the message has 32769 bytes; the limit is 32768',
      }),
    )
  })

  test('the limit is exact for numbers', () => {
    const numbers = (count: number, last: string) => ({ p: [...new Array(count).fill(12.5), Number(last)] })
    // {"p":[ ]} are 8 bytes, 12.5 and its comma are 5.
    const at = numbers(6_551, '12345')

    expect(serialize(at).bytes).toBe(32_768)
    expect(() => serialize(numbers(6_551, '123456'))).toThrow(expect.objectContaining({ code: 'too_large' }))
  })

  test('the count is the length of what is sent, for any event', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), (properties) => {
        const { json, bytes } = serialize({ properties })

        expect(bytes).toBe(Buffer.from(json, 'utf8').length)
        expect(json).toBe(JSON.stringify({ properties }))
      }),
    )
  })

  test.each([
    ['10,000 long keys', Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`clé ${i}`, i]))],
    ['one object that is there 10,000 times', new Array(10_000).fill({ article: 'Thé à la menthe' })],
    ['33,000 characters', 'x'.repeat(33_000)],
  ])('%s are too large', (_label, value) => {
    expect(() => serialize({ value })).toThrow(expect.objectContaining({ code: 'too_large' }))
  })
})

describe('values that JSON.stringify refuses', () => {
  test('a BigInt, a cycle and a throwing getter cost the event nothing', () => {
    const properties: Record<string, unknown> = {
      id: 10n,
      get bad() {
        throw new Error('la base est fermée')
      },
      article: 'Thé',
    }
    properties['self'] = properties

    const { json, bytes } = serialize({ event: 'Commande passée', properties })

    expect(JSON.parse(json)).toEqual({
      event: 'Commande passée',
      properties: { id: '10', bad: '[Throws]', article: 'Thé', self: '[Circular]' },
    })
    expect(bytes).toBe(Buffer.byteLength(json))
  })

  test('lone surrogates are sent as escapes, so that the body is valid UTF-8', () => {
    const { json } = serialize({ '\ud83c': 'a\udf70' })

    expect(json).toBe('{"\\ud83c":"a\\udf70"}')
  })

  test('an event that is too deep for both ways fails alone with unserializable', () => {
    let deep: unknown = 1n
    for (let level = 0; level < 200_000; level++) deep = [deep]

    expect(() => serialize({ deep })).toThrow(expect.objectContaining({ code: 'unserializable' }))
  })

  test('a message whose own keys cannot be read fails with unserializable and the cause', () => {
    const cause = new Error('non')
    const message = new Proxy(
      {},
      {
        ownKeys() {
          throw cause
        },
      },
    )

    expect(() => serialize(message)).toThrow(expect.objectContaining({ code: 'unserializable', cause }))
  })

  test('an event that is too large is refused by the tolerant way as well', () => {
    expect(() => serialize({ id: 1n, text: 'é'.repeat(20_000) })).toThrow(
      expect.objectContaining({ code: 'too_large' }),
    )
  })

  test('what is sent is JSON within the limit, whatever goes in', () => {
    const odd = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withSparseArray: true }),
        fc.dictionary(fc.constantFrom('a', '__proto__', 'toJSON', 'constructor'), tie('value')),
        fc.constant(null).map(() => {
          const cycle: Record<string, unknown> = {}
          cycle['self'] = cycle
          return cycle
        }),
        fc.constant(null).map(() => ({
          get bad() {
            throw null
          },
        })),
      ),
    })).value

    fc.assert(
      fc.property(odd, (value) => {
        const { json, bytes } = serialize({ value })

        expect(() => JSON.parse(json)).not.toThrow()
        expect(bytes).toBeLessThanOrEqual(MAX_MESSAGE_BYTES)
        expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
      }),
      { numRuns: 1_000 },
    )
  })
})
