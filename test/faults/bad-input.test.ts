/** Bad input (docs/faults.md, rows B01 to B67). Each case is tracked between two good events, with `flushAt` 1, 3 and 100. */
import fc from 'fast-check'
import { expect } from 'vitest'
import { Analytics } from '../../src/index.ts'
import { CANARY_KEY, expectOracleRules, type HostRun, isFull, runHost, serve, size } from './harness/lab.ts'
import type { Tools } from './harness/outcomes.ts'
import { elsewhere, row } from './harness/row.ts'

interface CaseResult {
  id: string
  name: string
  problems: string[]
}

/** The host process gets this function as text, so it must not use variables of this file. */
async function runCases(t: Tools<{ isFull: boolean }>): Promise<CaseResult[]> {
  // biome-ignore lint/suspicious/noExplicitAny: the cases are wrong on purpose
  type Anything = any
  interface Case {
    id: string
    name: string
    params?: Anything
    call?: (client: Anything, callback: Anything) => void
    /** Allowed outcomes. */
    outcomes: string[]
    check?: (message: Anything) => unknown
    after?: () => unknown
    maxCopies: number
  }
  const vm = process.getBuiltinModule('node:vm')
  const { Readable } = process.getBuiltinModule('node:stream')
  const cases: Case[] = []
  const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
  const ABSENT = Symbol('absent')

  /** Adds a case: the property `v` is `make()`, and must arrive as `wire`. */
  const value = (id: string, name: string, make: () => Anything, wire: Anything): void => {
    cases.push({
      id,
      name,
      params: { properties: { before: 'é', v: make(), after: 1 } },
      outcomes: ['delivered'],
      check: ({ properties }) => {
        if (properties.before !== 'é' || properties.after !== 1) return 'its neighbours changed'
        if (wire === ABSENT) return 'v' in properties ? `got ${JSON.stringify(properties.v)}` : undefined
        return same(properties.v, wire)
          ? undefined
          : `got ${String(JSON.stringify(properties.v)).slice(0, 200)}`
      },
      maxCopies: 1_000,
    })
  }
  /** Adds a case: an event with `make()` as the property `v` ends as one of `outcomes`. `maxCopies` limits its cost. */
  const costs = (
    id: string,
    name: string,
    make: () => Anything,
    outcomes: string[],
    maxCopies = 5_000,
  ): void => {
    cases.push({ id, name, params: { properties: { v: make() } }, outcomes, maxCopies })
  }
  /** Adds a case: `params` are added to the usual fields of the call, or replace them. */
  const fields = (
    id: string,
    name: string,
    params: Anything,
    outcome: string,
    check?: (message: Anything) => unknown,
  ): void => {
    cases.push({ id, name, params, outcomes: [outcome], ...(check ? { check } : {}), maxCopies: 1_000 })
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
  value('B08', 'Date of another realm', () => vm.runInNewContext('new Date(0)'), '1970-01-01T00:00:00.000Z')
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
    params: { properties: { v: stream } },
    outcomes: ['delivered', 'too_large', 'unserializable'],
    after: () => (stream.readableDidRead ? 'the stream was read' : undefined),
    maxCopies: 1_000,
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
  costs('B23', 'referenced 10,000 times', () => Array(10_000).fill(kilobyte), ['too_large'])
  costs(
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
  costs('B24', '64 deep', () => nest(64), ['delivered'], 1_000)
  costs('B24', '1,000 deep', () => nest(1_000), ['delivered'], 1_000)
  for (const depth of [10_000, 200_000]) {
    costs('B24', `${depth} deep`, () => nest(depth), ['delivered', 'unserializable', 'too_large'])
    costs('B24', `${depth} deep with a BigInt`, () => [1n, nest(depth)], ['unserializable', 'too_large'])
  }
  const keys = (count: number): Anything =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]))
  costs('B25', '1,000 keys', () => keys(1_000), ['delivered'], 1_000)
  costs('B25', '10,000 keys', () => keys(10_000), ['too_large'])
  costs('B25', '1,000,000 keys', () => keys(t.args.isFull ? 1_000_000 : 100_000), ['too_large'], 20_000)
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
  costs('B29', '33,000 characters', () => 'x'.repeat(33_000), ['too_large'], 1_000)
  const huge = t.args.isFull ? 2 ** 29 - 24 : 2 ** 25
  costs(
    'B29',
    'a text that is nearly as long as the engine allows',
    () => 'x'.repeat(huge),
    ['too_large'],
    20_000,
  )
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
    [
      'a hostile Proxy',
      () => {
        throw new Proxy(
          {},
          {
            get() {
              throw 1
            },
            getPrototypeOf() {
              throw 2
            },
          },
        )
      },
    ],
  ]
  for (const [name, get] of throwers) {
    value('B30', name, () => Object.defineProperty({ ok: 1 }, 'bad', { get, enumerable: true }), {
      ok: 1,
      bad: '[Throws]',
    })
  }
  let reads = 0
  cases.push({
    id: 'B31',
    name: 'another value each time',
    params: {
      properties: {
        get v() {
          return ++reads
        },
      },
    },
    outcomes: ['delivered'],
    check: ({ properties }) => (properties.v === 1 && reads === 1 ? undefined : `read ${reads} times`),
    maxCopies: 1_000,
  })
  cases.push({
    id: 'B32',
    name: 'blocks 50 ms',
    params: {
      properties: {
        get v() {
          const end = t.now() + 50
          while (t.now() < end);
          return 1
        },
      },
    },
    outcomes: ['delivered'],
    check: ({ properties }) => (properties.v === 1 ? undefined : 'changed'),
    maxCopies: Number.POSITIVE_INFINITY,
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
  let serialised = 0
  value('B33', 'called once', () => ({ toJSON: () => ({ times: ++serialised }) }), { times: 1 })
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
  const hostile = {
    get() {
      throw 1
    },
    ownKeys() {
      throw 2
    },
    getOwnPropertyDescriptor() {
      throw 3
    },
    has() {
      throw 4
    },
    getPrototypeOf() {
      throw 5
    },
  }
  value('B35', 'traps throw', () => [1, new Proxy({}, hostile)], [1, '[Throws]'])
  value('B35', 'duplicate keys', () => [1, new Proxy({}, { ownKeys: () => ['a', 'a'] })], [1, '[Throws]'])
  const revocable = Proxy.revocable({}, {})
  revocable.revoke()
  value('B35', 'revoked', () => [1, revocable.proxy], [1, '[Throws]'])
  const polluting =
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"prototype":{"polluted":1}}'
  cases.push({
    id: 'B36',
    name: 'own __proto__ from JSON.parse, everywhere',
    params: {
      properties: JSON.parse(`{"v":${polluting},"__proto__":{"polluted":1}}`),
      context: JSON.parse(polluting),
      integrations: JSON.parse(polluting),
    },
    outcomes: ['delivered'],
    check: ({ properties }) => (same(properties.v, JSON.parse(polluting)) ? undefined : 'changed'),
    after: () => (({}) as Anything).polluted,
    maxCopies: 1_000,
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

  for (const [name, argument] of [
    ['nothing', undefined],
    ['null', null],
    ['number', 5],
    ['string', 'x'],
    ['array', []],
    ['function', () => 1],
  ] as const) {
    cases.push({
      id: 'B40',
      name,
      call: (client, callback) =>
        name === 'nothing' ? client.track(undefined, callback) : client.track(argument, callback),
      outcomes: ['invalid'],
      maxCopies: 1_000,
    })
  }
  for (const event of [undefined, '', 5, {}, null])
    fields('B41', JSON.stringify(event) ?? 'missing', { event }, 'invalid')
  fields('B41', '10 KB', { event: 'x'.repeat(10_240) }, 'delivered')
  fields('B41', 'over the limit', { event: 'x'.repeat(33_000) }, 'too_large')
  for (const userId of [undefined, '', false, {}, Number.NaN, null]) {
    fields('B42', String(JSON.stringify(userId)), { userId, anonymousId: undefined }, 'invalid')
  }
  fields('B42', '0', { userId: 0 }, 'delivered', ({ userId }) => (userId === '0' ? undefined : userId))
  fields('B42', '12n', { userId: 12n }, 'delivered', ({ userId }) => (userId === '12' ? undefined : userId))
  fields('B42', 'anonymous only', { userId: undefined, anonymousId: 'a' }, 'delivered')
  for (const properties of ['x', 5, [], new Map(), new Error('x'), true]) {
    fields('B43', Object.prototype.toString.call(properties), { properties }, 'invalid')
  }
  fields('B43', 'class instance', { properties: new Secretive() }, 'delivered', ({ properties }) =>
    same(properties, { shown: 2 }) ? undefined : properties,
  )
  fields('B43', 'null', { properties: null }, 'delivered', ({ properties }) =>
    same(properties, {}) ? undefined : properties,
  )
  const instant = '2026-01-02T03:04:05.678Z'
  for (const timestamp of [
    new Date(instant),
    instant,
    Date.parse(instant),
    '2026-01-02T05:04:05.678+02:00',
  ]) {
    fields('B44', String(timestamp), { timestamp }, 'delivered', (message) =>
      message.timestamp === instant ? undefined : message.timestamp,
    )
  }
  fields('B44', 'future', { timestamp: '2199-01-01T00:00:00Z' }, 'delivered')
  for (const timestamp of [new Date(Number.NaN), 'garbage', {}, true, Number.NaN, 1e300, [1], '']) {
    fields('B44', `bad: ${String(timestamp)}`, { timestamp }, 'invalid')
  }
  fields('B45', '99', { messageId: 'm'.repeat(99) }, 'delivered', ({ messageId }) =>
    messageId.length === 99 ? undefined : 'changed',
  )
  for (const length of [100, 101, 10_000])
    fields('B45', String(length), { messageId: 'm'.repeat(length) }, 'invalid')
  for (const messageId of ['', 5, {}, 'a\nb', '\u0000', true])
    fields('B46', JSON.stringify(messageId), { messageId }, 'invalid')
  fields(
    'B46',
    'the same id',
    { messageId: 'twice', userId: 'u', event: 'Twice', timestamp: instant },
    'delivered',
  )
  fields(
    'B46',
    'the same id again',
    { messageId: 'twice', userId: 'u', event: 'Twice', timestamp: instant },
    'delivered',
  )
  fields('B47', 'library', { context: { library: { name: 'mine' } } }, 'delivered', ({ context }) =>
    context.library.name === 'trackpost' ? undefined : context.library,
  )
  fields('B47', 'null', { context: null }, 'delivered')
  fields('B47', 'array', { context: [] }, 'invalid')
  fields('B47', '32 KB', { context: { text: 'x'.repeat(32_768) } }, 'too_large')
  fields('B48', 'null', { integrations: null }, 'delivered', ({ integrations }) =>
    same(integrations, {}) ? undefined : integrations,
  )
  fields('B48', 'array', { integrations: [] }, 'invalid')
  fields('B48', 'All: false', { integrations: { All: false } }, 'delivered', ({ integrations }) =>
    same(integrations, { All: false }) ? undefined : integrations,
  )
  fields(
    'B49',
    'unknown fields',
    { nonsense: 1, _metadata: 'mine', type: 'alias' },
    'delivered',
    (message) => ('nonsense' in message || message.type !== 'track' ? 'kept' : undefined),
  )
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
  fields(
    'B49',
    'a field that throws a hostile proxy',
    Object.defineProperty({}, 'properties', {
      get() {
        throw new Proxy({}, hostile)
      },
      enumerable: true,
    }),
    'unserializable',
  )
  fields('B49', 'hostile proxy', undefined, 'unserializable')
  const proxied = cases.at(-1) as Case
  proxied.call = (client, callback) => client.track(new Proxy({}, hostile), callback)
  const caller: Anything = { deep: { list: [1, { a: 1 }] }, when: new Date(0), gone: 1 }
  cases.push({
    id: 'B50',
    name: 'changed after the call',
    call: (client, callback) => {
      client.track({ userId: 'bad:B50', event: 'bad:B50', properties: caller }, callback)
      caller.deep.list[1].a = 2
      caller.deep.list.push(3)
      caller.when.setFullYear(1999)
      delete caller.gone
    },
    outcomes: ['delivered'],
    check: ({ properties }) =>
      same(properties, { deep: { list: [1, { a: 1 }] }, when: '1970-01-01T00:00:00.000Z', gone: 1 })
        ? undefined
        : JSON.stringify(properties),
    maxCopies: 1_000,
  })
  let nestedOutcome = 'none'
  cases.push({
    id: 'B54',
    name: 'a call inside a getter',
    call: (client, callback) => {
      const properties = {
        get v() {
          client.track({ userId: 'inner', event: 'Inner' }, (error: Anything) => {
            nestedOutcome = error?.code ?? 'delivered'
          })
          return 1
        },
      }
      client.track({ userId: 'bad:B54', event: 'bad:B54', properties }, callback)
    },
    outcomes: ['delivered'],
    after: () => (nestedOutcome === 'delivered' ? undefined : `the inner one: ${nestedOutcome}`),
    maxCopies: 1_000,
  })

  // The messages that arrived, by the key of their case.
  const wire = new Map<string, Anything>()
  const client: Anything = t.create({
    maxRetries: 0,
    httpClient: (url: string, request: { body: string }) => {
      for (const message of JSON.parse(request.body).batch) {
        wire.set(message.userId, message)
        wire.set(message.event, message)
      }
      return fetch(url, request as RequestInit)
    },
  })
  let errors = 0
  client.on('error', () => {
    errors++
  })
  const results: CaseResult[] = []
  // The cost of a call is counted in copies of the largest legal event, made in the same process. CPU time is
  // measured, since other processes may use the machine at any moment.
  const cpuMicros = (): number => {
    const { user, system } = process.cpuUsage()
    return user + system
  }
  const largest = { v: 'x'.repeat(32_000) }
  const copyLargest = (): unknown => JSON.parse(JSON.stringify(largest))
  for (let warmUp = 0; warmUp < 200; warmUp++) copyLargest()
  const beforeMicros = cpuMicros()
  for (let count = 0; count < 1_000; count++) copyLargest()
  const copyMicros = Math.max(1, (cpuMicros() - beforeMicros) / 1_000)
  // With `flushAt: 100`, the events of many cases share a request, so the cases are checked at the end.
  const isBatched = t.settings.flushAt === 100
  const judges: (() => void)[] = []
  let n = 0
  for (const [index, one] of cases.entries()) {
    const key = `bad:${one.id}:${index}`
    const problems: string[] = []
    results.push({ id: one.id, name: one.name, problems })
    let outcome = 'none'
    let told = 0
    const callback = (error: Anything): void => {
      told++
      outcome = error === undefined ? 'delivered' : error.code
    }
    t.track(client, n++)
    const errorsBefore = errors
    const startMicros = cpuMicros()
    try {
      if (one.call !== undefined) one.call(client, callback)
      else {
        const params = one.params
        const call: Anything = { userId: key, event: key }
        Object.defineProperties(call, Object.getOwnPropertyDescriptors(params))
        client.track(call, callback)
      }
    } catch (error) {
      problems.push(`the call threw ${String(error)}`)
    }
    const copies = (cpuMicros() - startMicros) / copyMicros
    if (copies > one.maxCopies) problems.push(`the call took as long as ${copies.toFixed(0)} copies`)
    t.track(client, n++)
    const judge = (): void => {
      if (told !== 1) problems.push(`the callback ran ${told} times`)
      if (!one.outcomes.includes(outcome)) problems.push(`the outcome is ${outcome}`)
      const message = wire.get(key) ?? wire.get(`bad:${one.id}`)
      if (one.check !== undefined) {
        const problem = message === undefined ? 'it did not arrive' : one.check(message)
        if (problem !== undefined) problems.push(String(problem))
      }
      const late = one.after?.()
      if (late !== undefined) problems.push(String(late))
    }
    // Frees the data of the case, which may be as large as the engine allows.
    one.params = undefined
    if (isBatched) {
      judges.push(judge)
      await t.turn()
      continue
    }
    await client.flush()
    if (errors - errorsBefore > 1) problems.push(`${errors - errorsBefore} error events`)
    judge()
  }
  await client.flush()
  for (const judge of judges) judge()
  await t.close(client)
  return results
}

for (const flushAt of [1, 3, 100]) {
  // One process runs all cases, once. Each row of docs/faults.md is still a test of its own.
  let running: Promise<HostRun> | undefined
  let server: Awaited<ReturnType<typeof serve>>
  const results = async (): Promise<{ run: HostRun; results: CaseResult[] }> => {
    running ??= serve().then((started) => {
      server = started
      return runHost(
        {
          host: started.url,
          settings: { flushAt },
          args: { isFull },
          limitMs: 280_000,
          execArgv: isFull ? ['--max-old-space-size=4096'] : [],
        },
        runCases,
      )
    })
    const run = await running
    return { run, results: (run.report?.result ?? []) as CaseResult[] }
  }

  row(
    'B0',
    `the whole table of bad values and calls, batches of ${flushAt}`,
    'no call throws, the good events before and after arrive unchanged, one outcome each, exit code 0',
    async (row) => {
      const { run, results: cases } = await results()
      const report = expectOracleRules(run, [await server.report()], {
        otherCalls: true,
        failures: ['invalid', 'too_large', 'unserializable'],
      })
      row.injected(cases.length, 130)
      expect(
        cases
          .filter(({ problems }) => problems.length > 0)
          .map(({ id, name, problems }) => `${id} ${name}: ${problems.join()}`),
      ).toEqual([])
      expect(report.byOutcome).toEqual({ delivered: cases.length * 2 })
      expect(report.stats?.accepted).toBe(cases.length * 3 + 1)
    },
    { timeoutMs: 300_000 },
  )

  if (flushAt !== 3) continue
  const ROWS: Record<string, string> = {
    B01: 'NaN and infinities',
    B02: '-0',
    B03: 'undefined',
    B04: 'functions and symbols',
    B05: 'BigInt',
    B06: 'invalid Date',
    B07: 'Dates to the ends of time',
    B08: 'foreign Dates',
    B09: 'lone surrogates',
    B10: 'control characters',
    B11: 'emoji, ZWJ, RTL',
    B12: 'Map and Set',
    B13: 'WeakMap, Promise, Proxy',
    B14: 'RegExp, URL',
    B15: 'Error with circular cause',
    B16: 'Buffer, typed array, stream',
    B17: 'boxed primitives',
    B18: 'class instances',
    B19: 'no prototype',
    B20: 'hidden and inherited keys',
    B21: 'frozen and sealed',
    B22: 'cycles',
    B23: 'one object 10,000 times',
    B24: 'nesting to 200,000',
    B25: 'keys to 1,000,000',
    B26: 'sparse array',
    B28: 'array-likes',
    B29: 'a text of 512 MB',
    B30: 'getters that throw',
    B31: 'getters that change',
    B32: 'getters that block',
    B33: 'toJSON of all sorts',
    B34: 'conversions that throw',
    B35: 'hostile proxies',
    B36: '__proto__ as a key',
    B37: 'odd keys',
    B40: 'no event at all',
    B41: 'event names',
    B42: 'ids',
    B43: 'properties of other types',
    B44: 'timestamps',
    B45: 'messageId lengths',
    B46: 'messageId types',
    B47: 'context',
    B48: 'integrations',
    B49: 'unknown and throwing fields',
    B50: 'changed after the call',
    B54: 'a call inside a getter',
  }
  for (const [id, injected] of Object.entries(ROWS)) {
    row(
      id,
      injected,
      'the result that docs/faults.md requires, between two good events',
      async (row) => {
        const { results: all } = await results()
        const cases = all.filter((one) => one.id === id)
        row.injected(cases.length)
        expect(
          cases
            .filter(({ problems }) => problems.length > 0)
            .map(({ id, name, problems }) => `${id} ${name}: ${problems.join()}`),
        ).toEqual([])
      },
      { timeoutMs: 300_000 },
    )
  }
}

row(
  'B31',
  'a getter that changes, beside a BigInt',
  'the getter is read exactly once, or the table says why not',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url }, async (t) => {
      const client = t.create()
      let reads = 0
      const properties = {
        get v() {
          return ++reads
        },
        big: 1n,
      }
      client.track({ userId: 'u', event: 'Twice', properties })
      await t.close(client)
      return reads
    })

    const report = expectOracleRules(run, [await server.report()], { otherCalls: true })
    row.injected(1)
    expect(report.stats?.delivered).toBe(1)
    expect(report.result).toBeLessThanOrEqual(2)
    if (report.result !== 1) {
      row.doesNotHold(
        'values that JSON.stringify cannot write need the tolerant serializer, which reads every getter once more',
      )
    }
  },
)

