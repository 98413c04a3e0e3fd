import { SettingsError } from '../errors/errors.ts'
import type { HTTPClient, HTTPFetchFn } from '../http/client.ts'
import type { Spool } from '../line/spool.ts'
import { describe } from '../message/describe.ts'
import type { Scope } from '../message/scope.ts'
import { redactor } from '../policy/redact.ts'
import { Log, type Logger } from '../runtime/log.ts'
import {
  ownReader,
  readBoolean,
  readChoice,
  readFunction,
  readHeaders,
  readHttpClient,
  readInteger,
  readLogger,
  readObject,
  readPath,
  readScope,
  readSigner,
  readSpool,
  readSwitch,
  readUrl,
  readWord,
  readWriteKey,
} from './read.ts'
import { type NamesOf, OAUTH_SETTINGS, REGIONS, SETTINGS } from './schema.ts'
import type { AnalyticsSettings, OAuthSettings, PublicSettings } from './settings.ts'
import type { Signer } from './signer.ts'
import { checkNames, checkOAuthNames, KILL_SWITCHES } from './suggest.ts'

/** Each setting with its default in place; the old name of `flushAt` is gone. */
type Defaulted = {
  readonly [Name in Exclude<keyof AnalyticsSettings, 'maxEventsInBatch' | keyof Optional>]-?: Exclude<
    AnalyticsSettings[Name],
    undefined
  >
}

/** Settings without a default: `undefined` when left out. */
interface Optional {
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly logger: Logger | undefined
  readonly httpClient: HTTPClient | HTTPFetchFn | undefined
  readonly oauthSettings: ResolvedOAuthSettings | undefined
  readonly scope: (() => Scope | undefined) | undefined
  readonly spool: Spool | undefined
  readonly waitUntil: ((promise: Promise<unknown>) => void) | undefined
}

/** Values derived from the settings. */
interface Derived {
  /** Whether the caller has set a number of retries: then it is obeyed literally. @see docs/spec.md, section 8.1 */
  readonly isMaxRetriesGiven: boolean
  /** Maximum number of events in a request: 1 with `flushAt: 1`, else 2,500, or `maxEventsInBatch` where that is less. */
  readonly maxRequestEvents: number
}

/** The settings with every default in place. */
export interface ResolvedSettings extends Defaulted, Optional, Derived {}

/**
 * The OAuth settings with every default in place. `maxRetries` is infinite when not given; `clientKey` is as it was
 * given.
 */
export type ResolvedOAuthSettings = {
  readonly [Name in Exclude<keyof OAuthSettings, 'httpClient' | 'clientKey' | 'signer'>]-?: Exclude<
    OAuthSettings[Name],
    undefined
  >
} & Pick<Optional, 'httpClient'> & {
    readonly clientKey: OAuthSettings['clientKey']
    readonly signer: Signer | undefined
  }

/**
 * Validates the settings and fills in the defaults. An explicit `undefined` means the default. Unknown names, and
 * settings that contradict each other, are reported to the logger, or with a process warning.
 *
 * @throws SettingsError naming the setting, what was expected and the type of what was given.
 */
