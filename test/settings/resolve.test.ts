import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { SettingsError } from '../../src/errors/errors.ts'
import { KILL_SWITCHES } from '../../src/settings/names.ts'
import { resolveSettings } from '../../src/settings/resolve.ts'
import { type NamesOf, OAUTH_SETTINGS, SETTINGS } from '../../src/settings/schema.ts'
import type { AnalyticsSettings } from '../../src/settings/settings.ts'
import { CLIENT_PEM } from '../support/token-server.ts'

const SETTING_NAMES = Object.keys(SETTINGS)

const WRITE_KEY = 'wk_Zurich_7Qm4'

function namesOf<Type extends 'integer' | 'choice' | 'boolean'>(type: Type): NamesOf<Type>[] {
  return Object.entries(SETTINGS).flatMap(([name, rule]) =>
    rule.type === type ? [name as NamesOf<Type>] : [],
  )
}

/** The values may have any type, as from JavaScript callers. */
function resolveWith(settings: Record<string, unknown>) {
  return resolveSettings({ writeKey: WRITE_KEY, ...settings } as AnalyticsSettings)
}

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
  test('apply to every setting when only the write key is given, as documented', () => {
    const resolved = resolveSettings({ writeKey: WRITE_KEY })

    expect(resolved).toEqual({
      writeKey: WRITE_KEY,
      region: 'default',
      host: 'https://api.segment.io',
      path: '/v1/batch',
      maxRetries: 3,
      isMaxRetriesGiven: false,
      flushAt: 15,
      maxEventsInBatch: 2_500,
      maxRequestEvents: 2_500,
      flushInterval: 10_000,
      httpRequestTimeout: 10_000,
      disable: false,
      compress: 'none',
      httpClient: undefined,
      maxQueueSize: 100_000,
      maxQueueBytes: 33_554_432,
      maxMessageBytes: 32_768,
      maxBodyBytes: 500_000,
      maxConcurrentRequests: 4,
      maxTotalBackoffDuration: 43_200,
      maxRateLimitDuration: 43_200,
      strict: false,
      waitUntil: undefined,
      exitTimeout: 5_000,
    })
  })

  test.each(SETTING_NAMES.filter((name) => name !== 'writeKey'))(
    'apply to %s when it is explicitly undefined',
    (name) => {
      const resolved = resolveWith({ [name]: undefined })

      expect(resolved).toEqual(resolveSettings({ writeKey: WRITE_KEY }))
    },
  )
})

describe('B63: numbers', () => {
  const names = namesOf('integer')
  const badNumbers: [label: string, value: unknown, got: string][] = [
    ['NaN', Number.NaN, 'number'],
    ['minus one', -1, 'number'],
    ['Infinity', Number.POSITIVE_INFINITY, 'number'],
    ['a fraction', 10.5, 'number'],
    ['text', '10', 'string'],
    ['a boolean', true, 'boolean'],
    ['null', null, 'null'],
    ['an array', [10], 'array'],
    ['an object', {}, 'an object'],
    ['a BigInt', 10n, 'bigint'],
  ]
  const matrix = names.flatMap((name) =>
    badNumbers.map(([label, value, got]) => ({ name, label, value, got })),
  )

  test.each(matrix)('$name refuses $label and names the type', ({ name, value, got }) => {
    const error = refusalOf({ writeKey: WRITE_KEY, [name]: value })

    expect(error.setting).toBe(name)
    expect(error.code).toBe('invalid_setting')
    expect(error.message).toContain(`${name}: expected an integer from ${SETTINGS[name].min}`)
    expect(error.message).toMatch(new RegExp(`got .*${got}`))
  })

  test.each(names)('%s accepts both ends of its range and nothing beyond', (name) => {
    const { min, max } = SETTINGS[name]
    // A body must have room for a message. So the lowest limits need small messages, and the highest need large bodies.
    const small = { maxMessageBytes: 1_024 }
    const large = { maxBodyBytes: SETTINGS.maxBodyBytes.max }

    expect(resolveWith({ ...small, [name]: min })[name]).toBe(min)
    expect(resolveWith({ ...large, [name]: max })[name]).toBe(max)
    expect(refusalOf({ writeKey: WRITE_KEY, [name]: min - 1 }).setting).toBe(name)
    expect(refusalOf({ writeKey: WRITE_KEY, [name]: max + 1 }).setting).toBe(name)
  })
})

