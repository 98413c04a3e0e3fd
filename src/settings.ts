import { type CryptoKey, type PrivateKey, readPrivateKey } from './auth/private-key.ts'
import { SettingsError } from './errors/errors.ts'
import type { HTTPClient, HTTPFetchFn } from './http/client.ts'

/** What the constructor of `Analytics` takes. Own properties only; each is read once. @see spec.md, section 5 */
export interface AnalyticsSettings {
  /** The write key of the source. */
  writeKey: string
  /** Picks `host` and the token server together. Default: `'default'`. */
  region?: 'default' | 'eu' | undefined
  /** Base address of the API; a path prefix in it is kept. Default: the region's. */
  host?: string | undefined
  /** Path of the API below `host`. Default: `/v1/batch`. */
  path?: string | undefined
  /** Retries of a batch after its first attempt. Default: 3. */
  maxRetries?: number | undefined
  /** Messages queued before a flush; 1 turns batching off. Default: 15. */
  flushAt?: number | undefined
  /** @deprecated The old name of `flushAt`. */
  maxEventsInBatch?: number | undefined
  /** Milliseconds after which what waits is sent, however little. Default: 10,000. */
  flushInterval?: number | undefined
  /** Longest wait for one whole exchange, body included, in milliseconds. Default: 10,000. */
  httpRequestTimeout?: number | undefined
  /** Makes no request at all; callbacks and promises still settle, as delivered. Default: false. */
  disable?: boolean | undefined
  /**
   * Own HTTP implementation: a client object or a fetch function. Default: the global `fetch`, and where that is the
   * one of Node.js, the dispatcher below it.
   */
  httpClient?: HTTPClient | HTTPFetchFn | undefined
  /** Access tokens instead of the write key as the proof of who sends. */
  oauthSettings?: OAuthSettings | undefined
  /** Bound on the events that wait. Default: 100,000. */
  maxQueueSize?: number | undefined
  /** Bound on the bytes that wait. Default: 33,554,432. */
  maxQueueBytes?: number | undefined
  /** Which event is given up, with `queue_full`, when a bound is reached. Default: `'drop-newest'`. */
  overflow?: 'drop-newest' | 'drop-oldest' | undefined
  /** Requests in flight at a time; 1 keeps strict order across batches. Default: 4. */
  maxConcurrentRequests?: number | undefined
  /** Longest time a batch is retried for, in seconds. Default: 43,200. */
  maxTotalBackoffDuration?: number | undefined
  /** Longest time a batch waits for a rate limit to end, in seconds. Default: 43,200. */
  maxRateLimitDuration?: number | undefined
  /** Bad calls throw instead of being reported. Default: false. */
  strict?: boolean | undefined
  /** Serverless: is handed a promise for what is tracked in one turn, which is flushed together. */
  waitUntil?: ((promise: Promise<unknown>) => void) | undefined
  /** How long a process that has run out of work is kept to deliver what waits, in milliseconds; 0 = not at all. Default: 5,000. */
  exitTimeout?: number | undefined
}

/** How to get access tokens: the client signs assertions of its own. @see spec.md, section 4 */
export interface OAuthSettings {
  /** The id of the OAuth application. */
  clientId: string
  /**
   * Its RSA private key, of 2,048 bits or more: PEM text (PKCS#8 or PKCS#1), a `KeyObject` of Node.js, or a
   * `CryptoKey` for RS256.
   */
  clientKey: string | CryptoKey | KeyObjectLike
  /** The id of the public key that belongs to it. */
  keyId: string
  /** Base address of the token server, and the audience of the assertion. Default: the region's. */
  authServer?: string | undefined
  /** What the token is to allow, separated by spaces. Default: `tracking_api:write`. */
  scope?: string | undefined
  /**
   * Retries of a token request, after which the events that wait for it fail. Default: as many as
   * `maxTotalBackoffDuration` leaves time for.
   */
  maxRetries?: number | undefined
  /** Own HTTP implementation for token requests. Default: the one for events. */
  httpClient?: HTTPClient | HTTPFetchFn | undefined
}