export function resolveSettings(given: AnalyticsSettings): ResolvedSettings {
  if (typeof given !== 'object' || given === null) {
    const hint = typeof given === 'string' ? "; write new Analytics({ writeKey: 'KEY' })" : ''
    throw new SettingsError('settings', `expected an object, got ${describe(given)}${hint}`)
  }
  const unknown = checkNames(given)
  const read = ownReader(given)
  const integer = (name: NamesOf<'integer'>): number => readInteger(name, read(name), SETTINGS[name])
  const boolean = (name: NamesOf<'boolean'>): boolean =>
    readBoolean(name, read(name)) ?? SETTINGS[name].default
  const region = readChoice('region', read('region'), SETTINGS.region)
  const path = readPath('path', orDefault(read('path'), SETTINGS.path.default))
  const maxRetries = read('maxRetries')
  const batching = readBatching(read('flushAt'), read('maxEventsInBatch'))
  const isSwitchedOff = KILL_SWITCHES.some(([name, off]) => readBoolean(name, read(name)) === off)
  const resolved: ResolvedSettings = {
    writeKey: readWriteKey(read('writeKey')),
    region,
    host: checkHost(readUrl('host', orDefault(read('host'), REGIONS[region].host)), path),
    path,
    maxRetries: readInteger('maxRetries', maxRetries, SETTINGS.maxRetries),
    isMaxRetriesGiven: maxRetries !== undefined,
    ...batching,
    flushInterval: integer('flushInterval'),
    httpRequestTimeout: integer('httpRequestTimeout'),
    disable: isSwitchedOff || readSwitch('disable', read('disable'), SETTINGS.disable),
    headers: readHeaders('headers', read('headers')),
    compress: readChoice('compress', read('compress'), SETTINGS.compress),
    logger: readLogger('logger', read('logger')),
    httpClient: readHttpClient('httpClient', read('httpClient')),
    oauthSettings: readOAuth(read('oauthSettings'), REGIONS[region].authServer, unknown),
    maxQueueSize: integer('maxQueueSize'),
    maxQueueBytes: integer('maxQueueBytes'),
    overflow: readChoice('overflow', read('overflow'), SETTINGS.overflow),
    maxMessageBytes: integer('maxMessageBytes'),
    maxBodyBytes: integer('maxBodyBytes'),
    maxConcurrentRequests: integer('maxConcurrentRequests'),
    maxTotalBackoffDuration: integer('maxTotalBackoffDuration'),
    maxRateLimitDuration: integer('maxRateLimitDuration'),
    strict: boolean('strict'),
    scope: readFunction('scope', read('scope')),
    spool: readSpool('spool', read('spool')),
    waitUntil: readFunction('waitUntil', read('waitUntil')),
    exitTimeout: integer('exitTimeout'),
  }
  checkBytes(resolved)
  if (resolved.spool !== undefined && resolved.overflow === 'drop-oldest') {
    // Memory has the oldest events and the disk the newer ones, so the oldest event on the disk would not be the oldest of
    // all.
    throw new SettingsError('overflow', "expected 'drop-newest' with a spool, got 'drop-oldest'")
  }
  const { warn } = new Log(resolved.logger, redactor([resolved.writeKey]))
  for (const message of unknown) warn('unknown_setting', message)
  for (const [code, message] of doubtsAbout(resolved)) warn(code, message)
  return Object.freeze(resolved)
}

/** `??` would replace null with the default too, but null is a bad value. */
function orDefault(value: unknown, fallback: string): unknown {
  return value === undefined ? fallback : value
}

/**
 * Maximum number of events that services are known to accept in one request. With the limit of bytes alone, a request could
 * have 5,400 small events.
 *
 * @see docs/spec.md, section 5
 */
const MAX_REQUEST_EVENTS = 2_500

/** `maxEventsInBatch` also limits the events of a request, as in the SDK that it comes from; `flushAt` does so only at 1. */
function readBatching(flushAt: unknown, older: unknown): { flushAt: number; maxRequestEvents: number } {
  const most = older === undefined ? undefined : readInteger('maxEventsInBatch', older, SETTINGS.flushAt)
  const trigger =
    flushAt === undefined && most !== undefined ? most : readInteger('flushAt', flushAt, SETTINGS.flushAt)
  return {
    flushAt: trigger,
    maxRequestEvents: trigger === 1 ? 1 : Math.min(most ?? MAX_REQUEST_EVENTS, MAX_REQUEST_EVENTS),
  }
}

/** Some libraries take `https://api.example/v1/batch` as the host: here, the path would be appended again. */
function checkHost(host: string, path: string): string {
  const { pathname } = new URL(host)
  const prefix = [path.replace(/\/+$/, ''), '/v1'].find(
    (end) => end !== '' && pathname.endsWith(end) && `${path}/`.startsWith(`${end}/`),
  )
  if (prefix === undefined) return host
  const base = host.slice(0, -prefix.length)
  throw new SettingsError('host', `ends in '${prefix}', which the setting 'path' appends; write '${base}'`)
}

/** Bytes of a request body besides its messages: `sentAt`, and the write key if every character is escaped. */
const ENVELOPE_BYTES = 4_096

