import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DeliveryError } from '../../src/errors/errors.ts'
import { buildMessage, checkMessage, type MessageStamp, toIsoTime } from '../../src/message/build.ts'
import { serialize } from '../../src/message/serialize.ts'
import type { ContextEvent, Kind, Message } from '../../src/message/types.ts'
import { KINDS, toContextEvent } from '../../src/message/wire.ts'

const NOW = '2026-11-20T09:30:00.000Z'
const STAMP: MessageStamp = {
  library: { name: 'trackpost', version: '0.1.0' },
  metadata: { nodeVersion: '20.20.2', jsRuntime: 'node' },
}

function build(kind: Kind, params: unknown): Message {
  return buildMessage(kind, params, STAMP, Date.parse(NOW))
}

function refusalOf(kind: Kind, params: unknown): DeliveryError {
  try {
    build(kind, params)
  } catch (error) {
    if (error instanceof DeliveryError) return error
    throw error
  }
  throw new Error('the call was accepted')
}

/** The fewest parameters that each kind needs. */
const LEAST: Record<Kind, Record<string, unknown>> = {
  identify: { userId: 'usr_Zoë' },
  track: { userId: 'usr_Zoë', event: 'Commande passée' },
  page: { userId: 'usr_Zoë' },
  screen: { userId: 'usr_Zoë' },
  group: { userId: 'usr_Zoë', groupId: 'Café Müller & Søn' },
  alias: { userId: 'usr_Zoë', previousId: 'anon_42' },
}

/** Fields that only some kinds have. */
const OWN_FIELDS: Record<Kind, object> = {
  identify: { traits: {} },
  track: { event: 'Commande passée', properties: {} },
  page: { properties: {} },
  screen: { properties: {} },
  group: { groupId: 'Café Müller & Søn', traits: {} },
  alias: { previousId: 'anon_42' },
}

describe('the fields that the client adds', () => {
  test.each(KINDS)('make the smallest %s complete', (kind) => {
    const message = build(kind, LEAST[kind])

    expect(JSON.parse(JSON.stringify(message))).toEqual({
      type: kind,
      messageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      timestamp: NOW,
      userId: 'usr_Zoë',
      ...OWN_FIELDS[kind],
      context: { library: { name: 'trackpost', version: '0.1.0' } },
      integrations: {},
      _metadata: { nodeVersion: '20.20.2', jsRuntime: 'node' },
    })
  })

  test.each(KINDS)('the parameters of %s are kept', (kind) => {
    const given = {
      ...LEAST[kind],
      messageId: 'commande-17',
      timestamp: '2019-07-01T12:00:00+02:00',
      context: { ip: '192.0.2.7', locale: 'fr-CA' },
      integrations: { All: false, Mixpanel: true },
    }

    const message = build(kind, given)

    expect(message).toMatchObject({
      messageId: 'commande-17',
      timestamp: '2019-07-01T10:00:00.000Z',
      context: { ip: '192.0.2.7', locale: 'fr-CA', library: STAMP.library },
      integrations: { All: false, Mixpanel: true },
    })
  })

  test('B43, B47, B48: null counts as absent', () => {
    const message = build('page', {
      ...LEAST.page,
      properties: null,
      context: null,
      integrations: null,
      name: null,
      category: null,
      messageId: null,
    })

    expect(message).toMatchObject({ properties: {}, integrations: {}, context: { library: STAMP.library } })
    expect(message.messageId).toMatch(/^[0-9a-f-]{36}$/)
    expect(JSON.parse(JSON.stringify(message))).not.toHaveProperty('name')
    expect(JSON.parse(JSON.stringify(message))).not.toHaveProperty('category')
  })

  test('B47: the library in the context is always this one', () => {
    const message = build('track', {
      ...LEAST.track,
      context: { library: { name: 'contrefaçon', version: '9.9.9' } },
    })

    expect(message.context.library).toEqual(STAMP.library)
  })

  test('B49: fields that no kind has, and fields of other kinds, are left out', () => {
    const message = build('track', {
      ...LEAST.track,
      colour: 'bleu',
      _metadata: 'mine',
      traits: {},
      groupId: 'g',
      type: 'page',
    })

    expect(message).toMatchObject({ type: 'track', _metadata: STAMP.metadata })
    expect(JSON.parse(JSON.stringify(message))).not.toHaveProperty('colour')
    expect(JSON.parse(JSON.stringify(message))).not.toHaveProperty('traits')
    expect(JSON.parse(JSON.stringify(message))).not.toHaveProperty('groupId')
  })

  test('an alias has no anonymousId', () => {
    const message = build('alias', { ...LEAST.alias, anonymousId: 'anon_1' })

    expect(message.anonymousId).toBeUndefined()
  })
})

