import { afterEach, describe, expect, test } from 'vitest'
import { SettingsError } from '../src/errors/errors.ts'
import {
  type AnalyticsSettings,
  CHOICES,
  NUMBERS,
  REGIONS,
  resolveSettings,
  SETTING_NAMES,
  SWITCHES,
  unknownSettings,
} from '../src/settings.ts'

const WRITE_KEY = 'wk_Zurich_7Qm4'

/** The settings with one more, of any type: JavaScript callers pass anything. */
function resolveWith(settings: Record<string, unknown>) {
  return resolveSettings({ writeKey: WRITE_KEY, ...settings } as AnalyticsSettings)
}

/** The error that the settings are refused with. */
function refusalOf(settings: unknown): SettingsError {
  try {
    resolveSettings(settings as AnalyticsSettings)
  } catch (error) {
    if (error instanceof SettingsError) return error
    throw error
  }
  throw new Error('the settings were accepted')
}

describe('defaults', () => {
  test('with nothing but a write key, every setting has its documented default', () => {
    const resolved = resolveSettings({ writeKey: WRITE_KEY })

    expect(resolved).toEqual({
      writeKey: WRITE_KEY,
      region: 'default',
      host: 'https://api.segment.io',
      path: '/v1/batch',
      maxRetries: 3,
      flushAt: 15,
      flushInterval: 10_000,
      httpRequestTimeout: 10_000,
      disable: false,
      httpClient: undefined,
      maxQueueSize: 100_000,
      maxQueueBytes: 33_554_432,
      overflow: 'drop-newest',
      maxConcurrentRequests: 4,
      maxTotalBackoffDuration: 43_200,
      maxRateLimitDuration: 43_200,
      strict: false,
      waitUntil: undefined,
      exitTimeout: 5_000,
    })
  })

  test.each(SETTING_NAMES.filter((name) => name !== 'writeKey'))(
    'an explicit undefined for %s means its default',
    (name) => {
      const resolved = resolveWith({ [name]: undefined })

      expect(resolved).toEqual(resolveSettings({ writeKey: WRITE_KEY }))
    },
  )

  test('the resolved settings cannot be changed', () => {
    const resolved = resolveSettings({ writeKey: WRITE_KEY })

    expect(Object.isFrozen(resolved)).toBe(true)
  })
})

describe('numbers', () => {
  const names = Object.keys(NUMBERS) as (keyof typeof NUMBERS)[]
  const badNumbers: [label: string, value: unknown, got: string][] = [
    ['NaN', Number.NaN, 'number'],
    ['minus one', -1, 'number'],
    ['Infinity', Number.POSITIVE_INFINITY, 'number'],
    ['a fraction', 10.5, 'number'],
    ['text', '10', 'string'],
    ['a boolean', true, 'boolean'],
    ['null', null, 'null'],
    ['an array', [10], 'array'],
    ['an object', {}, 'object'],
    ['a BigInt', 10n, 'bigint'],
  ]
  const matrix = names.flatMap((name) =>
    badNumbers.map(([label, value, got]) => ({ name, label, value, got })),
  )

  test.each(matrix)('$name refuses $label and names the type', ({ name, value, got }) => {
    const error = refusalOf({ writeKey: WRITE_KEY, [name]: value })

    expect(error.setting).toBe(name)
    expect(error.code).toBe('invalid_setting')
    expect(error.message).toContain(`${name}: expected an integer from ${NUMBERS[name].min}`)
    expect(error.message).toMatch(new RegExp(`got .*${got}`))
  })

  test.each(names)('%s takes both ends of its range and nothing beyond', (name) => {
    const { min, max } = NUMBERS[name]

    expect(resolveWith({ [name]: min })[name]).toBe(min)
    expect(resolveWith({ [name]: max })[name]).toBe(max)
    expect(refusalOf({ writeKey: WRITE_KEY, [name]: min - 1 }).setting).toBe(name)
    expect(refusalOf({ writeKey: WRITE_KEY, [name]: max + 1 }).setting).toBe(name)
  })

  test.each(['flushInterval', 'httpRequestTimeout', 'exitTimeout'] as const)(
    '%s refuses a delay that a timer cannot take',
    (name) => {
      expect(refusalOf({ writeKey: WRITE_KEY, [name]: 2 ** 31 }).setting).toBe(name)
    },
  )

  test('zero retries and a zero exit time are values, not absences', () => {
    const resolved = resolveWith({ maxRetries: 0, exitTimeout: 0 })

    expect(resolved.maxRetries).toBe(0)
    expect(resolved.exitTimeout).toBe(0)
  })
})