/** A `KeyObject` of `node:crypto`, declared here because not every runtime has its types. */
export interface KeyObjectLike {
  readonly type: string
  // `any`: the overloads of the real one accept no narrower declaration.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  export(options?: any): any
}

/** Numbers: default, range (both ends included) and unit. All are integers. */
export const NUMBERS = {
  maxRetries: { default: 3, min: 0, max: 1_000, unit: 'retries' },
  flushAt: { default: 15, min: 1, max: 1_000_000, unit: 'events' },
  flushInterval: { default: 10_000, min: 1, max: 2_147_483_647, unit: 'ms' },
  httpRequestTimeout: { default: 10_000, min: 1, max: 2_147_483_647, unit: 'ms' },
  maxQueueSize: { default: 100_000, min: 1, max: 100_000_000, unit: 'events' },
  maxQueueBytes: { default: 33_554_432, min: 32_768, max: 17_179_869_184, unit: 'bytes' },
  maxConcurrentRequests: { default: 4, min: 1, max: 1_000, unit: 'requests' },
  maxTotalBackoffDuration: { default: 43_200, min: 1, max: 2_147_483, unit: 's' },
  maxRateLimitDuration: { default: 43_200, min: 1, max: 2_147_483, unit: 's' },
  exitTimeout: { default: 5_000, min: 0, max: 2_147_483_647, unit: 'ms' },
} as const

export const CHOICES = {
  region: ['default', 'eu'],
  overflow: ['drop-newest', 'drop-oldest'],
} as const

export const SWITCHES = ['disable', 'strict'] as const

/** Default values of the settings that are text. `host` has one per region. */
export const TEXTS = { path: '/v1/batch' } as const

/** Default of `oauthSettings.scope`. */
export const SCOPE = 'tracking_api:write'

/** Base addresses of a region. @see spec.md, section 3 */
export const REGIONS = {
  default: { host: 'https://api.segment.io', authServer: 'https://oauth2.segment.io' },
  eu: { host: 'https://events.eu1.segmentapis.com', authServer: 'https://oauth2.eu1.segmentapis.com' },
} as const

const OTHER_NAMES = [
  'writeKey',
  'host',
  'httpClient',
  'oauthSettings',
  'waitUntil',
  'maxEventsInBatch',
] as const

/** Every name that the constructor knows. */
export const SETTING_NAMES: readonly string[] = [
  ...OTHER_NAMES,
  ...Object.keys(TEXTS),
  ...Object.keys(NUMBERS),
  ...Object.keys(CHOICES),
  ...SWITCHES,
]

type Numbers = { readonly [Name in keyof typeof NUMBERS]: number }
type Choices = { readonly [Name in keyof typeof CHOICES]: (typeof CHOICES)[Name][number] }
type Switches = { readonly [Name in (typeof SWITCHES)[number]]: boolean }

/** The settings with every default in place. */
export interface ResolvedSettings extends Numbers, Choices, Switches {
  readonly writeKey: string
  readonly host: string
  readonly path: string
  readonly httpClient: HTTPClient | HTTPFetchFn | undefined
  readonly oauthSettings: ResolvedOAuthSettings | undefined
  readonly waitUntil: ((promise: Promise<unknown>) => void) | undefined
}

/** The OAuth settings with every default in place, and the key read. */
export interface ResolvedOAuthSettings {
  readonly clientId: string
  readonly key: PrivateKey
  readonly keyId: string
  readonly authServer: string
  readonly scope: string
  /** Infinite when not given. */
  readonly maxRetries: number
  readonly httpClient: HTTPClient | HTTPFetchFn | undefined
}

/**
 * Validates what the user gave and fills in the defaults. An explicit `undefined` means the default.
 *
 * @throws SettingsError naming the setting, what was expected and the type of what was given.
 */