describe('limits in bytes', () => {
  test.each([
    [
      { maxMessageBytes: 600_000 },
      'maxBodyBytes: expected at least 604096 (bytes), since a message may have 600000 bytes (maxMessageBytes); got 500000',
    ],
    [
      { maxBodyBytes: 36_863 },
      'maxBodyBytes: expected at least 36864 (bytes), since a message may have 32768 bytes (maxMessageBytes); got 36863',
    ],
    [
      { maxQueueBytes: 32_767 },
      'maxQueueBytes: expected at least 32768 (bytes), since a message may have 32768 bytes (maxMessageBytes); got 32767',
    ],
  ])('are refused when they contradict each other: %j', (settings, message) => {
    expect(refusalOf({ writeKey: WRITE_KEY, ...settings }).message).toBe(message)
  })

  test('are accepted at the smallest consistent values', () => {
    const limits = { maxMessageBytes: 1_024, maxQueueBytes: 1_024, maxBodyBytes: 8_192 }

    expect(resolveWith(limits)).toMatchObject(limits)
  })
})

describe('maxEventsInBatch', () => {
  test('is also the trigger when it is given alone', () => {
    expect(resolveWith({ maxEventsInBatch: 40, flushAt: undefined }).flushAt).toBe(40)
    expect(resolveWith({ maxEventsInBatch: 40, flushAt: 7 }).flushAt).toBe(7)
  })

  test.each([
    [{ maxEventsInBatch: 40 }, 40],
    [{ maxEventsInBatch: 40, flushAt: 100 }, 40],
    [{ maxEventsInBatch: 40, flushAt: 1 }, 1],
    [{ maxEventsInBatch: 5_000 }, 5_000],
    [{ flushAt: 40 }, 2_500],
    [{ flushAt: 5_000 }, 2_500],
    [{ flushAt: 1 }, 1],
    [{ maxEventsInBatch: 1 }, 1],
  ])('%j allows requests of %i events', (settings, most) => {
    expect(resolveWith(settings).maxRequestEvents).toBe(most)
  })
})

describe('enumerations and booleans', () => {
  test.each([
    { name: 'region', value: 'EU', got: 'another string' },
    { name: 'region', value: 'toString', got: 'another string' },
    { name: 'region', value: '', got: 'another string' },
    { name: 'region', value: null, got: 'null' },
    { name: 'region', value: 1, got: 'a number' },
  ])('$name refuses $value and lists the valid values', ({ name, value, got }) => {
    const error = refusalOf({ writeKey: WRITE_KEY, [name]: value })

    expect(error.setting).toBe(name)
    expect(error.message).toContain(`got ${got}`)
    for (const choice of SETTINGS[name as 'region'].choices) expect(error.message).toContain(`'${choice}'`)
  })

  test.each(
    namesOf('boolean').flatMap((name) =>
      [
        { value: 'true', got: 'a string' },
        { value: 1, got: 'a number' },
        { value: '', got: 'an empty string' },
        { value: new Map(), got: 'a Map' },
        { value: null, got: 'null' },
        { value: {}, got: 'an object' },
      ].map((bad) => ({ name, ...bad })),
    ),
  )('$name refuses $got', ({ name, value, got }) => {
    const error = refusalOf({ writeKey: WRITE_KEY, [name]: value })

    expect(error.setting).toBe(name)
    expect(error.message).toBe(`${name}: expected a boolean, got ${got}`)
  })
})