describe('page and screen', () => {
  test('a page copies its category into the properties too', () => {
    const message = build('page', {
      ...LEAST.page,
      name: 'Thés & infusions',
      category: 'Boutique',
      properties: { url: 'https://c.example/thés', category: 'autre' },
    })

    expect(message).toMatchObject({
      name: 'Thés & infusions',
      category: 'Boutique',
      properties: { url: 'https://c.example/thés', category: 'Boutique' },
    })
  })

  test('a screen does not copy its category', () => {
    const message = build('screen', { ...LEAST.screen, category: 'Boutique', properties: { dark: true } })

    expect(message).toMatchObject({ category: 'Boutique', properties: { dark: true } })
    expect(message.properties).not.toHaveProperty('category')
  })

  test.each([
    ['page', 'name', Number.NaN],
    ['page', 'category', {}],
    ['screen', 'name', ['Accueil']],
    ['screen', 'category', true],
  ] as const)('a %s whose %s is %j is refused', (kind, field, value) => {
    const error = refusalOf(kind, { ...LEAST[kind], [field]: value })

    expect(error.code).toBe('invalid')
    expect(error.message).toContain(`${kind}: ${field}: expected a string`)
  })

  test.each([
    [5, '5'],
    [-2.5, '-2.5'],
    [9_007_199_254_740_993n, '9007199254740993'],
  ])('%s as a name or category becomes text', (given, sent) => {
    for (const kind of ['page', 'screen'] as const) {
      expect(build(kind, { ...LEAST[kind], name: given, category: given })).toMatchObject({
        name: sent,
        category: sent,
      })
    }
  })
})

