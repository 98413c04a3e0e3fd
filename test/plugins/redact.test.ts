import { afterEach, describe, expect, test, vi } from 'vitest'
import { KINDS } from '../../src/message/wire.ts'
import { Context, type ContextEvent } from '../../src/pipeline/context.ts'
import type { Plugin } from '../../src/pipeline/plugin.ts'
import { type RedactOptions, redact } from '../../src/plugins.ts'
import { createAnalytics } from '../support/create-analytics.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()
afterEach(() => {
  vi.restoreAllMocks()
})

const EMAIL = /[\p{L}\p{N}._%+-]+@[\p{L}\p{N}.-]+/u

function redacted(options: RedactOptions, more: object): Record<string, unknown> {
  const ctx = new Context({
    type: 'track',
    messageId: 'commande-17',
    timestamp: new Date('2026-11-20T09:30:00Z'),
    userId: 'usr_Zoë',
    event: 'Commande passée',
    context: { library: { name: 'trackpost', version: '0.1.0' } },
    integrations: {},
    _metadata: { jsRuntime: 'node' },
    ...more,
  } as ContextEvent)
  const { all } = redact(options) as Required<Plugin>
  expect(all(ctx)).toBeUndefined()
  return JSON.parse(JSON.stringify(ctx.event))
}

function properties(options: RedactOptions, given: unknown): unknown {
  return redacted(options, { properties: given })['properties']
}

describe('redaction by key', () => {
  test.each(['creditCard', 'credit_card', 'Credit-Card', 'CREDIT CARD', 'creditcard'])(
    'finds %s in any spelling',
    (key) => {
      expect(properties({ keys: ['creditCard'] }, { [key]: '4111', card: 'oui' })).toEqual({
        [key]: '[redacted]',
        card: 'oui',
      })
    },
  )

  test('replaces a value of any type as a whole, but leaves null and undefined', () => {
    const given = { a: { secret: { x: [1] } }, b: [{ secret: 5 }, { secret: false }, { secret: null }] }

    expect(properties({ keys: ['secret'] }, given)).toEqual({
      a: { secret: '[redacted]' },
      b: [{ secret: '[redacted]' }, { secret: '[redacted]' }, { secret: null }],
    })
  })

  test('finds ids, but not the other fields of the protocol', () => {
    const keys = [
      'userId',
      'event',
      'name',
      'category',
      'properties',
      'context',
      'type',
      'messageId',
      'library',
    ]

    const event = redacted({ keys }, { properties: { name: 'Zoë' }, name: 'Accueil', category: 'c' })

    expect(event).toMatchObject({
      type: 'track',
      messageId: 'commande-17',
      userId: '[redacted]',
      event: 'Commande passée',
      name: 'Accueil',
      category: 'c',
      properties: { name: '[redacted]' },
      context: { library: { name: 'trackpost', version: '0.1.0' } },
    })
  })
})