row(
  'B51',
  'one object for all calls, one field changed each time',
  'an event for each call, all different',
  async (row) => {
    const events = size(2_000, 10_000)
    const server = await serve()

    const run = await runHost({ host: server.url, args: { events } }, async (t) => {
      const client = t.create()
      const call = { userId: 'u', event: 'Again', properties: { serial: -1 } }
      for (let n = 0; n < t.args.events; n++) {
        call.properties.serial = n
        client.track(call)
      }
      await t.close(client)
    })

    const ledger = await server.report()
    expectOracleRules(run, [ledger], { otherCalls: true })
    row.injected(events)
    const serials = await server.run(
      (all) =>
        new Set(
          all.requests.flatMap(({ body }: { body: string }) =>
            JSON.parse(body).batch.map((one: { properties: { serial: number } }) => one.properties.serial),
          ),
        ).size,
    )
    expect(serials).toBe(events)
    expect(ledger.distinct).toBe(events)
  },
)

row('B52', 'plugins write to the event', 'the objects of the caller do not change', async (row) => {
  const server = await serve()

  const run = await runHost({ host: server.url }, async (t) => {
    const client = t.create()
    await client.register({
      name: 'Writer',
      type: 'before',
      isLoaded: () => true,
      load: () => undefined,
      track: (ctx) => {
        ctx.updateEvent('properties.deep.added', 1)
        ctx.updateEvent('properties.__proto__.polluted', 1)
        ctx.updateEvent('constructor.prototype.polluted', 1)
        ctx.updateEvent('context.ip', '')
        ;(ctx.event.properties as { list: number[] }).list.push(9)
        return ctx
      },
    })
    const call = {
      userId: 'u',
      event: 'Mine',
      properties: { deep: { a: 1 }, list: [1], when: new Date(0) },
      context: { traits: { a: 1 } },
      integrations: { All: true },
    }
    const before = JSON.stringify(call)
    for (let count = 0; count < 10; count++) client.track(call)
    const isSame = JSON.stringify(call) === before
    await t.close(client)
    return {
      isSame,
      isSameLater: JSON.stringify(call) === before,
      polluted: ({} as { polluted?: number }).polluted,
    }
  })

  const report = expectOracleRules(run, [await server.report()], { otherCalls: true })
  row.injected(10)
  expect(report.result).toEqual({ isSame: true, isSameLater: true })
  expect(report.stats?.delivered).toBe(10)
})