describe('B43, B47, B48: objects inside a call', () => {
  class Basket {
    articles = 3
  }
  const objectFields: [kind: Kind, field: string][] = [
    ['track', 'properties'],
    ['page', 'properties'],
    ['screen', 'properties'],
    ['identify', 'traits'],
    ['group', 'traits'],
    ['track', 'context'],
    ['alias', 'context'],
    ['track', 'integrations'],
  ]
  const noObjects: [label: string, value: unknown, got: string][] = [
    ['text', 'geheim', 'a string'],
    ['a number', 5, 'a number'],
    ['a boolean', false, 'a boolean'],
    ['an array', [1], 'an array'],
    ['a Map', new Map([['geheim', 1]]), 'a Map'],
    ['a Set', new Set(['geheim']), 'a Set'],
    ['a Date', new Date(), 'a Date'],
    ['an invalid Date', new Date(Number.NaN), 'an invalid Date'],
    ['an Error', new TypeError('geheim'), 'an Error'],
    ['a boxed string', Object('geheim'), 'a String object'],
    ['a boxed number', Object(5), 'a Number object'],
    ['a function', () => {}, 'a function'],
    ['an object whose toJSON returns a string', { toJSON: () => 'geheim' }, 'a string from its toJSON()'],
  ]

  test.each(
    objectFields.flatMap(([kind, field]) =>
      noObjects.map(([label, value, got]) => ({ kind, field, label, value, got })),
    ),
  )(
    '$label as $field of a $kind is refused, and the error does not show its content',
    ({ kind, field, value, got }) => {
      const error = refusalOf(kind, { ...LEAST[kind], [field]: value })

      expect(error.code).toBe('invalid')
      expect(error.message).toBe(`${kind}: ${field}: expected an object, got ${got}`)
    },
  )

  class Article {
    #secret = 1
    name = 'Thé'
    get price() {
      return this.#secret
    }
  }
  class Document {
    #secret = 7
    toJSON(key: string) {
      return { key, secret: this.#secret, articles: [new Article()] }
    }
  }
  class Self {
    articles = 3
    toJSON() {
      return this
    }
  }
  const instances: [label: string, make: () => object][] = [
    ['an instance of a class', () => new Basket()],
    ['an instance of a class with accessors', () => new Article()],
    ['an instance with toJSON', () => new Document()],
    ['an instance whose toJSON returns itself', () => new Self()],
    ['an instance whose toJSON returns another with toJSON', () => ({ toJSON: () => new Document() })],
    [
      'an object with inherited properties',
      () => Object.assign(Object.create({ inherited: true }), { own: 1 }),
    ],
  ]

  test.each(
    objectFields.flatMap(([kind, field]) => instances.map(([label, make]) => ({ kind, field, label, make }))),
  )('$label as $field of a $kind becomes what JSON.stringify writes', ({ kind, field, make }) => {
    const given = make()
    const before = Object.getOwnPropertyDescriptors(given)

    const message = build(kind, { ...LEAST[kind], [field]: given, category: undefined })

    const { library, ...written } = JSON.parse(JSON.stringify(message))[field]
    expect({ [field]: written }).toEqual(JSON.parse(JSON.stringify({ [field]: given })))
    expect(Object.getOwnPropertyDescriptors(given)).toEqual(before)
  })

  test('the properties of a page also get the category if they have a toJSON', () => {
    const message = build('page', { ...LEAST.page, category: 'Boutique', properties: new Document() })

    expect(JSON.parse(JSON.stringify(message.properties))).toEqual({
      key: 'properties',
      secret: 7,
      articles: [{ name: 'Thé' }],
      category: 'Boutique',
    })
  })

  test.each([undefined, null])('an object whose toJSON returns %s counts as absent', (nothing) => {
    const message = build('track', { ...LEAST.track, properties: { toJSON: () => nothing } })

    expect(message.properties).toEqual({})
  })

  test.each([
    new Error('base fermée'),
    // For example, from a strict client that `toJSON` has called with bad arguments.
    new DeliveryError('invalid', 'event: expected a non-empty string'),
  ])('an object whose toJSON throws makes the event fail: %s', (error) => {
    const properties = {
      toJSON() {
        throw error
      },
    }

    expect(refusalOf('track', { ...LEAST.track, properties })).toMatchObject({
      code: 'unserializable',
      message: 'properties: its toJSON throws',
      cause: error,
    })
  })
})

describe('reading the arguments', () => {
  test('each field is read exactly once', () => {
    const reads: string[] = []
    const params = new Proxy(
      { ...LEAST.page, name: 'Thés', category: 'Boutique', properties: {}, context: {} },
      {
        get(target, name, receiver) {
          reads.push(String(name))
          return Reflect.get(target, name, receiver)
        },
      },
    )

    build('page', params)

    expect(reads.length).toBe(new Set(reads).size)
  })

  test.each(KINDS)('leaves the object that %s gets unchanged', (kind) => {
    const given = {
      ...LEAST[kind],
      context: { ip: '192.0.2.7' },
      traits: { name: 'Zoë' },
      properties: { price: 12.5 },
      category: 'Boutique',
    }
    const before = structuredClone(given)

    build(kind, given)

    expect(given).toEqual(before)
  })
})

describe('B44: a number as a timestamp', () => {
  const nowMs = Date.parse(NOW)

  test.each([
    ['seconds', nowMs / 1e3, ' that looks like seconds'],
    ['microseconds', nowMs * 1e3, ' that looks like microseconds'],
    ['nanoseconds', nowMs * 1e6, ' that looks like nanoseconds'],
    [
      'milliseconds before 2000',
      Date.UTC(2000) - 1,
      ' that is before 2000-01-01; write a Date for such a time',
    ],
    ['0', 0, ' that is before 2000-01-01; write a Date for such a time'],
    [
      'milliseconds more than ten years ahead',
      Date.UTC(2037),
      ' that is more than ten years ahead; write a Date for such a time',
    ],
  ])('is refused in %s', (_label, timestamp, fault) => {
    const error = refusalOf('track', { ...LEAST.track, timestamp })

    expect(error.code).toBe('invalid')
    expect(error.message).toBe(`track: timestamp: expected milliseconds since 1970, got a number${fault}`)
  })

  test.each([Date.UTC(2000), nowMs, Date.UTC(2036)])('%i is taken', (timestamp) => {
    expect(build('track', { ...LEAST.track, timestamp }).timestamp).toBe(new Date(timestamp).toISOString())
  })

  test.each([new Date(0), '1970-01-01T00:00:00Z', new Date('2126-01-01'), '2126-01-01'])(
    'a Date and ISO text may be of any year: %s',
    (timestamp) => {
      const text = new Date(timestamp).toISOString()
      expect(build('track', { ...LEAST.track, timestamp }).timestamp).toBe(text)
    },
  )
})

describe('B44: toIsoTime', () => {
  const instant = '2026-11-20T09:30:00.000Z'

  test.each([
    ['a Date', new Date(instant), instant],
    ['milliseconds since the epoch', Date.parse(instant), instant],
    ['the epoch itself', 0, '1970-01-01T00:00:00.000Z'],
    ['milliseconds before the epoch', -1, '1969-12-31T23:59:59.999Z'],
    ['a fraction of a millisecond', 1.9, '1970-01-01T00:00:00.001Z'],
    ['ISO text in UTC', '2026-11-20T09:30:00Z', instant],
    ['ISO text with an offset', '2026-11-20T10:30:00+01:00', instant],
    ['ISO text with an offset without colon', '2026-11-20T10:30:00+0100', instant],
    ['ISO text with a fraction', '2026-11-20T09:30:00.123456789Z', '2026-11-20T09:30:00.123Z'],
    ['ISO text with a decimal comma', '2026-11-20T09:30:00,5Z', '2026-11-20T09:30:00.500Z'],
    ['ISO text without seconds', '2026-11-20T09:30Z', instant],
    ['a date alone, read as UTC', '2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['a time in the past', '1999-12-31T23:59:59Z', '1999-12-31T23:59:59.000Z'],
    ['a time in the future', '2126-01-01T00:00:00Z', '2126-01-01T00:00:00.000Z'],
    ['the last time that a Date can hold', 8.64e15, '+275760-09-13T00:00:00.000Z'],
    ['a year before year 0', '-000044-03-15T00:00:00Z', '-000044-03-15T00:00:00.000Z'],
  ])('%s becomes the same time in UTC', (_label, value, text) => {
    expect(toIsoTime(value)).toBe(text)
  })

  test.each([
    ['an invalid Date', new Date(Number.NaN)],
    ['text that is not a time', 'garbage'],
    ['empty text', ''],
    ['a number as text', '1700000000000'],
    ['a time of day alone', '09:30:00'],
    ['an RFC 2822 date', 'Fri, 20 Nov 2026 09:30:00 GMT'],
    ['a month 13', '2026-13-01T00:00:00Z'],
    ['an hour 25', '2026-11-20T25:00:00Z'],
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['a number beyond what a Date can hold', 8.64e15 + 1],
    ['an object', { $date: 0 }],
    ['a boolean', true],
    ['a BigInt', 1n],
    ['null', null],
    ['undefined', undefined],
  ])('%s is not a time', (_label, value) => {
    expect(toIsoTime(value)).toBeUndefined()
  })

  test('any text gives canonical ISO text or nothing', () => {
    const almostDates = fc.stringMatching(
      /^[+-]?\d{4,6}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:?\d\d)?)?$/,
    )

    fc.assert(
      fc.property(fc.oneof(almostDates, fc.string()), (text) => {
        const iso = toIsoTime(text)

        if (iso !== undefined) expect(new Date(iso).toISOString()).toBe(iso)
      }),
    )
  })
})