describe('B61: writeKey', () => {
  test.each([
    {
      label: 'nothing',
      value: undefined,
      got: "undefined; write new Analytics({ writeKey: '...' }), or set the variable that it is read from",
    },
    { label: 'null', value: null, got: 'null' },
    { label: 'a number', value: 4711, got: 'a number' },
    { label: 'an object', value: {}, got: 'an object' },
  ])('refuses $label', ({ value, got }) => {
    const error = refusalOf({ writeKey: value })

    expect(error.message).toMatch(/^writeKey: expected /)
    expect(error.message.endsWith(`, got ${got}`)).toBe(true)
  })

  test.each([
    ['empty text', '', 'an empty string'],
    ['spaces', '   ', 'a string with white space'],
    ['a line break, which would end the header', 'geheim\r\nX-Admin 1', 'a string with white space'],
    ['a trailing line break', 'geheim\n', 'a string with white space'],
    ['letters beyond ASCII', 'geheimschlüssel', 'a string with other characters'],
    ['a control character', 'geheim\u0000', 'a string with other characters'],
    ['more than 1,024 characters', 'geheim'.repeat(200), 'a string of 1200 characters'],
  ])('refuses %s without showing it, and says why', (_label, value, got) => {
    const error = refusalOf({ writeKey: value })

    expect(error.message.endsWith(`, got ${got}`)).toBe(true)
    expect(error.setting).toBe('writeKey')
    expect(error.message).not.toContain('geheim')
  })
})

describe('names of other SDKs', () => {
  test.each([{ enable: false }, { enabled: false }, { disabled: true }, { disable: false, enabled: false }])(
    '%j disables the client',
    (settings) => {
      expect(resolveWith(settings).disable).toBe(true)
    },
  )

  test.each([{ enable: true }, { enabled: true }, { disabled: false }, { enabled: undefined }])(
    '%j leaves the client enabled',
    (settings) => {
      expect(resolveWith(settings).disable).toBe(false)
    },
  )
})

describe('B64: unknown names', () => {
  const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const warnings = (): string[] => emitWarning.mock.calls.map(([message]) => String(message))
  beforeEach(() => emitWarning.mockClear())

  test('are reported in one warning with the names that exist, and never throw', () => {
    const oauthSettings = {
      clientId: 'c',
      clientKey: CLIENT_PEM,
      keyId: 'i',
      authSever: 'https://staging.example',
    }

    const resolved = resolveWith({ timeout: 5_000, url: 'x', retries: 3, flushat: 5, oauthSettings })

    expect(warnings()).toEqual([
      `unknown settings: timeout, url, retries, flushat, oauthSettings.authSever; the settings are ${SETTING_NAMES.join(', ')}; ` +
        `those of oauthSettings are ${Object.keys(OAUTH_SETTINGS).join(', ')}`,
    ])
    expect(resolved.flushAt).toBe(15)
  })

  test('that switch other SDKs off switch this one off, and the warning says so', () => {
    expect(resolveWith({ enabled: false }).disable).toBe(true)

    expect(warnings()).toEqual([
      expect.stringMatching(/^unknown settings: enabled; .*; enabled: false counts as disable: true$/),
    ])
  })
})

describe('doubtful settings', () => {
  const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const warnings = (): string[] => emitWarning.mock.calls.map(([message]) => String(message))
  beforeEach(() => emitWarning.mockClear())

  test.each([
    [
      { maxQueueSize: 5, flushAt: 50 },
      'maxQueueSize (5) is less than flushAt (50): the queue is full before there are enough events to be sent',
    ],
    [
      { maxQueueSize: 14 },
      'maxQueueSize (14) is less than flushAt (15): the queue is full before there are enough events to be sent',
    ],
    ...[
      'http://c.example/base',
      'http://1.2.3.4',
      'http://172.32.0.1',
      'http://[2001:db8::1]:80',
      'http://10.evil.example',
    ].map((host): [object, string] => [
      { host },
      `host: the write key and all events for ${new URL(host).hostname} are sent over plain http, where others can read them; write 'https://...'`,
    ]),
  ])('%j causes a warning', (settings, message) => {
    resolveWith(settings as Record<string, unknown>)

    expect(warnings()).toEqual([message])
  })

  test.each([
    { maxQueueSize: 15 },
    { maxQueueSize: 1, flushAt: 1 },
    ...[
      ...[
        'localhost',
        'app.localhost',
        '127.0.0.1',
        '127.9.9.9',
        '[::1]',
        '10.1.2.3',
        '192.168.0.7',
        '172.16.0.1',
        '172.31.0.1',
      ],
      ...[
        '169.254.1.1',
        '[fd00::1]',
        '[fe80::1]',
        'collector',
        'collector.default.svc.cluster.local',
        'a.internal',
        'box.lan',
      ],
    ].map((name) => ({ host: `http://${name}:8080` })),
    { host: 'https://c.example' },
  ])('%j causes no warning', (settings) => {
    resolveWith(settings)

    expect(warnings()).toEqual([])
  })
})