/** The largest message must fit into a request body and into the queue, or it would wait forever. */
function checkBytes({ maxMessageBytes, maxBodyBytes, maxQueueBytes }: ResolvedSettings): void {
  for (const [name, value, least] of [
    ['maxBodyBytes', maxBodyBytes, maxMessageBytes + ENVELOPE_BYTES],
    ['maxQueueBytes', maxQueueBytes, maxMessageBytes],
  ] as const) {
    if (value >= least) continue
    const hint = `a message may have ${maxMessageBytes} bytes (maxMessageBytes)`
    throw new SettingsError(name, `expected at least ${least} (bytes), since ${hint}; got ${value}`)
  }
}

/** @param unknown A message is added for each unknown name. */
function readOAuth(value: unknown, authServer: string, unknown: string[]): ResolvedOAuthSettings | undefined {
  if (value === undefined) return undefined
  const given = readObject('oauthSettings', value)
  unknown.push(...checkOAuthNames(given))
  const read = ownReader(given)
  const clientKey = read('clientKey') as OAuthSettings['clientKey']
  const signer = readSigner('oauthSettings.signer', read('signer'))
  if (signer !== undefined && clientKey !== undefined) {
    throw new SettingsError('oauthSettings.signer', 'expected either a signer or a clientKey, got both')
  }
  const resolved: ResolvedOAuthSettings = {
    clientId: readWord('oauthSettings.clientId', read('clientId')),
    // Checked later in the constructor, by src/auth, which knows the kinds of keys.
    clientKey,
    signer,
    keyId: readWord('oauthSettings.keyId', read('keyId')),
    authServer: readUrl('oauthSettings.authServer', orDefault(read('authServer'), authServer)),
    scope: readScope('oauthSettings.scope', orDefault(read('scope'), OAUTH_SETTINGS.scope.default)),
    maxRetries: readInteger('oauthSettings.maxRetries', read('maxRetries'), OAUTH_SETTINGS.maxRetries),
    httpClient: readHttpClient('oauthSettings.httpClient', read('httpClient')),
  }
  return Object.freeze(resolved)
}

/** Loopback and private addresses, and names that no public server has: RFC 1918, 4193, 6761, 6762, 9476. */
const LOCAL_HOST =
  /^(?:(?:127|10)\.[\d.]+|192\.168\.[\d.]+|172\.(?:1[6-9]|2\d|3[01])\.[\d.]+|169\.254\.[\d.]+|\[(?:::1|f[cd].*|fe[89ab].*)\]|(?:.+\.)?(?:localhost|local|internal|lan)|[^.[]+)\.?$/

/** Placeholders that a local collector accepts as a key, but the service does not. */
const PRINTED_KEY = /^(?:segment|source|trackpost)?(?:write|api)?key$/

/** Settings that are valid but probably a mistake: a warning for each, with its code. */
function doubtsAbout(settings: ResolvedSettings): [code: string, message: string][] {
  const { writeKey, host, maxQueueSize, flushAt, oauthSettings } = settings
  const { protocol, hostname } = new URL(host)
  const isLocal = LOCAL_HOST.test(hostname)
  const doubts: [string, string][] = []
  if (maxQueueSize < flushAt) {
    const settings = `maxQueueSize (${maxQueueSize}) is less than flushAt (${flushAt})`
    doubts.push(['contradiction', `${settings}: the queue is full before there are enough events to be sent`])
  }
  // With OAuth, the credentials warn about this themselves, since a token is worth more than a key.
  if (protocol === 'http:' && !isLocal && oauthSettings === undefined) {
    const risk = `the write key and all events for ${hostname} are sent over plain http, where others can read them`
    doubts.push(['insecure', `host: ${risk}; write 'https://...'`])
  }
  if (!isLocal && PRINTED_KEY.test(writeKey.replace(/[^a-z0-9]/gi, '').toLowerCase())) {
    doubts.push(['placeholder', 'writeKey: this looks like a placeholder, which the service does not take'])
  }
  return doubts
}

/** The settings for `initialize` listeners: without functions and possible secrets. */
export function publicSettings(settings: ResolvedSettings): PublicSettings {
  const { writeKey, headers, logger, httpClient, oauthSettings, scope, spool, waitUntil, ...shown } = settings
  const { isMaxRetriesGiven, maxRequestEvents, disable, ...rest } = shown
  return typeof disable === 'boolean' ? { ...rest, disable } : rest
}