row(
  'B53',
  'callbacks that are not functions, throw, reject, never settle',
  'ignored or guarded; each valid one is called exactly once',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url }, async (t) => {
      const client = t.create()
      let told = 0
      // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
      const callbacks: any[] = [
        5,
        'x',
        {},
        null,
        () => {
          told++
          throw new Error('in a callback')
        },
        () => {
          told++
          throw null
        },
        () => {
          told++
          return Promise.reject(new Error('in a callback'))
        },
        () => {
          told++
          return new Promise(() => {})
        },
        async () => {
          told++
          throw undefined
        },
        () => {
          told++
          return {
            // biome-ignore lint/suspicious/noThenProperty: the case
            get then() {
              throw new Error('then')
            },
          }
        },
        () => {
          told++
        },
      ]
      for (const callback of callbacks) client.track({ userId: 'u', event: 'Called back' }, callback)
      await t.close(client)
      return told
    })

    const report = expectOracleRules(run, [await server.report()], {
      otherCalls: true,
      warnings: ['TRACKPOST_USER_CODE'],
    })
    row.injected(11)
    expect(report.result).toBe(7)
    expect(report.stats?.delivered).toBe(11)
  },
)

row(
  'B55',
  'calls in process.on(exit), in an uncaughtException handler, after close',
  'no error; the host ends as it would without the SDK',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url }, async (t) => {
      const client = t.create()
      let thrown = 0
      const track = (): void => {
        try {
          client.track({ userId: 'u', event: 'Late' })
        } catch {
          thrown++
        }
      }
      await t.close(client)
      track()
      process.once('uncaughtException', () => {
        track()
        t.report.uncaught.length = 0
      })
      setTimeout(() => {
        throw new Error('the host fails')
      }, 10)
      process.once('exit', () => {
        track()
        // The test sees this as a wrong exit code.
        if (thrown > 0) process.exitCode = 99
      })
      await t.sleep(100)
    })

    const report = expectOracleRules(run, [await server.report()], {
      otherCalls: true,
      failures: ['closed'],
      unclosed: true,
    })
    row.injected(3)
    expect(report.stats?.failures).toMatchObject({ closed: 2 })
  },
)