describe('B62: region and host', () => {
  test('the EU region has its own host', () => {
    expect(resolveWith({ region: 'eu' }).host).toBe('https://events.eu1.segmentapis.com')
  })

  test('a given host takes precedence over the region', () => {
    const resolved = resolveWith({ region: 'eu', host: 'https://collect.boulangerie.example' })

    expect(resolved.host).toBe('https://collect.boulangerie.example')
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
  ])('a host is refused without showing it: %s', (_label, host) => {
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
    ['a space', '/v1 batch', 'white space'],
    ['a line break', '/v1\r\nHost: x', 'white space'],
    ['a query', '/v1?x=1', '\\?'],
    ['a fragment', '/v1#x', '#'],
    ['a backslash', '\\\\other.example\\v1', '\\\\'],
    ['null', null, 'null'],
    ['a number', 1, 'number'],
  ])('a path is refused: %s', (_label, path, got) => {
    const error = refusalOf({ writeKey: WRITE_KEY, path })

    expect(error.setting).toBe('path')
    expect(error.message).toMatch(new RegExp(`got .*${got}`))
  })
})

describe('httpClient and waitUntil', () => {
  test.each([
    ['httpClient', 'fetch', 'a string'],
    ['httpClient', null, 'null'],
    ['httpClient', {}, 'an object'],
    ['httpClient', { makeRequest: 'fetch' }, 'an object'],
    ['waitUntil', 'later', 'a string'],
    ['waitUntil', null, 'null'],
    ['waitUntil', {}, 'an object'],
  ])('%s refuses %j', (name, value, got) => {
    const error = refusalOf({ writeKey: WRITE_KEY, [name]: value })

    expect(error.setting).toBe(name)
    expect(error.message).toContain(`got ${got}`)
  })
})

describe('B65, S14: the settings object', () => {
  test('refuses a write key in its place, and says what to write', () => {
    const message = refusalOf(WRITE_KEY).message

    expect(message).toBe(
      "settings: expected an object, got a string; write new Analytics({ writeKey: 'KEY' })",
    )
  })

  test.each([
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a number', 7, 'a number'],
    ['a function', () => {}, 'a function'],
  ])('refuses %s in its place', (_label, settings, got) => {
    expect(refusalOf(settings).message).toBe(`settings: expected an object, got ${got}`)
  })

  test('is read only once, setting by setting', () => {
    const reads: string[] = []
    const settings = {}
    const names = [...SETTING_NAMES, ...KILL_SWITCHES.map(([name]) => name)]
    for (const name of names) {
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

    expect(reads.sort()).toEqual(names.sort())
  })

  test('ignores inherited settings', () => {
    const settings = Object.create({ flushAt: 1, host: 'https://evil.example' })
    settings.writeKey = WRITE_KEY

    const resolved = resolveSettings(settings)

    expect(resolved.flushAt).toBe(15)
    expect(resolved.host).toBe('https://api.segment.io')
  })

  describe('B38: when the prototype of all objects is polluted', () => {
    const polluted = Object.prototype as Record<string, unknown>
    afterEach(() => {
      delete polluted['host']
      delete polluted['disable']
    })

    test('its properties are not used', () => {
      polluted['host'] = 'https://evil.example'
      polluted['disable'] = true

      const resolved = resolveSettings({ writeKey: WRITE_KEY })

      expect(resolved.host).toBe('https://api.segment.io')
      expect(resolved.disable).toBe(false)
    })
  })
})