describe('redaction by pattern', () => {
  test('searches texts, keys, ids, numbers, dates and the context', () => {
    const event = redacted(
      { patterns: [EMAIL, /4111\d+/, /1815-\d\d/] },
      {
        userId: 'zoe@example.com',
        event: 'Invité zoe@example.com',
        context: { page: { url: 'https://a/?to=zoe@example.com' }, library: { name: 'a@b.c', version: '1' } },
        properties: {
          'li@example.cn': { opened: true },
          card: 4111111111111111,
          born: new Date('1815-12-10T00:00:00Z'),
          other: new Date('1915-12-10T00:00:00Z'),
          left: 42,
        },
      },
    )

    expect(event).toMatchObject({
      userId: '[redacted]',
      event: 'Invité [redacted]',
      context: { page: { url: 'https://a/?to=[redacted]' }, library: { name: 'a@b.c' } },
      properties: {
        '[redacted]': { opened: true },
        card: '[redacted]',
        born: '[redacted]-10T00:00:00.000Z',
        other: '1915-12-10T00:00:00.000Z',
        left: 42,
      },
    })
    expect(event['timestamp']).toBe('2026-11-20T09:30:00.000Z')
  })

  test.each(['g', 'y', 'gy', 'gi', 'u', ''])(
    'finds every match in each text, with the flags "%s"',
    (flags) => {
      const pattern = new RegExp('\\d+', flags)
      pattern.lastIndex = 2
      const options = { patterns: [pattern], replacement: '#' }
      const plugin = redact(options) as Required<Plugin>

      const results = ['a1b22', '7', '1 2 3', 'x9'].map((text) => {
        const ctx = new Context({ type: 'track', properties: { text } } as never)
        plugin.all(ctx)
        return ctx.event.properties?.['text']
      })

      expect(results).toEqual(['a#b#', '#', '# # #', 'x#'])
      expect(pattern.lastIndex).toBe(2)
    },
  )

  test('replaces overlapping matches of two patterns as one, whatever their order', () => {
    const text = 'write to zoe42@example.com today'

    for (const patterns of [
      [/\d+/, EMAIL],
      [EMAIL, /\d+/],
    ]) {
      expect(properties({ patterns }, { text })).toEqual({ text: 'write to [redacted] today' })
    }
  })

  test('does not use the replacement as a template, and does not search it', () => {
    expect(properties({ patterns: [/secret/], replacement: "$&$1$'<secret>" }, { x: 'a secret b' })).toEqual({
      x: "a $&$1$'<secret> b",
    })
  })

  test('terminates with a pattern that matches the empty string', () => {
    expect(properties({ patterns: [/x*/, /(?=😀)/u, /^/, /$/] }, { a: '😀xx😀', b: '' })).toEqual({
      a: '😀[redacted]😀',
      b: '',
    })
  })

  test('keeps all values of keys that become equal', () => {
    const given = { 'a@b.c': 1, 'd@e.f': 2, '[redacted]': 3, 'g@h.i': 4, __proto__: 5, '[redacted] 2': 6 }

    expect(properties({ patterns: [EMAIL] }, given)).toEqual({
      '[redacted]': 3,
      '[redacted] 2': 6,
      '[redacted] 3': 1,
      '[redacted] 4': 2,
      '[redacted] 5': 4,
    })
  })

  test('keeps an own key named __proto__ as data', () => {
    const given = JSON.parse('{ "__proto__": { "mail": "a@b.c" }, "constructor": "a@b.c" }')

    expect(JSON.stringify(properties({ patterns: [EMAIL] }, given))).toBe(
      '{"__proto__":{"mail":"[redacted]"},"constructor":"[redacted]"}',
    )
    expect(({} as { mail?: string }).mail).toBeUndefined()
  })
})

describe('the integrations', () => {
  test('keep their names and their true and false values, and the rest is redacted', () => {
    const integrations = { All: false, CRM: true, 'a@b.c': false, Mail: { email: 'a@b.c', to: 'x a@b.c' } }

    expect(redacted({ keys: ['CRM', 'email'], patterns: [EMAIL] }, { integrations })['integrations']).toEqual(
      {
        All: false,
        CRM: true,
        'a@b.c': false,
        Mail: { email: '[redacted]', to: 'x [redacted]' },
      },
    )
  })
})

describe('a function as replacement', () => {
  test('gets the text that is removed', () => {
    const options: RedactOptions = {
      keys: ['id', 'address'],
      patterns: [EMAIL],
      replacement: (text) => `<${text.length}>`,
    }

    expect(properties(options, { id: 1042, address: { a: 1 }, note: 'to a@b.c' })).toEqual({
      id: '<4>',
      address: '<7>',
      note: 'to <5>',
    })
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('non')
      },
    ],
    ['does not return a text', () => 5 as never],
    ['returns a promise', async () => 'x'],
  ])('that %s drops the event', async (_label, replacement) => {
    const { analytics, client } = createAnalytics()
    analytics.on('error', () => {})
    await analytics.register(redact({ keys: ['email'], replacement: replacement as never }))

    analytics.track({ userId: 'u', event: 'e', properties: { email: 'a@b.c' } })
    await analytics.flush()

    expect(client.requests).toEqual([])
    expect(analytics.stats.failures.plugin).toBe(1)
  })
})