test('B31: a getter of the properties runs once, for the check and the JSON together', () => {
  let reads = 0
  const properties = {
    get price() {
      return ++reads
    },
  }

  expect(serialize(build('track', { ...LEAST.track, properties }))).toContain('"price":1}')
  expect(reads).toBe(1)
})

describe('a field that cannot be read', () => {
  test('is marked in a context, and the other fields of the context stay', () => {
    const context = {
      ip: '203.0.113.7',
      get locale(): string {
        throw new Error('no')
      },
    }

    expect(build('track', { ...LEAST.track, context }).context).toEqual({
      ip: '203.0.113.7',
      locale: '[Throws]',
      library: STAMP.library,
    })
  })
})

describe('an event that has left the plugins', () => {
  /** The event of the smallest call of a kind, changed by a plugin. */
  function check(kind: Kind, changes: object): Record<string, unknown> {
    const event = toContextEvent(build(kind, LEAST[kind]))
    return JSON.parse(serialize(checkMessage(kind, { ...event, ...changes } as ContextEvent)))
  }

  test.each(KINDS)('a %s that no plugin has changed is sent as without plugins', (kind) => {
    const message = build(kind, { ...LEAST[kind], timestamp: '2019-07-01T10:00:00.000Z' })

    expect(serialize(checkMessage(kind, toContextEvent(message)))).toBe(serialize(message))
  })

  test('fields that a plugin has added are kept, and its type is that of the call', () => {
    expect(check('track', { type: 'page', traceparent: '00-1' })).toMatchObject({
      type: 'track',
      traceparent: '00-1',
    })
  })

  test.each<[string, Kind, object, string]>([
    ['no identity', 'track', { userId: null }, 'expected userId or anonymousId, got neither'],
    ['an alias without an id', 'alias', { userId: '' }, 'userId: expected a non-empty string, got none'],
    ['a timestamp that is none', 'track', { timestamp: 'demain' }, 'timestamp: expected a valid Date'],
    [
      'properties that are text',
      'track',
      { properties: 'x' },
      'properties: expected an object, got a string',
    ],
    ['a context that is a list', 'track', { context: [] }, 'context: expected an object, got an array'],
    [
      'a toJSON that gives text',
      'track',
      { properties: { toJSON: () => 'x' } },
      'properties: expected an object',
    ],
  ])('%s is not valid', (_label, kind, changes, message) => {
    expect(() => check(kind, changes)).toThrow(
      expect.objectContaining({
        code: 'invalid',
        message: expect.stringContaining(`a plugin has changed the event: ${kind}: ${message}`),
      }),
    )
  })
})