export function resolveSettings(given: AnalyticsSettings): ResolvedSettings {
  if (typeof given !== 'object' || given === null) {
    throw new SettingsError('settings', `expected an object, got ${typeName(given)}`)
  }
  const read = reader(given)
  const resolved: Record<string, unknown> = { writeKey: readWriteKey(read('writeKey')) }
  for (const [name, range] of Object.entries(NUMBERS)) {
    const value = read(name)
    const older = name === 'flushAt' && value === undefined ? read('maxEventsInBatch') : undefined
    resolved[name] =
      older === undefined ? readNumber(name, value, range) : readNumber('maxEventsInBatch', older, range)
  }
  for (const [name, choices] of Object.entries(CHOICES))
    resolved[name] = readChoice(name, read(name), choices)
  for (const name of SWITCHES) resolved[name] = readSwitch(name, read(name))
  resolved['host'] = readHost('host', orDefault(read('host'), REGIONS[resolved['region'] as 'eu'].host))
  resolved['path'] = readPath(orDefault(read('path'), TEXTS.path))
  resolved['httpClient'] = readHttpClient('httpClient', read('httpClient'))
  resolved['oauthSettings'] = readOAuth(read('oauthSettings'), REGIONS[resolved['region'] as 'eu'].authServer)
  resolved['waitUntil'] = readFunction('waitUntil', read('waitUntil'))
  return Object.freeze(resolved) as unknown as ResolvedSettings
}

/** Own properties only: a polluted Object.prototype must not configure the client. */
function reader(given: object): (name: string) => unknown {
  return (name) => (Object.getOwnPropertyDescriptor(given, name) ? (given as never)[name] : undefined)
}

function readOAuth(given: unknown, authServer: string): ResolvedOAuthSettings | undefined {
  if (given === undefined) return undefined
  if (typeof given !== 'object' || given === null) {
    throw new SettingsError('oauthSettings', `expected an object, got ${typeName(given)}`)
  }
  const read = reader(given)
  const maxRetries = read('maxRetries')
  const range = { ...NUMBERS.maxRetries, default: Number.POSITIVE_INFINITY }
  return Object.freeze({
    clientId: readWord('oauthSettings.clientId', read('clientId')),
    key: readPrivateKey(read('clientKey')),
    keyId: readWord('oauthSettings.keyId', read('keyId')),
    authServer: readHost('oauthSettings.authServer', orDefault(read('authServer'), authServer)),
    scope: readScope(orDefault(read('scope'), SCOPE)),
    maxRetries: readNumber('oauthSettings.maxRetries', maxRetries, range),
    httpClient: readHttpClient('oauthSettings.httpClient', read('httpClient')),
  })
}

/** Text that is sent as it is, and is not shown. */
function readWord(name: string, value: unknown): string {
  if (typeof value === 'string' && /^[\x21-\x7e]{1,1024}$/.test(value)) return value
  const got = typeof value === 'string' ? 'a string that is not' : typeName(value)
  throw new SettingsError(name, `expected 1 to 1024 visible ASCII characters without spaces, got ${got}`)
}