describe('maxEventsInBatch', () => {
  test('it is the old name of flushAt', () => {
    expect(resolveWith({ maxEventsInBatch: 40 }).flushAt).toBe(40)
  })

  test('flushAt wins where both are given', () => {
    expect(resolveWith({ maxEventsInBatch: 40, flushAt: 7 }).flushAt).toBe(7)
  })

  test('it counts where flushAt is an explicit undefined', () => {
    expect(resolveWith({ maxEventsInBatch: 40, flushAt: undefined }).flushAt).toBe(40)
  })

  test('a bad value is reported under the name that the caller wrote', () => {
    const error = refusalOf({ writeKey: WRITE_KEY, maxEventsInBatch: 'forty' })

    expect(error.setting).toBe('maxEventsInBatch')
    expect(error.message).toContain('got string')
    expect(error.message).not.toContain('forty')
  })
})

describe('choices and switches', () => {
  const choices = (Object.keys(CHOICES) as (keyof typeof CHOICES)[]).flatMap((name) =>
    CHOICES[name].map((choice) => ({ name, choice })),
  )

  test.each(choices)("$name takes '$choice'", ({ name, choice }) => {
    expect(resolveWith({ [name]: choice })[name]).toBe(choice)
  })

  test.each([
    { name: 'region', value: 'EU', got: 'another string' },
    { name: 'region', value: 'toString', got: 'another string' },
    { name: 'region', value: '', got: 'another string' },
    { name: 'region', value: null, got: 'null' },
    { name: 'region', value: 1, got: 'number' },
    { name: 'overflow', value: 'drop-all', got: 'another string' },
    { name: 'overflow', value: ['drop-oldest'], got: 'array' },
  ])('$name refuses $value and lists what it takes', ({ name, value, got }) => {
    const error = refusalOf({ writeKey: WRITE_KEY, [name]: value })

    expect(error.setting).toBe(name)
    expect(error.message).toContain(`got ${got}`)
    for (const choice of CHOICES[name as 'region']) expect(error.message).toContain(`'${choice}'`)
  })

  test.each(
    SWITCHES.flatMap((name) =>
      [
        { value: 'true', got: 'string' },
        { value: 1, got: 'number' },
        { value: null, got: 'null' },
        { value: {}, got: 'object' },
      ].map((bad) => ({ name, ...bad })),
    ),
  )('$name refuses a value of type $got', ({ name, value, got }) => {
    const error = refusalOf({ writeKey: WRITE_KEY, [name]: value })

    expect(error.setting).toBe(name)
    expect(error.message).toBe(`${name}: expected a boolean, got ${got}`)
  })

  test.each(SWITCHES)('%s can be set and unset', (name) => {
    expect(resolveWith({ [name]: true })[name]).toBe(true)
    expect(resolveWith({ [name]: false })[name]).toBe(false)
  })
})

describe('writeKey', () => {
  test.each([
    { label: 'nothing', value: undefined, got: 'undefined' },
    { label: 'null', value: null, got: 'null' },
    { label: 'a number', value: 4711, got: 'number' },
    { label: 'an object', value: {}, got: 'object' },
  ])('it refuses $label', ({ value, got }) => {
    const error = refusalOf({ writeKey: value })

    expect(error.message).toBe(`writeKey: expected a string, got ${got}`)
  })

  test.each([
    ['empty text', ''],
    ['spaces', '   '],
    ['a colon, which would end the user name', 'geheim:wort'],
    ['a line break, which would end the header', 'geheim\r\nX-Admin: 1'],
    ['a trailing line break', 'geheim\n'],
    ['letters beyond ASCII', 'geheimschlüssel'],
    ['a control character', 'geheim\u0000'],
    ['more than 1,024 characters', 'geheim'.repeat(200)],
  ])('it refuses %s without showing it', (_label, value) => {
    const error = refusalOf({ writeKey: value })

    expect(error.setting).toBe('writeKey')
    expect(error.message).not.toContain('geheim')
  })
})

