import { Readable } from 'node:stream'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CIRCULAR, snapshot, THROWS } from '../../src/message/snapshot.ts'

function jsonOf(value: unknown): string {
  return JSON.stringify(snapshot(value))
}

describe('values that JSON.stringify can write', () => {
  class Basket {
    #owner = 'Zoë'
    articles = 3
    get owner() {
      return this.#owner
    }
  }
  class Day extends Date {
    override toISOString(): string {
      return super.toISOString().slice(0, 10)
    }
  }
  const shared = { city: 'Łódź' }
  const withInherited = Object.assign(Object.create({ inherited: true }), { own: 1 })
  const withHidden = Object.defineProperty({ shown: 1 }, 'hidden', { value: 2, enumerable: false })
  const withExtraKeys = Object.assign([1, 2], { extra: true })
  const args = (function () {
    // biome-ignore lint/complexity/noArguments: the very value under test
    return arguments
  })()

  test.each<[string, unknown]>([
    ['numbers that JSON cannot express', [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]],
    ['minus zero', { a: -0 }],
    ['undefined in an object and in an array', { a: undefined, b: [undefined, 1] }],
    ['functions and symbols', { f() {}, s: Symbol('s'), [Symbol('k')]: 1, list: [() => {}, Symbol('s')] }],
    ['an invalid Date', { at: new Date(Number.NaN) }],
    ['Dates far away', [new Date(8.64e15), new Date('-000044-03-15T00:00:00Z')]],
    ['a Date of another realm', { at: runInNewContext('new Date(0)') }],
    [
      'an object that pretends to be a boxed value',
      [Object.assign(new (class {})(), { [Symbol.toStringTag]: 'Number' })],
    ],
    ['a subclass of Date', [new Day('2026-11-20T09:30:00Z')]],
    ['a Date with its own toISOString', [Object.assign(new Date(0), { toISOString: () => 'epoch' })]],
    ['an object that pretends to be a Date', { at: { toJSON: () => '2026-11-20T09:30:00+01:00' } }],
    ['lone surrogates', { '\ud83c': 'a\udf70b', swapped: '\udf70\ud83c' }],
    ['control characters', { text: '\u0000\u0001\u001f\u007f\u2028\u2029\ufeff"\\/' }],
    ['emoji, families, combining and right-to-left marks', { text: '🍰👨‍👩‍👧e\u0301\u202Eשלום' }],
    ['Map, Set, WeakMap and Promise', [new Map([[1, 2]]), new Set([1]), new WeakMap(), Promise.resolve(1)]],
    ['a proxy of a plain object', new Proxy({ a: 1 }, {})],
    ['a proxy of an array', new Proxy([1, 2], {})],
    ['RegExp, URL and URLSearchParams', [/é+/u, new URL('https://c.example/é'), new URLSearchParams('a=1')]],
    ['an Error', { error: Object.assign(new Error('échec'), { code: 'E1' }) }],
    ['a Buffer and a typed array', [Buffer.from('é'), new Uint16Array([1, 2])]],
    ['boxed primitives', [Object(1), Object('é'), Object(true)]],
    ['a class instance', new Basket()],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 })],
    ['inherited keys', withInherited],
    ['keys that are not enumerable', withHidden],
    ['frozen and sealed objects', [Object.freeze({ a: Object.freeze([1]) }), Object.seal({ b: 1 })]],
    // biome-ignore lint/suspicious/noSparseArray: the very value under test
    ['a sparse array', [1, , 3]],
    ['an array with extra keys', withExtraKeys],
    ['arguments', args],
    ['an object that occurs twice', { here: shared, there: [shared, shared] }],
    [
      'keys that have a meaning elsewhere',
      JSON.parse('{"__proto__":{"a":1},"constructor":1,"toString":2,"":3}'),
    ],
    ['a toJSON that is not a function', { toJSON: 'plain' }],
    ['a toJSON that returns undefined', { a: { toJSON: () => undefined }, b: [{ toJSON: () => undefined }] }],
    [
      'a toJSON that returns an object with a toJSON',
      { a: { toJSON: () => ({ toJSON: 1, b: { toJSON: () => 2 } }) } },
    ],
    ['a toJSON that returns a Date', { a: { toJSON: () => new Date(0) } }],
    ['a toJSON that uses its key', { clé: { toJSON: (key: string) => key } }],
    ['a toJSON in an array', [{ toJSON: (key: string) => key }]],
    ['an empty object and an empty array', [{}, []]],
    ['a number', 1],
    ['text', 'é'],
    ['null', null],
    ['undefined', undefined],
    ['a function', () => {}],
  ])('%s', (_label, value) => {
    expect(jsonOf(value)).toBe(JSON.stringify(value))
  })

  test('a function with a toJSON', () => {
    const value = { at: Object.assign(() => {}, { toJSON: () => 'midi' }) }

    expect(jsonOf(value)).toBe('{"at":"midi"}')
  })

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

  test('values under a symbol are left out', () => {
    const secret = Symbol('secret')

    const copied = snapshot({ a: { [secret]: { mine: true }, b: 1 } }) as { a: object }

    expect(Reflect.ownKeys(copied.a)).toEqual(['b'])
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

describe('values that JSON.stringify cannot write', () => {
  test('a BigInt becomes its decimal string', () => {
    expect(jsonOf({ a: 10n, c: [-(2n ** 70n)] })).toBe('{"a":"10","c":["-1180591620717411303424"]}')
  })

  test('an object inside itself is replaced by a mark, and only there', () => {
    const basket: Record<string, unknown> = { articles: 3 }
    basket['self'] = basket

    expect(snapshot(basket)).toEqual({ articles: 3, self: CIRCULAR })
  })

  test('a cycle of two objects, and one through an array, are marked', () => {
    const shop: Record<string, unknown> = { name: 'Café Müller' }
    const owner = { name: 'Zoë', shop }
    shop['owners'] = [owner]

    expect(snapshot(shop)).toEqual({
      name: 'Café Müller',
      owners: [{ name: 'Zoë', shop: CIRCULAR }],
    })
  })

  test('a cycle through toJSON is marked', () => {
    const basket: Record<string, unknown> = { articles: 3 }
    basket['again'] = { toJSON: () => basket }

    expect(snapshot(basket)).toEqual({ articles: 3, again: CIRCULAR })
  })

  test('an object that occurs twice is not marked', () => {
    const city = { name: 'Łódź' }

    expect(snapshot({ from: city, to: city })).toEqual({ from: city, to: city })
  })

  test('an Error with a circular cause is written', () => {
    const error: Error & { cause?: unknown } = new Error('échec')
    Object.defineProperty(error, 'cause', { value: error, enumerable: true })

    expect(snapshot({ error })).toEqual({ error: { cause: CIRCULAR } })
  })

  const thrown: [string, unknown][] = [
    ['an Error', new Error('non')],
    ['null', null],
    ['undefined', undefined],
    [
      'a proxy that throws',
      new Proxy(
        {},
        {
          get() {
            throw new Error('non')
          },
        },
      ),
    ],
  ]
  test.each(thrown)('if a getter throws %s, only its value is replaced', (_label, error) => {
    const value = {
      before: 1,
      get bad() {
        throw error
      },
      after: 2,
    }

    expect(snapshot(value)).toEqual({ before: 1, bad: THROWS, after: 2 })
  })

  test('a toJSON that throws loses only its branch', () => {
    const value = {
      before: 1,
      bad: {
        toJSON() {
          throw new Error('non')
        },
      },
      after: [2],
    }

    expect(snapshot(value)).toEqual({ before: 1, bad: THROWS, after: [2] })
  })

  test.each([
    ['ownKeys', { ownKeys: () => ['a', 'a'] }],
    [
      'get',
      {
        get() {
          throw new Error('non')
        },
      },
    ],
    [
      'getOwnPropertyDescriptor',
      {
        getOwnPropertyDescriptor() {
          throw new Error('non')
        },
      },
    ],
  ] as [string, ProxyHandler<object>][])(
    'a proxy whose %s trap lies or throws loses only its branch',
    (_label, traps) => {
      const value = { before: 1, bad: new Proxy({ a: 1 }, traps), after: 2 }

      expect(snapshot(value)).toMatchObject({ before: 1, after: 2 })
      expect(jsonOf(value)).toContain(THROWS)
    },
  )

  test('a branch that throws in two places is marked in both as throwing, not as a cycle', () => {
    const lying = new Proxy({}, { ownKeys: () => ['a', 'a'] })

    expect(snapshot({ first: lying, second: lying })).toEqual({ first: THROWS, second: THROWS })
  })

  test('siblings of a deep branch that throws are not marked as a cycle', () => {
    const city = { name: 'Łódź' }
    const bad = {
      nested: {
        city,
        get bad() {
          throw new Error('non')
        },
      },
    }

    expect(snapshot({ bad, city })).toEqual({ bad: { nested: { city, bad: THROWS } }, city })
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

  test('toString, valueOf and Symbol.toPrimitive are never called', () => {
    const refuse = () => {
      throw new Error('must not be called')
    }
    const value = { a: { toString: refuse, valueOf: refuse, [Symbol.toPrimitive]: refuse, b: 1 } }
    const boxed = Object.assign(Object(5), { valueOf: refuse, toString: refuse })

    expect(jsonOf(value)).toBe('{"a":{"b":1}}')
    expect(jsonOf([boxed])).toBe('[5]')
  })

  test('a stream is not consumed', () => {
    const stream = Readable.from(['é'])

    expect(() => snapshot({ stream })).not.toThrow()
    expect(stream.readableFlowing).toBeNull()
    expect(stream.readableDidRead).toBe(false)
    stream.destroy()
  })

  test('a Date becomes a new Date', () => {
    const at = new Date('2026-11-20T09:30:00Z')

    const copy = snapshot({ at }) as { at: Date }
    at.setFullYear(1999)

    expect(copy.at).toBeInstanceOf(Date)
    expect(copy.at.toISOString()).toBe('2026-11-20T09:30:00.000Z')
  })

  test('an own __proto__ key stays data', () => {
    const copy = snapshot(JSON.parse('{"__proto__":{"polluted":true}}')) as object

    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect(Object.hasOwn(copy, '__proto__')).toBe(true)
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
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

  test.each([501, 2_000, 10_000, 200_000])('%i levels are refused', (levels) => {
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

  test('a small object whose JSON grows exponentially is refused', () => {
    let value: unknown = ['é']
    for (let level = 0; level < 40; level++) value = [value, value]

    expect(() => snapshot(value)).toThrow(expect.objectContaining({ code: 'too_large' }))
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
