import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { snapshot } from '../../src/message/snapshot.ts'

function jsonOf(value: unknown): string {
  return JSON.stringify(snapshot(value))
}

// The table of values, beside one that JSON.stringify cannot write, is in bad-input.test.ts.
describe('values that JSON.stringify can write', () => {
  test('a BigInt where the program has given BigInts a toJSON', () => {
    const prototype = BigInt.prototype as unknown as { toJSON?: () => unknown }
    prototype.toJSON = function () {
      return `${this}n`
    }

    try {
      expect(jsonOf({ a: 10n })).toBe(JSON.stringify({ a: 10n }))
    } finally {
      delete prototype.toJSON
    }
  })

  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.string({ unit: 'binary' }),
      fc.double(),
      fc.boolean(),
      fc.constantFrom(undefined, null, -0),
      fc.date({ noInvalidDate: false }),
      fc.func(fc.integer()),
      fc.array(tie('value'), { maxLength: 5 }),
      fc.sparseArray(tie('value'), { maxLength: 5, maxNumElements: 5 }),
      fc.dictionary(
        fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'length', 'toString')),
        tie('value'),
        { maxKeys: 6, noNullPrototype: false },
      ),
      fc.record({ toJSON: fc.func(tie('value')) }),
      tie('value').map((value) => Object(value)),
      tie('value').map((value) => new Map([[1, value]])),
    ),
  })).value

  test('the copy of any value has the same JSON', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(jsonOf(value)).toBe(JSON.stringify(value))
      }),
      { numRuns: 1_000 },
    )
  })

  test('no value is changed, frozen or kept', () => {
    const plain = fc.jsonValue({ maxDepth: 5 })

    fc.assert(
      fc.property(plain, (value) => {
        const before = JSON.stringify(value)

        const copy = snapshot(value)

        expect(JSON.stringify(value)).toBe(before)
        if (typeof value === 'object' && value !== null) expect(copy).not.toBe(value)
      }),
    )
  })
})

describe('how values are read', () => {
  test('each getter and each toJSON is called exactly once', () => {
    let reads = 0
    const value = {
      get counter() {
        return ++reads
      },
      nested: { toJSON: () => ++reads },
    }

    expect(snapshot(value)).toEqual({ counter: 1, nested: 2 })
    expect(reads).toBe(2)
  })
})

describe('the limits', () => {
  function nest(levels: number): object {
    let value: object = {}
    for (let level = 1; level < levels; level++) value = { a: value }
    return value
  }

  test.each([64, 500])('%i levels are copied', (levels) => {
    const isEqual = jsonOf(nest(levels)) === JSON.stringify(nest(levels))

    expect(isEqual).toBe(true)
  })

  test.each([501, 10_000])('%i levels are refused', (levels) => {
    expect(() => snapshot(nest(levels))).toThrow(
      expect.objectContaining({ code: 'unserializable', message: 'more than 500 levels deep' }),
    )
  })

  test('as many values as an event can contain are copied, and one more is refused', () => {
    const full = new Array(32_767).fill(0)

    expect(snapshot(full)).toEqual(full)
    expect(() => snapshot([...full, 0])).toThrow(expect.objectContaining({ code: 'too_large' }))
  })

  test('the holes of an array count as values: not all of ten million are visited', () => {
    expect(snapshot(new Array(32_767))).toHaveLength(32_767)
    expect(() => snapshot(new Array(10_000_000))).toThrow(
      expect.objectContaining({ code: 'too_large', message: 'more than 32768 values' }),
    )
  })

  test('a text that no event can contain is refused without being copied', () => {
    expect(snapshot({ text: 'x'.repeat(32_768) })).toEqual({ text: 'x'.repeat(32_768) })
    expect(() => snapshot({ text: 'x'.repeat(32_769) })).toThrow(
      expect.objectContaining({ code: 'too_large', message: 'a text of 32769 characters' }),
    )
  })

  test('a long typed array is refused before its elements are read, at any depth', () => {
    for (const bytes of [new Uint8Array(65_537), Buffer.alloc(65_537), new Float64Array(9_000)]) {
      expect(() => snapshot({ upload: [{ bytes }] })).toThrow(
        expect.objectContaining({ code: 'too_large', message: `an array of ${bytes.byteLength} bytes` }),
      )
    }
    expect(snapshot(new Uint8Array([7, 8]))).toEqual({ 0: 7, 1: 8 })
  })

  test('a toJSON that always returns another object is refused', () => {
    const endless: { toJSON: () => unknown } = { toJSON: () => ({ more: { toJSON: endless.toJSON } }) }

    expect(() => snapshot(endless)).toThrow(expect.objectContaining({ code: 'unserializable' }))
  })
})

test('the limits on values and texts can be set', () => {
  const large = { text: 'x'.repeat(50_000), list: Array.from({ length: 40_000 }, () => 1) }

  expect(snapshot(large, 200_000)).toEqual(large)
  expect(() => snapshot({ text: 'x'.repeat(101) }, 100)).toThrow('a text of 101 characters')
  expect(() =>
    snapshot(
      Array.from({ length: 100 }, () => 1),
      100,
    ),
  ).toThrow('more than 100 values')
})