describe('unusual input', () => {
  test('is redacted in every kind of event, and the objects of the caller are not changed', async () => {
    const { analytics, client } = createAnalytics()
    await analytics.register(redact({ patterns: [EMAIL] }))
    const given = { mail: 'a@b.c' }

    for (const kind of KINDS) {
      analytics[kind]({
        userId: 'a@b.c',
        event: 'e',
        groupId: 'a@b.c',
        previousId: 'a@b.c',
        properties: given,
        traits: given,
        context: given,
      } as never)
    }
    await analytics.flush()

    expect(client.requests.flatMap(({ batch }) => batch)).toHaveLength(KINDS.length)
    expect(client.requests.map(({ body }) => body).join()).not.toContain('@')
    expect(given).toEqual({ mail: 'a@b.c' })
  })

  test('from another plugin is redacted in the form that JSON gives it', () => {
    const cyclic: Record<string, unknown> = { mail: 'a@b.c' }
    cyclic['self'] = cyclic
    let reads = 0

    const result = properties(
      { patterns: [EMAIL] },
      {
        cyclic,
        later: { toJSON: () => ({ mail: 'a@b.c' }) },
        boxed: Object('a@b.c'),
        get twice() {
          return reads++ === 0 ? 'fine' : 'a@b.c'
        },
        get throws() {
          throw new Error('non')
        },
        big: 12n,
        map: new Map([['mail', 'a@b.c']]),
        proxy: new Proxy({ mail: 'a@b.c' }, {}),
        [Symbol('s')]: 'a@b.c',
      },
    )

    expect(result).toEqual({
      cyclic: { mail: '[redacted]', self: '[Circular]' },
      later: { mail: '[redacted]' },
      boxed: '[redacted]',
      twice: expect.stringMatching(/^(fine|\[redacted\])$/),
      throws: '[Throws]',
      big: '12',
      map: {},
      proxy: { mail: '[redacted]' },
    })
  })

  test('of 10,000 levels fails the event', async () => {
    const { analytics, client } = createAnalytics()
    const reasons: string[] = []
    analytics.on('error', ({ reason }) => reasons.push(`${reason.code}: ${reason.message}`))
    await analytics.register(
      {
        name: 'profond',
        type: 'before',
        track(ctx) {
          let inner: object = { mail: 'a@b.c' }
          for (let level = 0; level < 10_000; level++) inner = { inner }
          ctx.event.properties = inner as never
        },
      },
      redact({ patterns: [EMAIL] }),
    )

    analytics.track({ userId: 'u', event: 'e' })
    await analytics.flush()

    expect(reasons).toEqual([
      "plugin: the plugin 'redact' failed: more than 500 levels deep (unserializable)",
    ])
    expect(client.requests).toEqual([])
  })

  test('has each text that is too long for patterns replaced as a whole, without a search', () => {
    const searched: number[] = []
    const { exec } = RegExp.prototype
    vi.spyOn(RegExp.prototype, 'exec').mockImplementation(function (this: RegExp, text) {
      if (this.source === '(?:a|a)+b') searched.push(text.length)
      return exec.call(this, text)
    })
    const patterns = [/(?:a|a)+b/]

    const result = properties(
      { patterns },
      { long: 'a'.repeat(2_049), ['a'.repeat(30_000)]: 'x', short: 'aab' },
    )

    expect(result).toEqual({ long: '[redacted]', '[redacted]': 'x', short: '[redacted]' })
    expect(Math.max(...searched)).toBeLessThan(50)
  })

  test('whose id would become empty fails the event, which is not sent without an id', () => {
    expect(() => redacted({ keys: ['userId'], replacement: '' }, {})).toThrow('userId would be empty')
    expect(() => redacted({ patterns: [/.+/], replacement: '' }, { userId: undefined })).toThrow(
      'event would',
    )
  })
})

test.each([
  ['no options', undefined, 'options: expected an object, got undefined'],
  ['nothing to redact', {}, 'expected keys or patterns, got neither'],
  ['empty lists', { keys: [], patterns: [] }, 'expected keys or patterns, got neither'],
  [
    'a misspelt option',
    { keys: ['a'], pattern: [/x/] },
    "no option 'pattern'; the options are keys, patterns",
  ],
  ['keys that are not a list', { keys: 'email' }, 'keys: expected a list, got a string'],
  ['patterns that are not a list', { patterns: /x/ }, 'patterns: expected a list, got an object'],
  [
    'a key that is not a text',
    { keys: [5] },
    'keys: expected non-empty texts and regular expressions, got a number',
  ],
  [
    'an empty key',
    { keys: [''] },
    'keys: expected non-empty texts and regular expressions, got an empty string',
  ],
  ['an empty pattern', { patterns: [''] }, 'patterns: expected non-empty texts and regular expressions'],
  ['a number as replacement', { keys: ['a'], replacement: 5 }, 'replacement: expected a text or a function'],
])('%s: refused when the plugin is created', (_label, options, message) => {
  expect(() => redact(options as never)).toThrow(TypeError)
  expect(() => redact(options as never)).toThrow(message)
})