/** Words with single spaces in between: RFC 6749, section 3.3. */
function readScope(value: unknown): string {
  if (typeof value === 'string' && value.length <= 1024 && /^[!#-[\]-~]+(?: [!#-[\]-~]+)*$/.test(value))
    return value
  const got = typeof value === 'string' ? 'a string that is not' : typeName(value)
  throw new SettingsError('oauthSettings.scope', `expected words separated by single spaces, got ${got}`)
}

/** Own names in `given` that mean nothing here, each with the known name it is nearest to. */
export function unknownSettings(given: object): { name: string; nearest: string }[] {
  return Object.keys(given)
    .filter((name) => !SETTING_NAMES.includes(name))
    .map((name) => ({ name, nearest: nearestName(name) }))
}

function nearestName(name: string): string {
  let nearest = ''
  let least = Number.POSITIVE_INFINITY
  for (const known of SETTING_NAMES) {
    const distance = editDistance(name.toLowerCase(), known.toLowerCase())
    if (distance < least) {
      least = distance
      nearest = known
    }
  }
  return nearest
}

/** Levenshtein distance, one row at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const change = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[to.length] as number
}

/** Not `??`: null is a bad value, and no way to ask for the default. */
function orDefault(value: unknown, fallback: string): unknown {
  return value === undefined ? fallback : value
}

function readWriteKey(value: unknown): string {
  if (typeof value !== 'string') {
    throw new SettingsError('writeKey', `expected a string, got ${typeName(value)}`)
  }
  // Visible ASCII without the colon, which ends the user name in Basic credentials: RFC 7617, section 2.
  if (!/^[\x21-\x39\x3b-\x7e]{1,1024}$/.test(value)) {
    throw new SettingsError(
      'writeKey',
      'expected 1 to 1024 visible ASCII characters, without spaces and colons, got a string that is not',
    )
  }
  return value
}

function readNumber(
  name: string,
  value: unknown,
  range: { default: number; min: number; max: number; unit: string },
): number {
  if (value === undefined) return range.default
  if (typeof value === 'number' && Number.isInteger(value) && value >= range.min && value <= range.max)
    return value
  const got = typeof value === 'number' ? 'a number that is not' : typeName(value)
  throw new SettingsError(
    name,
    `expected an integer from ${range.min} to ${range.max} (${range.unit}), got ${got}`,
  )
}

function readChoice(name: string, value: unknown, choices: readonly string[]): string {
  if (value === undefined) return choices[0] as string
  if (typeof value === 'string' && choices.includes(value)) return value
  const got = typeof value === 'string' ? 'another string' : typeName(value)
  throw new SettingsError(name, `expected ${choices.map((choice) => `'${choice}'`).join(' or ')}, got ${got}`)
}

function readSwitch(name: string, value: unknown): boolean {
  if (value === undefined) return false
  if (typeof value === 'boolean') return value
  throw new SettingsError(name, `expected a boolean, got ${typeName(value)}`)
}

/** An absolute http(s) address without credentials, query and fragment; trailing slashes are taken off. */
export function readHost(name: string, value: unknown): string {
  const fail = (got: string): never => {
    throw new SettingsError(
      name,
      `expected an absolute http or https URL without credentials, query and fragment, got ${got}`,
    )
  }
  if (typeof value !== 'string') return fail(typeName(value))
  let url: URL
  try {
    url = new URL(value)
  } catch {
    return fail('a string that is no URL')
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return fail(`one with the scheme ${url.protocol}`)
  if (url.username !== '' || url.password !== '') return fail('one with credentials')
  // Not url.search and url.hash: an empty query or fragment leaves them empty, and the mark in the text.
  if (/[?#]/.test(value)) return fail('one with a query or fragment')
  return url.origin + url.pathname.replace(/\/+$/, '')
}

function readPath(value: unknown): string {
  if (typeof value !== 'string') throw new SettingsError('path', `expected a string, got ${typeName(value)}`)
  if (/[\s?#\\]/.test(value)) {
    throw new SettingsError(
      'path',
      'expected a path without spaces, query and fragment, got a string that is not',
    )
  }
  return value.startsWith('/') ? value : `/${value}`
}

/** A function, or an object with `makeRequest`. */
export function readHttpClient(name: string, value: unknown): HTTPClient | HTTPFetchFn | undefined {
  if (value === undefined || typeof value === 'function') return value as HTTPFetchFn | undefined
  if (typeof (value as HTTPClient | null)?.makeRequest === 'function') return value as HTTPClient
  throw new SettingsError(name, `expected a function or an object with makeRequest, got ${typeName(value)}`)
}

function readFunction<F>(name: string, value: unknown): F | undefined {
  if (value === undefined || typeof value === 'function') return value as F | undefined
  throw new SettingsError(name, `expected a function, got ${typeName(value)}`)
}

function typeName(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}