describe('region and host', () => {
  test('the EU region has a host of its own', () => {
    expect(resolveWith({ region: 'eu' }).host).toBe('https://events.eu1.segmentapis.com')
  })

  test('a given host wins over the region', () => {
    const resolved = resolveWith({ region: 'eu', host: 'https://collect.boulangerie.example' })

    expect(resolved.host).toBe('https://collect.boulangerie.example')
  })

  test('both regions have a host and a token server', () => {
    expect(REGIONS).toEqual({
      default: { host: 'https://api.segment.io', authServer: 'https://oauth2.segment.io' },
      eu: { host: 'https://events.eu1.segmentapis.com', authServer: 'https://oauth2.eu1.segmentapis.com' },
    })
  })

  test.each([
    ['a trailing slash', 'https://c.example/', 'https://c.example'],
    ['many trailing slashes', 'https://c.example///', 'https://c.example'],
    ['a path prefix', 'https://c.example/segment/eu/', 'https://c.example/segment/eu'],
    ['upper case', 'HTTPS://C.Example', 'https://c.example'],
    ['the default port', 'https://c.example:443', 'https://c.example'],
    ['another port', 'http://localhost:8080', 'http://localhost:8080'],
    ['an IPv6 address', 'http://[::1]:8080/', 'http://[::1]:8080'],
    ['an international name', 'https://bücher.example', 'https://xn--bcher-kva.example'],
  ])('%s is normalised', (_label, host, normalised) => {
    expect(resolveWith({ host }).host).toBe(normalised)
  })

  test.each([
    ['no scheme', 'api.geheim.example'],
    ['no scheme but a port', 'geheim:8080'],
    ['the scheme file', 'file:///geheim'],
    ['the scheme ftp', 'ftp://geheim.example'],
    ['a user name', 'https://geheim@c.example'],
    ['a password', 'https://u:geheim@c.example'],
    ['a query', 'https://c.example/?geheim=1'],
    ['an empty query', 'https://geheim.example/?'],
    ['a fragment', 'https://c.example/#geheim'],
    ['an empty fragment', 'https://geheim.example/#'],
    ['a port out of range', 'https://geheim.example:99999'],
    ['empty text', ''],
    ['a number', 8080],
    ['null', null],
    ['a URL object', new URL('https://geheim.example')],
  ])('a host with %s is refused without showing it', (_label, host) => {
    const error = refusalOf({ writeKey: WRITE_KEY, host })

    expect(error.setting).toBe('host')
    expect(error.message).toContain('host: expected an absolute http or https URL')
    expect(error.message).not.toContain('geheim.')
    expect(error.message).not.toContain('geheim@')
    expect(error.message).not.toContain('geheim=')
  })
})

describe('path', () => {
  test.each([
    ['/v1/batch', '/v1/batch'],
    ['v1/batch', '/v1/batch'],
    ['', '/'],
  ])('%j becomes %j', (path, normalised) => {
    expect(resolveWith({ path }).path).toBe(normalised)
  })

  test.each([
    ['a space', '/v1 batch', 'string'],
    ['a line break', '/v1\r\nHost: x', 'string'],
    ['a query', '/v1?x=1', 'string'],
    ['a fragment', '/v1#x', 'string'],
    ['a backslash', '\\\\other.example\\v1', 'string'],
    ['null', null, 'null'],
    ['a number', 1, 'number'],
  ])('a path with %s is refused', (_label, path, got) => {
    const error = refusalOf({ writeKey: WRITE_KEY, path })

    expect(error.setting).toBe('path')
    expect(error.message).toMatch(new RegExp(`got .*${got}`))
  })
})