for (const [name, execArgv] of [
  ['enumerable keys on Object.prototype', []],
  ['--disable-proto=throw', ['--disable-proto=throw']],
  ['--disable-proto=delete', ['--disable-proto=delete']],
  ['Object.freeze(Object.prototype)', []],
] as const) {
  row(
    'B38',
    `the globals of the host: ${name}`,
    'no extra keys are sent, no setting is read from a prototype, nothing breaks',
    async (row) => {
      const server = await serve()

      const run = await runHost({ host: server.url, execArgv: [...execArgv], args: { name } }, async (t) => {
        const client = t.create()
        t.track(client, 0)
        await client.flush()
        // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
        const prototype = Object.prototype as any
        if (t.args.name.startsWith('enumerable')) {
          prototype.polluted = 'polluted'
          prototype.disable = true
          prototype.flushAt = 'bad'
        } else if (t.args.name.startsWith('Object.freeze')) Object.freeze(Object.prototype)
        const other = t.create()
        for (let n = 1; n < 20; n++) t.track(n % 2 === 0 ? client : other, n)
        client.track({
          userId: 'u',
          event: 'Odd',
          properties: { big: 1n, nasty: JSON.parse('{"__proto__":1}') },
        })
        other.track({
          userId: 'u',
          event: 'Odd',
          properties: { nasty: JSON.parse('{"__proto__":{"a":1}}'), big: 1n },
        })
        await client.flush()
        await other.flush()
        delete prototype.polluted
        delete prototype.disable
        delete prototype.flushAt
        await t.close(client)
        await t.close(other)
      })

      const ledger = await server.report()
      const report = expectOracleRules(run, [ledger], { otherCalls: true })
      row.injected(21)
      expect(report.byOutcome).toEqual({ delivered: 20 })
      expect(report.stats?.delivered).toBe(22)
      expect(
        await server.run((all) =>
          all.requests.some((one: { body: string }) => one.body.includes('polluted')),
        ),
      ).toBe(false)
    },
  )
}

