import { SettingsError } from '../errors/errors.ts'
import { redactor } from '../http/redact.ts'
import { describe } from '../message/describe.ts'
import { Log } from '../runtime/log.ts'
import { describeUnknownNames, KILL_SWITCHES } from './names.ts'
import { readPrivateKey } from './private-key.ts'
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
import { type NamesOf, OAUTH_SETTINGS, REGIONS, type Rule, SETTINGS } from './schema.ts'
import type { AnalyticsSettings, OAuthSettings, PublicSettings } from './settings.ts'

type OwnSettings = Readonly<Partial<Record<keyof AnalyticsSettings, unknown>>>

type Ruled = NamesOf<'integer' | 'choice' | 'boolean' | 'boolean or function'>

type Defaulted = {
  readonly [Name in Exclude<keyof AnalyticsSettings, keyof Optional>]-?: Exclude<
    AnalyticsSettings[Name],
    undefined
  >
}

type Optional = {
  readonly [Name in
    | 'headers'
    | 'logger'
    | 'httpClient'
    | 'scope'
    | 'spool'
    | 'waitUntil']: AnalyticsSettings[Name]
} & { readonly oauthSettings: ResolvedOAuthSettings | undefined }

interface Derived {
  /** A `maxRetries` that the user has set also limits the retries in an outage. @see docs/spec.md, section 8 */
  readonly isMaxRetriesGiven: boolean
  /** 1 with `flushAt: 1`. */
  readonly maxRequestEvents: number
}

export interface ResolvedSettings extends Defaulted, Optional, Derived {}

export type ResolvedOAuthSettings = {
  readonly [Name in 'clientId' | 'keyId' | 'authServer' | 'scope']: string
} & {
  readonly [Name in 'httpClient' | 'clientKey' | 'signer' | 'maxRetries']: OAuthSettings[Name]
} & {
  /** What signs: the `clientKey` as well-formed PEM text, or the signer. */
  readonly key: string | undefined
}

/** @throws SettingsError */
export function resolveSettings(given: AnalyticsSettings): ResolvedSettings {
  if (typeof given !== 'object' || given === null) {
    const hint = typeof given === 'string' ? "; write new Analytics({ writeKey: 'KEY' })" : ''
    throw new SettingsError('settings', `expected an object, got ${describe(given)}${hint}`)
  }
  const read = ownReader(given)
  const own = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, read(name)])) as OwnSettings
  const writeKey = readWriteKey(own.writeKey)
  const ruled = readByRules(own)
  const region = REGIONS[ruled.region]
  const switchedOff = KILL_SWITCHES.filter(([name, off]) => read(name) === off)
  const resolved: ResolvedSettings = {
    ...ruled,
    ...batchingOf(ruled, own),
    writeKey,
    host: readUrl('host', orDefault(own.host, region.host)),
    path: readPath('path', orDefault(own.path, SETTINGS.path.default)),
    isMaxRetriesGiven: own.maxRetries !== undefined,
    disable: switchedOff.length > 0 || ruled.disable,
    headers: readHeaders('headers', own.headers),
    logger: readLogger('logger', own.logger),
    httpClient: readHttpClient('httpClient', own.httpClient),
    oauthSettings: readOAuth(own.oauthSettings, region.authServer),
    scope: readFunction('scope', own.scope),
    spool: readSpool('spool', own.spool),
    waitUntil: readFunction('waitUntil', own.waitUntil),
  }
  checkBytes(resolved)
  const { warn } = new Log(resolved.logger, redactor([resolved.writeKey]))
  const unknown = describeUnknownNames(given, own.oauthSettings)
  const off = switchedOff.map(([name, value]) => `; ${name}: ${value} counts as disable: true`).join('')
  if (unknown !== undefined) warn('unknown_setting', unknown + off)
  for (const [code, message] of doubtsAbout(resolved)) warn(code, message)
  return Object.freeze(resolved)
}

/** `null` is an invalid value. */
function orDefault(value: unknown, fallback: string): unknown {
  return value === undefined ? fallback : value
}

function readByRules(own: OwnSettings): Pick<ResolvedSettings, Ruled> {
  const values: Partial<Record<Ruled, unknown>> = {}
  for (const [key, rule] of Object.entries<Rule>(SETTINGS)) {
    const name = key as Ruled
    if (rule.type === 'integer') values[name] = readInteger(name, own[name], rule)
    else if (rule.type === 'choice') values[name] = readChoice(name, own[name], rule)
    else if (rule.type === 'boolean') values[name] = readBoolean(name, own[name]) ?? rule.default
    else if (rule.type === 'boolean or function') values[name] = readSwitch(name, own[name]) ?? rule.default
  }
  return values as Pick<ResolvedSettings, Ruled>
}