describe('httpClient and waitUntil', () => {
  test('httpClient takes a function and an object with makeRequest', () => {
    const fetchFn = async () => ({ status: 200, statusText: 'OK' })
    const client = { makeRequest: fetchFn }

    expect(resolveWith({ httpClient: fetchFn }).httpClient).toBe(fetchFn)
    expect(resolveWith({ httpClient: client }).httpClient).toBe(client)
  })

  test.each([
    ['httpClient', 'fetch', 'string'],
    ['httpClient', null, 'null'],
    ['httpClient', {}, 'object'],
    ['httpClient', { makeRequest: 'fetch' }, 'object'],
    ['waitUntil', 'later', 'string'],
    ['waitUntil', null, 'null'],
    ['waitUntil', {}, 'object'],
  ])('%s refuses %j', (name, value, got) => {
    const error = refusalOf({ writeKey: WRITE_KEY, [name]: value })

    expect(error.setting).toBe(name)
    expect(error.message).toContain(`got ${got}`)
  })
})

describe('the settings object', () => {
  test.each([
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['text', 'wk_123', 'string'],
    ['a function', () => {}, 'function'],
  ])('%s in its place is refused', (_label, settings, got) => {
    expect(refusalOf(settings).message).toBe(`settings: expected an object, got ${got}`)
  })

  test('each setting is read exactly once', () => {
    const reads: string[] = []
    const settings = {}
    for (const name of SETTING_NAMES) {
      const value = name === 'writeKey' ? WRITE_KEY : undefined
      Object.defineProperty(settings, name, {
        enumerable: true,
        get() {
          reads.push(name)
          return value
        },
      })
    }

    resolveSettings(settings as AnalyticsSettings)

    expect(reads.sort()).toEqual([...SETTING_NAMES].sort())
  })

  test('inherited settings do not count', () => {
    const settings = Object.create({ flushAt: 1, host: 'https://evil.example' })
    settings.writeKey = WRITE_KEY

    const resolved = resolveSettings(settings)

    expect(resolved.flushAt).toBe(15)
    expect(resolved.host).toBe('https://api.segment.io')
  })

  describe('when the prototype of all objects is polluted', () => {
    const polluted = Object.prototype as Record<string, unknown>
    afterEach(() => {
      delete polluted['host']
      delete polluted['disable']
    })

    test('nothing of it is taken', () => {
      polluted['host'] = 'https://evil.example'
      polluted['disable'] = true

      const resolved = resolveSettings({ writeKey: WRITE_KEY })

      expect(resolved.host).toBe('https://api.segment.io')
      expect(resolved.disable).toBe(false)
    })
  })

  test('an object without a prototype, and a frozen one, are taken', () => {
    const bare = Object.assign(Object.create(null), { writeKey: WRITE_KEY, flushAt: 2 })

    expect(resolveSettings(bare).flushAt).toBe(2)
    expect(resolveSettings(Object.freeze({ writeKey: WRITE_KEY, flushAt: 3 })).flushAt).toBe(3)
  })

  test('an object without a write key of its own is refused', () => {
    expect(refusalOf({}).setting).toBe('writeKey')
    expect(refusalOf([]).setting).toBe('writeKey')
  })
})

describe('unknown names', () => {
  test.each([
    ['flushat', 'flushAt'],
    ['flushSize', 'flushAt'],
    ['writekey', 'writeKey'],
    ['maxRetry', 'maxRetries'],
    ['maxQueSize', 'maxQueueSize'],
    ['requestTimeout', 'httpRequestTimeout'],
    ['hosts', 'host'],
  ])('%s is near %s', (name, nearest) => {
    expect(unknownSettings({ [name]: 1 })).toEqual([{ name, nearest }])
  })

  test('known names are not reported', () => {
    const all = Object.fromEntries(SETTING_NAMES.map((name) => [name, undefined]))

    expect(unknownSettings(all)).toEqual([])
  })

  test('inherited names are not reported', () => {
    expect(unknownSettings(Object.create({ colour: 'bleu' }))).toEqual([])
  })
})