elsewhere('B39', 'the host uses fake timers', {
  file: 'test/package/mocked-timers.test.ts',
  test: 'an event is delivered after retries and a rate limit, and a flush resolves',
})

row(
  'B67',
  'random values of a seeded generator, each in properties and in context',
  'never throws, one outcome each; the message agrees with JSON.stringify where that works; no pollution',
  async (row) => {
    const cases = size(2_000, 100_000)
    const seed = Number(process.env['FAULTS_SEED'] ?? 20_261_120)
    const client = new Analytics({
      writeKey: CANARY_KEY,
      flushAt: 1,
      httpClient: async (_url, { body }) => {
        last = body
        return { status: 200, statusText: 'OK' }
      },
    })
    client.on('error', () => {})
    let last = ''
    const values = fc.sample(
      fc.anything({
        withBigInt: true,
        withDate: true,
        withMap: true,
        withSet: true,
        withBoxedValues: true,
        withNullPrototype: true,
        withObjectString: true,
        withTypedArray: true,
        withSparseArray: true,
        withUnicodeString: true,
        maxDepth: 4,
        key: fc.oneof(
          fc.string(),
          fc.constantFrom('__proto__', 'constructor', 'prototype', 'toJSON', 'then', 'length'),
        ),
      } as never),
      { numRuns: cases, seed },
    )

    for (const [index, value] of values.entries()) {
      let outcome: string | undefined
      let wanted: string | undefined
      try {
        wanted = JSON.stringify({ v: value })
      } catch {
        // JSON.stringify throws at a BigInt; the client then uses its tolerant serializer.
      }
      last = ''
      const call = { userId: 'u', event: 'Any', properties: { v: value }, context: { v: value } }
      client.track(call, (error) => {
        outcome = error?.code ?? 'delivered'
      })
      await client.flush()
      const problem = `case ${index} of seed ${seed}`
      expect(['delivered', 'too_large', 'unserializable'], problem).toContain(outcome)
      if (outcome !== 'delivered') continue
      const [message] = JSON.parse(last).batch
      expect(Buffer.byteLength(JSON.stringify(message)), problem).toBeLessThanOrEqual(32_768)
      if (wanted !== undefined) expect(JSON.stringify(message.properties), problem).toBe(wanted)
    }
    await client.closeAndFlush()
    row.injected(values.length, cases)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect(client.stats.accepted).toBe(cases)
    row.note(`${client.stats.delivered} delivered, ${client.stats.failed} failed`)
  },
  { timeoutMs: 300_000 },
)