/** `maxEventsInBatch` alone is also the trigger, as in SDKs that know only this name. @see docs/spec.md, section 5 */
function batchingOf(
  { flushAt: trigger, maxEventsInBatch }: Pick<ResolvedSettings, 'flushAt' | 'maxEventsInBatch'>,
  own: OwnSettings,
): Pick<ResolvedSettings, 'flushAt' | 'maxRequestEvents'> {
  const isTrigger = own.flushAt === undefined && own.maxEventsInBatch !== undefined
  const flushAt = isTrigger ? maxEventsInBatch : trigger
  return { flushAt, maxRequestEvents: flushAt === 1 ? 1 : maxEventsInBatch }
}

/** Of a request body besides its messages: `sentAt`, and the write key with every character escaped. */
const ENVELOPE_BYTES = 4_096

/** A message that does not fit into a request body or the queue would wait forever. */
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

function readOAuth(value: unknown, authServer: string): ResolvedOAuthSettings | undefined {
  if (value === undefined) return undefined
  const given = readObject('oauthSettings', value)
  const read = ownReader(given)
  const clientKey = read('clientKey') as string | undefined
  const signer = readSigner('oauthSettings.signer', read('signer'))
  const retries = read('maxRetries')
  if (signer !== undefined && clientKey !== undefined) {
    throw new SettingsError('oauthSettings.signer', 'expected either a signer or a clientKey, got both')
  }
  const resolved: ResolvedOAuthSettings = {
    clientId: readWord('oauthSettings.clientId', read('clientId')),
    clientKey,
    signer,
    keyId: readWord('oauthSettings.keyId', read('keyId')),
    authServer: readUrl('oauthSettings.authServer', orDefault(read('authServer'), authServer)),
    scope: readScope('oauthSettings.scope', orDefault(read('scope'), OAUTH_SETTINGS.scope.default)),
    // Without it, the `maxRetries` of the client counts for token requests too.
    maxRetries:
      retries === undefined
        ? undefined
        : readInteger('oauthSettings.maxRetries', retries, OAUTH_SETTINGS.maxRetries),
    httpClient: readHttpClient('oauthSettings.httpClient', read('httpClient')),
    key: signer === undefined ? readPrivateKey(clientKey) : undefined,
  }
  return Object.freeze(resolved)
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[::1\]|(?:.+\.)?localhost)$/

/** RFC 1918, 3927, 4193, 4291, 6761, 6762. */
const PRIVATE =
  /^(?:10\.[\d.]+|192\.168\.[\d.]+|172\.(?:1[6-9]|2\d|3[01])\.[\d.]+|169\.254\.[\d.]+|\[f(?:[cd].*|e[89ab].*)\]|(?:.+\.)?(?:localhost|local|internal|lan)|[^.[]+)\.?$/

function doubtsAbout(settings: ResolvedSettings): [code: string, message: string][] {
  const { host, maxQueueSize, flushAt, oauthSettings: oauth } = settings
  const doubts: [string, string][] = []
  if (maxQueueSize < flushAt) {
    const settings = `maxQueueSize (${maxQueueSize}) is less than flushAt (${flushAt})`
    doubts.push(['contradiction', `${settings}: the queue is full before there are enough events to be sent`])
  }
  const urls = { host, ...(oauth !== undefined && { 'oauthSettings.authServer': oauth.authServer }) }
  const what = oauth === undefined ? 'the write key and all events' : 'tokens'
  for (const [name, url] of Object.entries(urls)) {
    const { protocol, hostname } = new URL(url)
    if (protocol === 'https:' || LOOPBACK.test(hostname)) continue
    // Anyone who reads a token can use it, in a private network too (RFC 6750, section 5.3).
    if (oauth === undefined && PRIVATE.test(hostname)) continue
    const risk = `${what} for ${hostname} are sent over plain http, where others can read them`
    doubts.push(['insecure', `${name}: ${risk}; write 'https://...'`])
  }
  return doubts
}

export function publicSettings(settings: ResolvedSettings): PublicSettings {
  const { writeKey, headers, logger, httpClient, oauthSettings, scope, spool, waitUntil, ...shown } = settings
  const { isMaxRetriesGiven, maxRequestEvents, disable, ...rest } = shown
  return typeof disable === 'boolean' ? { ...rest, disable } : rest
}
