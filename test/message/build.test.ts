import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { DeliveryError } from '../../src/errors/errors.ts'
import { buildMessage, type MessageStamp } from '../../src/message/build.ts'
import { KINDS, type Kind, type Message } from '../../src/message/types.ts'

const NOW = '2026-11-20T09:30:00.000Z'
const STAMP: MessageStamp = {
  library: { name: 'trackpost', version: '0.1.0' },
  metadata: { nodeVersion: '20.20.2', jsRuntime: 'node' },
}

function build(kind: Kind, params: unknown): Message {
  return buildMessage(kind, params, STAMP, Date.parse(NOW))
}

/** What a call is refused with. */
function refusalOf(kind: Kind, params: unknown): DeliveryError {
  try {
    build(kind, params)
  } catch (error) {
    if (error instanceof DeliveryError) return error
    throw error
  }
  throw new Error('the call was accepted')
}

/** The least that each kind takes. */
const LEAST: Record<Kind, Record<string, unknown>> = {
  identify: { userId: 'usr_Zoë' },
  track: { userId: 'usr_Zoë', event: 'Commande passée' },
  page: { userId: 'usr_Zoë' },
  screen: { userId: 'usr_Zoë' },
  group: { userId: 'usr_Zoë', groupId: 'Café Müller & Søn' },
  alias: { userId: 'usr_Zoë', previousId: 'anon_42' },
}

/** Fields of a kind beside those that all kinds have. */
const OWN_FIELDS: Record<Kind, object> = {
  identify: { traits: {} },
  track: { event: 'Commande passée', properties: {} },
  page: { properties: {} },
  screen: { properties: {} },
  group: { groupId: 'Café Müller & Søn', traits: {} },
  alias: { previousId: 'anon_42' },
}

