/** The table of bad input, test/faults/README.md, section 2. */
import { Readable } from 'node:stream'
import { runInNewContext } from 'node:vm'

// biome-ignore lint/suspicious/noExplicitAny: the cases are wrong on purpose
type Anything = any

export interface BadInput {
  id: string
  name: string
  /** Fields of the call, made anew for each use. They are added to the usual ones, or replace them. */
  params?: () => object
  /** Instead of `params`: the whole argument of the call. */
  argument?: unknown
  /** Whether `params` has the value as the property `v`. */
  isValue?: boolean
  /** Allowed outcomes. */
  outcomes: string[]
  /** Returns what is wrong with the message, if anything is. */
  check?: (message: Anything) => unknown
  after?: () => unknown
}

export function badInput(): BadInput[] {
  const cases: BadInput[] = []
  const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
  const ABSENT = Symbol('absent')

  /** Adds a case: the property `v` is `make()`, and must arrive as `wire`. */
  const value = (id: string, name: string, make: () => Anything, wire: Anything): void => {
    cases.push({
      id,
      name,
      params: () => ({ properties: { before: 'é', v: make(), after: 1 } }),
      isValue: true,
      outcomes: ['delivered'],
      check: ({ properties }) => {
        if (properties.before !== 'é' || properties.after !== 1) return 'its neighbours changed'
        if (wire === ABSENT) return 'v' in properties ? `got ${JSON.stringify(properties.v)}` : undefined
        return same(properties.v, wire)
          ? undefined
          : `got ${String(JSON.stringify(properties.v)).slice(0, 200)}`
      },
    })
  }
  /** Adds a case: an event with `make()` as the property `v` ends as one of `outcomes`. */
  const ends = (id: string, name: string, make: () => Anything, outcomes: string[]): void => {
    cases.push({ id, name, params: () => ({ properties: { v: make() } }), outcomes })
  }
  /** Adds a case: `params` are added to the usual fields of the call, or replace them. */
  const fields = (
    id: string,
    name: string,
    params: object,
    outcome: string,
    check?: (message: Anything) => unknown,
  ): void => {
    cases.push({
      id,
      name,
      params: () => params,
      outcomes: [outcome],
      ...(check ? { check } : {}),
    })
  }
  const whole = (id: string, name: string, argument: unknown, outcome: string): void => {
    cases.push({ id, name, argument, outcomes: [outcome] })
  }

  for (const number of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    value('B01', String(number), () => number, null)
  }
  value('B02', '-0', () => -0, 0)
  value('B03', 'undefined', () => undefined, ABSENT)
  value('B03', 'undefined in an array', () => [undefined, 1], [null, 1])
  value('B04', 'function', () => () => 1, ABSENT)
  value('B04', 'symbol', () => Symbol('s'), ABSENT)
  value('B04', 'symbol key', () => ({ [Symbol('s')]: 1, k: 1 }), { k: 1 })
  value('B04', 'in arrays', () => [() => 1, Symbol('s')], [null, null])
  value('B05', '10n', () => 10n, '10')
  value('B05', 'nested', () => ({ list: [1n, { deep: -2n }] }), { list: ['1', { deep: '-2' }] })
  value('B06', 'invalid Date', () => new Date(Number.NaN), null)
  value('B07', 'Date', () => new Date('2026-01-02T03:04:05.678Z'), '2026-01-02T03:04:05.678Z')
  value('B07', 'year 275760', () => new Date(8.64e15), '+275760-09-13T00:00:00.000Z')
  value('B07', 'negative year', () => new Date(-8.64e15), '-271821-04-20T00:00:00.000Z')
  value('B08', 'Date of another realm', () => runInNewContext('new Date(0)'), '1970-01-01T00:00:00.000Z')
  value('B08', 'look-alike', () => ({ _d: 1, toJSON: () => '2026-01-02' }), '2026-01-02')
  for (const text of ['\ud800', '\udc00', '\udc00\ud800', 'a\ud83db']) {
    const sent = Buffer.from(text).toString()
    value('B09', JSON.stringify(text), () => text, sent)
    value('B09', `key ${JSON.stringify(text)}`, () => ({ [text]: 1 }), { [sent]: 1 })
  }
  const controls = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join('')
  value('B10', 'controls', () => `${controls}\u007f\u2028\u2029\ufeff`, `${controls}\u007f\u2028\u2029\ufeff`)
  const exotic = '😀 👨‍👩‍👧‍👦 é\u0301 \u200f\u202eאבג 𝒳 東京'
  value('B11', 'emoji, ZWJ, combining, RTL', () => exotic, exotic)
  value('B12', 'Map', () => new Map([[1, 2]]), {})
  value('B12', 'Set', () => new Set([1]), {})
  value('B13', 'WeakMap', () => new WeakMap(), {})
  value('B13', 'Promise', () => Promise.resolve(1), {})
  value('B13', 'Proxy', () => new Proxy({ a: 1 }, {}), { a: 1 })
  value('B14', 'RegExp', () => /x/g, {})
  value('B14', 'URL', () => new URL('https://example.com/a?b'), 'https://example.com/a?b')
  value('B14', 'URLSearchParams', () => new URLSearchParams('a=1'), {})
  value('B15', 'Error', () => new Error('secret'), {})
  value(
    'B15',
    'Error with circular cause',
    () => {
      const error = new Error('a')
      error.cause = error
      return Object.assign(error, { self: error, code: 'E' })
    },
    { cause: '[Circular]', self: '[Circular]', code: 'E' },
  )
  value('B16', 'Buffer', () => Buffer.from('ab'), { type: 'Buffer', data: [97, 98] })
  value('B16', 'Uint8Array', () => new Uint8Array([1, 2]), { 0: 1, 1: 2 })
  const stream = Readable.from(['a', 'b'])
  cases.push({
    id: 'B16',
    name: 'stream',
    params: () => ({ properties: { v: stream } }),
    outcomes: ['delivered', 'too_large', 'unserializable'],
    after: () => (stream.readableDidRead ? 'the stream was read' : undefined),
  })
  value('B17', 'boxed', () => [Object(1), Object('s'), Object(true)], [1, 's', true])
  class Secretive {
    #hidden = 1
    shown = 2
    get onPrototype(): number {
      return this.#hidden
    }
  }
  value('B18', 'class instance', () => new Secretive(), { shown: 2 })
  value('B19', 'no prototype', () => Object.assign(Object.create(null), { a: 1 }), { a: 1 })
  value(
    'B20',
    'non-enumerable and inherited keys',
    () => Object.defineProperty(Object.create({ inherited: 1 }), 'hidden', { value: 1, enumerable: false }),
    {},
  )
  const frozen = Object.freeze({ nested: Object.freeze({ list: Object.freeze([1, 2]) }) })
  value('B21', 'frozen', () => frozen, { nested: { list: [1, 2] } })
  value('B21', 'sealed', () => Object.seal({ a: 1 }), { a: 1 })
  value('B21', 'not extensible', () => Object.preventExtensions({ a: 1 }), { a: 1 })
  value('B21', 'frozen with a BigInt', () => Object.freeze({ a: 1n }), { a: '1' })
  const self: Anything = { a: 1 }
  self.self = self
  value('B22', 'itself', () => self, { a: 1, self: '[Circular]' })
  const one: Anything = { name: 'one' }
  one.other = { name: 'other', one }
  value('B22', '2-cycle', () => one, { name: 'one', other: { name: 'other', one: '[Circular]' } })
  const list: Anything[] = [1]
  list.push(list)
  value('B22', 'through an array', () => list, [1, '[Circular]'])
  const viaToJSON: Anything = { a: 1 }
  viaToJSON.toJSON = () => ({ inner: viaToJSON.cycle })
  viaToJSON.cycle = { back: null }
  viaToJSON.cycle.back = viaToJSON.cycle
  value('B22', 'through toJSON', () => viaToJSON, { inner: { back: '[Circular]' } })
  const shared = { s: 1 }
  value('B22', 'repeated, not circular', () => [shared, shared, { shared }], [shared, shared, { shared }])
  value('B22', 'repeated beside a cycle', () => ({ x: shared, y: shared, self }), {
    x: shared,
    y: shared,
    self: { a: 1, self: '[Circular]' },
  })
  const kilobyte = { text: 'x'.repeat(1_000) }
  ends('B23', 'referenced 10,000 times', () => Array(10_000).fill(kilobyte), ['too_large'])
  ends(
    'B23',
    'doubling 18 times',
    () => {
      let doubled: Anything = 'x'
      for (let depth = 0; depth < 18; depth++) doubled = [doubled, doubled]
      return doubled
    },
    ['too_large'],
  )
  const nest = (depth: number): Anything => {
    let nested: Anything = 1
    for (let level = 0; level < depth; level++) nested = { n: nested }
    return nested
  }
  ends('B24', '64 deep', () => nest(64), ['delivered'])
  ends('B24', '1,000 deep', () => nest(1_000), ['delivered'])
  ends('B24', '10,000 deep', () => nest(10_000), ['delivered', 'unserializable', 'too_large'])
  ends('B24', '10,000 deep with a BigInt', () => [1n, nest(10_000)], ['unserializable', 'too_large'])
  const keys = (count: number): Anything =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]))
  ends('B25', '1,000 keys', () => keys(1_000), ['delivered'])
  ends('B25', '10,000 keys', () => keys(10_000), ['too_large'])
  ends('B25', '100,000 keys', () => keys(100_000), ['too_large'])
  // biome-ignore lint/suspicious/noSparseArray: the case
  value('B26', 'sparse array', () => [1, , 3], [1, null, 3])
  value('B28', 'array with extra keys', () => Object.assign([1, 2], { extra: 3 }), [1, 2])
  class Listed extends Array {}
  value('B28', 'array subclass', () => Listed.of(1, 2), [1, 2])
  value(
    'B28',
    'arguments',
    () =>
      (
        function () {
          // biome-ignore lint/complexity/noArguments: the case
          return arguments
        } as Anything
      )(1, 2),
    { 0: 1, 1: 2 },
  )
  ends('B29', '33,000 characters', () => 'x'.repeat(33_000), ['too_large'])
  ends('B29', 'a text of 32 MB', () => 'x'.repeat(2 ** 25), ['too_large'])
  const throwers: [string, () => never][] = [
    [
      'Error',
      () => {
        throw new Error('x')
      },
    ],
    [
      'null',
      () => {
        throw null
      },
    ],
    [
      'undefined',
      () => {
        throw undefined
      },
    ],
  ]
  for (const [name, get] of throwers) {
    value('B30', name, () => Object.defineProperty({ ok: 1 }, 'bad', { get, enumerable: true }), {
      ok: 1,
      bad: '[Throws]',
    })
  }
  cases.push({
    id: 'B31',
    name: 'another value each time',
    params: () => {
      let reads = 0
      return {
        properties: {
          get v() {
            return ++reads
          },
        },
      }
    },
    outcomes: ['delivered'],
    check: ({ properties }) => (properties.v === 1 ? undefined : `read ${properties.v} times`),
  })
  value(
    'B33',
    'throws',
    () => ({
      toJSON() {
        throw new Error('x')
      },
    }),
    '[Throws]',
  )
  value(
    'B33',
    'returns itself',
    () => {
      const v: Anything = { a: 1 }
      v.toJSON = () => v
      return v
    },
    { a: 1 },
  )
  value('B33', 'returns undefined', () => ({ toJSON: () => undefined }), ABSENT)
  value('B33', 'returns a cycle', () => ({ toJSON: () => self }), { a: 1, self: '[Circular]' })
  value('B33', 'returns a BigInt', () => ({ toJSON: () => 10n }), '10')
  value('B33', 'returns an object that has a toJSON', () => ({ toJSON: () => ({ b: 1, toJSON: () => 2 }) }), {
    b: 1,
  })
  let times = 0
  const counting = { toJSON: () => ({ times: ++times }) }
  fields('B33', 'called once', { properties: { v: counting } }, 'delivered', ({ properties }) =>
    properties.v.times === 1 ? undefined : `called ${properties.v.times} times`,
  )
  value(
    'B34',
    'toString, valueOf and toPrimitive that throw',
    () => {
      const fail = (): never => {
        throw new Error('the function was called')
      }
      return Object.defineProperties(
        { a: 1 },
        {
          toString: { value: fail },
          valueOf: { value: fail },
          [Symbol.toPrimitive]: { value: fail },
        },
      )
    },
    { a: 1 },
  )
  const polluting =
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"prototype":{"polluted":1}}'
  cases.push({
    id: 'B36',
    name: 'S20: own __proto__ from JSON.parse, everywhere',
    params: () => ({
      properties: JSON.parse(`{"v":${polluting},"__proto__":{"polluted":1}}`),
      context: JSON.parse(polluting),
      integrations: JSON.parse(polluting),
    }),
    outcomes: ['delivered'],
    check: ({ properties }) => (same(properties.v, JSON.parse(polluting)) ? undefined : 'changed'),
    after: () => (({}) as Anything).polluted,
  })
  value('B36', 'beside a BigInt', () => ({ big: 1n, nasty: JSON.parse(polluting) }), {
    big: '1',
    nasty: JSON.parse(polluting),
  })
  const odd = {
    hasOwnProperty: 1,
    toString: 2,
    toJSON: 3,
    length: 4,
    '': 5,
    ['k'.repeat(10_000)]: 6,
    $set: 7,
    'a.b': 8,
    ключ: 9,
  }
  value('B37', 'odd keys', () => odd, odd)
  value('B37', 'odd keys beside a BigInt', () => ({ ...odd, big: 1n }), { ...odd, big: '1' })
  // What JSON.stringify writes is right, whatever it is.
  class Day extends Date {
    override toISOString(): string {
      return super.toISOString().slice(0, 10)
    }
  }
  for (const [id, name, make] of [
    ['B07', 'a subclass of Date', () => new Day('2026-11-20T09:30:00Z')],
    [
      'B07',
      'a Date with its own toISOString',
      () => Object.assign(new Date(0), { toISOString: () => 'epoch' }),
    ],
    ['B13', 'a proxy of an array', () => new Proxy([1, 2], {})],
    [
      'B17',
      'an object that pretends to be boxed',
      () => Object.assign(new (class {})(), { [Symbol.toStringTag]: 'Number' }),
    ],
    ['B33', 'in an array', () => [{ toJSON: (key: string) => key }, { toJSON: () => undefined }]],
    ['B33', 'uses its key', () => ({ clé: { toJSON: (key: string) => key } })],
    ['B33', 'returns a Date', () => ({ a: { toJSON: () => new Date(0) } })],
    ['B33', 'of a function', () => ({ at: Object.assign(() => {}, { toJSON: () => 'midi' }) })],
    ['B37', 'empty objects', () => [{}, [], null, '', false]],
  ] as [string, string, () => unknown][]) {
    value(id, name, make, JSON.parse(JSON.stringify(make())))
  }

  for (const argument of [undefined, null, 5, 'x', [], () => 1]) {
    whole('B40', `${argument === null ? 'null' : typeof argument} as the event`, argument, 'invalid')
  }
  fields('B42', '12n', { userId: 12n }, 'delivered', ({ userId }) => (userId === '12' ? undefined : userId))
  for (const name of ['properties', 'userId', 'context', 'messageId', 'timestamp']) {
    fields(
      'B49',
      `throwing ${name}`,
      Object.defineProperty({}, name, {
        get() {
          throw new Error('x')
        },
        enumerable: true,
      }),
      'unserializable',
    )
  }

  return cases
}