describe('what the client fills in', () => {
  test.each(KINDS)('the least %s comes out complete', (kind) => {
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

  test.each(KINDS)('what the caller gives to %s is kept', (kind) => {
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

  test('two messages have different ids', () => {
    expect(build('track', LEAST.track).messageId).not.toBe(build('track', LEAST.track).messageId)
  })

  test.each(['messageId', 'timestamp', 'context', 'integrations', 'traits'])(
    'a null %s counts as left out',
    (field) => {
      const message = build('identify', { ...LEAST.identify, [field]: null })

      expect(message).toMatchObject({
        messageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        timestamp: NOW,
        context: { library: STAMP.library },
        integrations: {},
        traits: {},
      })
    },
  )

  test('null properties, name and category count as left out', () => {
    const message = build('page', { ...LEAST.page, properties: null, name: null, category: null })

    expect(message.properties).toEqual({})
    expect(JSON.parse(JSON.stringify(message))).not.toHaveProperty('name')
    expect(JSON.parse(JSON.stringify(message))).not.toHaveProperty('category')
  })

  test('the library in the context is always ours', () => {
    const message = build('track', {
      ...LEAST.track,
      context: { library: { name: 'contrefaçon', version: '9.9.9' } },
    })

    expect(message.context.library).toEqual(STAMP.library)
  })

  test('fields that no kind has, and fields of other kinds, are left out', () => {
    const message = build('track', { ...LEAST.track, colour: 'bleu', traits: {}, groupId: 'g', type: 'page' })

    expect(message.type).toBe('track')
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

  test('a screen keeps its category to itself', () => {
    const message = build('screen', { ...LEAST.screen, category: 'Boutique', properties: { dark: true } })

    expect(message).toMatchObject({ category: 'Boutique', properties: { dark: true } })
    expect(message.properties).not.toHaveProperty('category')
  })

  test.each([
    ['page', 'name', 5],
    ['page', 'category', {}],
    ['screen', 'name', ['Accueil']],
    ['screen', 'category', true],
  ] as const)('a %s whose %s is %j is refused', (kind, field, value) => {
    const error = refusalOf(kind, { ...LEAST[kind], [field]: value })

    expect(error.code).toBe('invalid')
    expect(error.message).toContain(`${field}: expected a string`)
  })

  test('the properties of the caller stay without the category', () => {
    const properties = Object.freeze({ url: 'https://c.example/thés' })

    build('page', { ...LEAST.page, category: 'Boutique', properties })

    expect(properties).toEqual({ url: 'https://c.example/thés' })
  })
})

describe('what is no call', () => {
  test.each([
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a number', 5, 'number'],
    ['text', 'Commande passée', 'string'],
    ['an array', [LEAST.track], 'an array'],
    ['a function', () => LEAST.track, 'function'],
    ['a boolean', true, 'boolean'],
    ['a symbol', Symbol('event'), 'symbol'],
  ])('%s instead of the event is refused', (_label, params, got) => {
    const error = refusalOf('track', params)

    expect(error.code).toBe('invalid')
    expect(error.message).toBe(`track: expected an object, got ${got}`)
  })
})

describe('identity', () => {
  test.each([
    ['text', 'usr_Zoë', 'usr_Zoë'],
    ['a number', 4711, '4711'],
    ['zero', 0, '0'],
    ['a negative number', -3, '-3'],
    ['a BigInt beyond 2^53', 9_007_199_254_740_993n, '9007199254740993'],
    ['a space', ' ', ' '],
  ])('%s is an id', (_label, given, sent) => {
    expect(build('track', { ...LEAST.track, userId: given }).userId).toBe(sent)
    expect(build('identify', { anonymousId: given }).anonymousId).toBe(sent)
    expect(build('group', { ...LEAST.group, groupId: given }).groupId).toBe(sent)
    expect(build('alias', { ...LEAST.alias, previousId: given }).previousId).toBe(sent)
  })

  test.each(KINDS.filter((kind) => kind !== 'alias'))('a %s with an anonymousId alone is taken', (kind) => {
    const { userId, ...rest } = LEAST[kind]

    const message = build(kind, { ...rest, anonymousId: 'anon_Łódź' })

    expect(message.anonymousId).toBe('anon_Łódź')
    expect(message.userId).toBeUndefined()
  })

  test('an empty userId beside an anonymousId counts as left out', () => {
    const message = build('track', { ...LEAST.track, userId: '', anonymousId: 'anon_1' })

    expect(message.userId).toBeUndefined()
  })

  const noIds: [label: string, value: unknown][] = [
    ['undefined', undefined],
    ['null', null],
    ['empty text', ''],
  ]
  test.each(KINDS.flatMap((kind) => noIds.map(([label, value]) => ({ kind, label, value }))))(
    'a $kind whose only id is $label is refused',
    ({ kind, value }) => {
      const error = refusalOf(kind, { ...LEAST[kind], userId: value })

      expect(error.code).toBe('invalid')
      expect(error.message).toContain('userId')
    },
  )

  test.each([
    ['false', false, 'boolean'],
    ['an object', { id: 1 }, 'object'],
    ['an array', ['usr_1'], 'an array'],
    ['NaN', Number.NaN, 'NaN'],
    ['Infinity', Number.POSITIVE_INFINITY, 'Infinity'],
    ['a symbol', Symbol('usr'), 'symbol'],
    ['a function', () => 'usr', 'function'],
  ])('%s is no id', (_label, value, got) => {
    const error = refusalOf('track', { ...LEAST.track, userId: value })

    expect(error.code).toBe('invalid')
    expect(error.message).toBe(`userId: expected a string or a finite number, got ${got}`)
  })

  test('a bad anonymousId beside a good userId is refused', () => {
    expect(refusalOf('track', { ...LEAST.track, anonymousId: {} }).message).toContain('anonymousId')
  })

  test.each([
    ['group', 'groupId', undefined],
    ['group', 'groupId', ''],
    ['group', 'groupId', null],
    ['alias', 'previousId', undefined],
    ['alias', 'previousId', ''],
    ['alias', 'userId', undefined],
  ] as const)('a %s needs its %s, and %j is none', (kind, field, value) => {
    const error = refusalOf(kind, { ...LEAST[kind], [field]: value })

    expect(error.code).toBe('invalid')
    expect(error.message).toContain(`${field}: expected a non-empty string`)
  })
})

describe('the name of an event', () => {
  test.each([
    ['missing', undefined, 'undefined'],
    ['empty', '', 'an empty string'],
    ['a number', 5, 'number'],
    ['an object', {}, 'object'],
    ['null', null, 'null'],
  ])('a track whose event is %s is refused', (_label, event, got) => {
    const error = refusalOf('track', { userId: 'usr_Zoë', event })

    expect(error.code).toBe('invalid')
    expect(error.message).toBe(`event: expected a non-empty string, got ${got}`)
  })

  test('a name of 10,000 characters is taken', () => {
    const event = 'é'.repeat(10_000)

    expect(build('track', { userId: 'usr_Zoë', event }).event).toBe(event)
  })
})

describe('objects inside a call', () => {
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
    ['text', 'geheim', 'string'],
    ['a number', 5, 'number'],
    ['a boolean', false, 'boolean'],
    ['an array', [1], 'an array'],
    ['a Map', new Map([['geheim', 1]]), 'object'],
    ['a Date', new Date(), 'a Date'],
    ['a class instance', new Basket(), 'object'],
    ['an array of another realm', runInNewContext('[1]'), 'an array'],
    ['a function', () => {}, 'function'],
  ]

  test.each(
    objectFields.flatMap(([kind, field]) =>
      noObjects.map(([label, value, got]) => ({ kind, field, label, value, got })),
    ),
  )('$label as $field of a $kind is refused without showing it', ({ kind, field, value, got }) => {
    const error = refusalOf(kind, { ...LEAST[kind], [field]: value })

    expect(error.code).toBe('invalid')
    expect(error.message).toBe(`${field}: expected a plain object, got ${got}`)
  })

  test.each([
    ['an object without a prototype', Object.assign(Object.create(null), { articles: 3 })],
    ['an object of another realm', runInNewContext('({ articles: 3 })')],
    ['a frozen object', Object.freeze({ articles: 3 })],
    ['a proxy of a plain object', new Proxy({ articles: 3 }, {})],
  ])('%s is taken', (_label, properties) => {
    expect(build('track', { ...LEAST.track, properties }).properties).toEqual({ articles: 3 })
  })

  test('polluting names in the context and the integrations are data, and reach no prototype', () => {
    const evil = JSON.parse(
      '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}',
    )

    const message = build('track', { ...LEAST.track, context: evil, integrations: evil })

    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect(Object.getPrototypeOf(message.context)).toBe(Object.prototype)
    expect(JSON.stringify(message.context)).toContain('"__proto__":{"polluted":true}')
  })
})

describe('messageId and timestamp', () => {
  test.each([
    ['99 characters', 'é'.repeat(99)],
    ['one character', '1'],
  ])('a messageId of %s is taken', (_label, messageId) => {
    expect(build('track', { ...LEAST.track, messageId }).messageId).toBe(messageId)
  })

  test.each([
    ['of 100 characters', 'é'.repeat(100), 'string'],
    ['of 101 characters', 'é'.repeat(101), 'string'],
    ['that is empty', '', 'an empty string'],
    ['with a control character', 'a\u0007', 'string'],
    ['that is a number', 17, 'number'],
    ['that is an object', {}, 'object'],
  ])('a messageId %s is refused', (_label, messageId, got) => {
    const error = refusalOf('track', { ...LEAST.track, messageId })

    expect(error.code).toBe('invalid')
    expect(error.message).toBe(
      `messageId: expected 1 to 99 characters without control characters, got ${got}`,
    )
  })

  test.each([
    ['an invalid Date', new Date(Number.NaN), 'an invalid Date'],
    ['garbage', 'demain', 'string'],
    ['empty text', '', 'an empty string'],
    ['NaN', Number.NaN, 'NaN'],
    ['an object', {}, 'object'],
    ['a boolean', true, 'boolean'],
  ])('%s as a timestamp is refused', (_label, timestamp, got) => {
    const error = refusalOf('track', { ...LEAST.track, timestamp })

    expect(error.code).toBe('invalid')
    expect(error.message).toContain(
      `timestamp: expected a valid Date, ISO-8601 text or milliseconds, got ${got}`,
    )
  })

  test('a Date that the caller changes later has been read already', () => {
    const timestamp = new Date('2019-07-01T10:00:00Z')

    const message = build('track', { ...LEAST.track, timestamp })
    timestamp.setFullYear(1999)

    expect(message.timestamp).toBe('2019-07-01T10:00:00.000Z')
  })
})

describe('reading the call', () => {
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

  test('what a getter throws comes through', () => {
    const error = new Error('la base est fermée')
    const params = {
      ...LEAST.track,
      get properties() {
        throw error
      },
    }

    expect(() => build('track', params)).toThrow(error)
  })

  test.each(KINDS)('the object given to %s is left as it was', (kind) => {
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
