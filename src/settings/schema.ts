import type { ByteHTTPClient, HTTPClient, HTTPFetchFn } from '../http/client.ts'
import type { Spool } from '../line/spool.ts'
import type { Scope } from '../message/scope.ts'
import type { Logger } from '../runtime/log.ts'
import type { CryptoKeyLike, KeyObjectLike } from './keys.ts'
import type { Signer } from './signer.ts'

/**
 * The settings of `Analytics`. Only own properties count, and each is read once. An explicit `undefined`
 * means the default. A bad value throws a `SettingsError`; an unknown name is reported with a process warning.
 *
 * @example
 * const settings: AnalyticsSettings = { writeKey: process.env.WRITE_KEY ?? '', region: 'eu', flushAt: 50 }
 * const analytics = new Analytics(settings)
 */
export interface AnalyticsSettings {
  /**
   * The write key of the source: 1 to 1,024 visible ASCII characters without spaces and colons. Required. Placeholders
   * such as `YOUR_WRITE_KEY` throw.
   */
  writeKey: string
  /**
   * Selects the default `host` and the default `oauthSettings.authServer` together. An event for an EU workspace that is
   * sent to the default region may be accepted and never appear. Default: `'default'`.
   */
  region?: 'default' | 'eu' | undefined
  /**
   * Base URL of the API, http or https, without credentials, query and fragment. A path prefix is kept; `path` is
   * appended to it. Default: the region's, `https://api.segment.io` or `https://events.eu1.segmentapis.com`.
   */
  host?: string | undefined
  /** Path of the API below `host`. Default: `/v1/batch`. */
  path?: string | undefined
  /**
   * Retries of a batch after its first attempt; then its events fail with `retries_exhausted`. Default: 3; 0 to 1,000
   * retries. 0 means one attempt only.
   */
  maxRetries?: number | undefined
  /**
   * Events queued before a batch is sent. 1 turns batching off: every request carries exactly one event. Default: 15;
   * 1 to 1,000,000 events.
   */
  flushAt?: number | undefined
  /**
   * @deprecated The old name of `flushAt`, which wins where both are given. Under this name it also is the most events of
   * one request. Default: none; 1 to 1,000,000 events.
   */
  maxEventsInBatch?: number | undefined
  /**
   * Time after which queued events are sent even if there are fewer than `flushAt`. Default: 10,000; 1 to
   * 2,147,483,647 ms.
   */
  flushInterval?: number | undefined
  /**
   * Longest time for one request, from its start to the end of its response. A request that takes longer is aborted and
   * retried. Default: 10,000; 1 to 2,147,483,647 ms.
   */
  httpRequestTimeout?: number | undefined
  /**
   * Sends no requests. Callbacks, promises and events still settle, as delivered, and plugins run. A function is asked at
   * every call: for consent that can be given and withdrawn. Only what returns `false` is sent; when the function throws or
   * returns anything else, that event is not sent, and it is a warning. Events that wait already are sent. Default: `false`.
   *
   * @example
   * new Analytics({ writeKey, disable: () => !consent.isGiven })
   */
  disable?: boolean | (() => boolean) | undefined
  /**
   * Further headers of every request for events, for a gateway in front of the service. Token requests do not have them.
   * Names that the client or HTTP itself sets, such as `Authorization`, `Content-Type` and `User-Agent`, throw. Values:
   * visible ASCII characters, spaces between them, 8,192 characters at most. Default: none.
   *
   * @example
   * new Analytics({ writeKey, host: 'https://gateway.example/tracking', headers: { 'X-Api-Key': process.env.GATEWAY_KEY } })
   */
  headers?: Readonly<Record<string, string>> | undefined
  /**
   * `'gzip'` compresses request bodies, off the main thread where the runtime can: about a tenth of the bytes, for a little
   * more CPU. The limits count uncompressed bytes. A body that does not get smaller goes uncompressed, and so does every one
   * once the service has responded with 415 or a body could not be compressed; that is one warning. An `httpClient` of your
   * own has to take bytes, see {@link ByteHTTPClient}. Default: `'none'`.
   */
  compress?: 'none' | 'gzip' | undefined
  /**
   * Where the client writes what goes on, in place of process warnings: `console`, a logger of pino, or any object with
   * `debug`, `info`, `warn` and `error`, each called with fields and a message. No credential is ever written. One that
   * throws or rejects does no harm. Default: none.
   *
   * @example
   * new Analytics({ writeKey, logger: pino().child({ module: 'tracking' }) })
   */
  logger?: Logger | undefined
  /**
   * Your own HTTP client: an object with `makeRequest`, or a function with the signature of `fetch`. Default: the
   * global `fetch`. Where that is the one built into Node.js, requests go straight to the dispatcher below it.
   *
   * @example
   * new Analytics({ writeKey, httpClient: (url, request) => fetch(url, { ...request, dispatcher: proxy }) })
   */
  httpClient?: HTTPClient | HTTPFetchFn | undefined
  /** Authenticates with OAuth access tokens instead of the write key. Default: none. */
  oauthSettings?: OAuthSettings | undefined
  /** Most events that may wait; beyond it `overflow` decides. Default: 100,000; 1 to 100,000,000 events. */
  maxQueueSize?: number | undefined
  /**
   * Most bytes that may wait, at least `maxMessageBytes`; beyond it `overflow` decides. Default: 33,554,432; 1,024 to
   * 17,179,869,184 bytes.
   */
  maxQueueBytes?: number | undefined
  /**
   * Which event fails with `queue_full` when `maxQueueSize` or `maxQueueBytes` is reached: the one just tracked, or the
   * one that has waited longest. Default: `'drop-newest'`, the only one with a spool.
   */
  overflow?: 'drop-newest' | 'drop-oldest' | undefined
  /**
   * Most bytes of one message as JSON; a larger one fails with `too_large`. For services with another limit. Default:
   * 32,768; 1,024 to 16,777,216 bytes.
   */
  maxMessageBytes?: number | undefined
  /**
   * Most bytes of one request body; at least 4,096 more than `maxMessageBytes`. For services with another limit.
   * Default: 500,000; 8,192 to 268,435,456 bytes.
   */
  maxBodyBytes?: number | undefined
  /** Most requests in flight. 1 keeps strict order across batches. Default: 4; 1 to 1,000 requests. */
  maxConcurrentRequests?: number | undefined
  /**
   * Longest time a batch is retried; then its events fail with `deadline`. Default: 43,200; 1 to 2,147,483 s.
   */
  maxTotalBackoffDuration?: number | undefined
  /**
   * Longest time a batch waits for a rate limit to end; then its events fail with `deadline`. Default: 43,200; 1 to
   * 2,147,483 s.
   */
  maxRateLimitDuration?: number | undefined
  /** Invalid calls throw a `DeliveryError` instead of only being reported. Default: `false`. */
  strict?: boolean | undefined
  /**
   * Asked at every call for what events have when the call does not say otherwise: identity, `context`, `integrations`,
   * `timestamp`. When it throws or returns something else, that is a warning and the event goes on without it. Default:
   * none.
   *
   * @example
   * new Analytics({ writeKey, scope: () => ({ context: { app: { version: process.env.RELEASE } } }) })
   */
  scope?: (() => Scope | undefined) | undefined
  /**
   * Keeps what waits outside the process, so that it survives its death: a `FileSpool` of `trackpost/spool`. With it, failed
   * requests end no event by `maxRetries`, memory holds `maxQueueBytes` of what waits and the spool the rest, and what is
   * not delivered at the end is `deferred`. Default: none.
   */
  spool?: Spool | undefined
  /**
   * Serverless: receives a promise that resolves when the events tracked in this turn have been flushed. Pass the
   * function of your platform that keeps an invocation alive. Default: none.
   *
   * @example
   * new Analytics({ writeKey, waitUntil: (promise) => ctx.waitUntil(promise) })
   */
  waitUntil?: ((promise: Promise<unknown>) => void) | undefined
  /**
   * How long a process that has nothing else to do stays alive to deliver what waits. 0 means not at all: those events
   * fail with `shutdown_timeout`. Default: 5,000; 0 to 2,147,483,647 ms.
   */
  exitTimeout?: number | undefined
}

/**
 * How to get access tokens: the client signs an assertion with your private key and exchanges it for a token
 * (RFC 7523). Tokens stay in memory and are renewed before they expire.
 *
 * @example
 * new Analytics({ writeKey, oauthSettings: { clientId, keyId, clientKey: process.env.CLIENT_KEY } })
 */
export interface OAuthSettings {
  /** The id of the OAuth application: 1 to 1,024 visible ASCII characters. Required. */
  clientId: string
  /**
   * The RSA private key of the application, 2,048 bits or more: PEM text (PKCS#8 or PKCS#1), a `KeyObject` of
   * Node.js, or a `CryptoKey` for RS256. Required, unless there is a `signer`. Default: none.
   */
  clientKey?: string | CryptoKeyLike | KeyObjectLike | undefined
  /**
   * Signs in the place of `clientKey`, for a key that stays in a key management service or a hardware security module.
   * One that rejects, takes longer than `httpRequestTimeout` or returns something else than a signature is asked again,
   * as a token server that fails is; when `maxRetries` are used up, what waits fails with `auth`. Default: none.
   */
  signer?: Signer | undefined
  /** The id of the matching public key: 1 to 1,024 visible ASCII characters. Required. */
  keyId: string
  /**
   * Base URL of the token server, which is also the audience of the assertion. Default: the region's,
   * `https://oauth2.segment.io` or `https://oauth2.eu1.segmentapis.com`.
   */
  authServer?: string | undefined
  /** The permissions to ask for: words separated by single spaces. Default: `tracking_api:write`. */
  scope?: string | undefined
  /**
   * Retries of a token request; then the events that wait for the token fail with `retries_exhausted`, or with `auth` when
   * it was the signer that failed. Default: as many as `maxTotalBackoffDuration` leaves time for; 0 to 1,000 retries.
   */
  maxRetries?: number | undefined
  /** HTTP client for token requests. Default: the one for events. */
  httpClient?: HTTPClient | HTTPFetchFn | undefined
}

/** One row of {@link SETTINGS}. Integers have a range, both ends included. */
export type Rule =
  | {
      readonly type: 'integer'
      readonly default: number
      readonly min: number
      readonly max: number
      readonly unit: string
    }
  | { readonly type: 'choice'; readonly default: string; readonly choices: readonly string[] }
  | { readonly type: 'boolean' | 'boolean or function'; readonly default: boolean }
  | { readonly type: 'string'; readonly default: string | undefined }
  | { readonly type: 'function' | 'client' | 'object'; readonly default: undefined }

/** Longest delay of a timer. */
const MAX_DELAY_MS = 2_147_483_647
const MAX_DELAY_S = 2_147_483

/** Every setting: type, default, range and unit. `undefined` means required, none, or that the region decides. */
export const SETTINGS = {
  writeKey: { type: 'string', default: undefined },
  region: { type: 'choice', default: 'default', choices: ['default', 'eu'] },
  host: { type: 'string', default: undefined },
  path: { type: 'string', default: '/v1/batch' },
  maxRetries: { type: 'integer', default: 3, min: 0, max: 1_000, unit: 'retries' },
  flushAt: { type: 'integer', default: 15, min: 1, max: 1_000_000, unit: 'events' },
  flushInterval: { type: 'integer', default: 10_000, min: 1, max: MAX_DELAY_MS, unit: 'ms' },
  httpRequestTimeout: { type: 'integer', default: 10_000, min: 1, max: MAX_DELAY_MS, unit: 'ms' },
  disable: { type: 'boolean or function', default: false },
  headers: { type: 'object', default: undefined },
  compress: { type: 'choice', default: 'none', choices: ['none', 'gzip'] },
  logger: { type: 'object', default: undefined },
  httpClient: { type: 'client', default: undefined },
  oauthSettings: { type: 'object', default: undefined },
  maxQueueSize: { type: 'integer', default: 100_000, min: 1, max: 100_000_000, unit: 'events' },
  maxQueueBytes: {
    type: 'integer',
    default: 33_554_432,
    min: 1_024,
    max: 17_179_869_184,
    unit: 'bytes',
  },
  overflow: { type: 'choice', default: 'drop-newest', choices: ['drop-newest', 'drop-oldest'] },
  maxMessageBytes: { type: 'integer', default: 32_768, min: 1_024, max: 16_777_216, unit: 'bytes' },
  maxBodyBytes: { type: 'integer', default: 500_000, min: 8_192, max: 268_435_456, unit: 'bytes' },
  maxConcurrentRequests: { type: 'integer', default: 4, min: 1, max: 1_000, unit: 'requests' },
  maxTotalBackoffDuration: { type: 'integer', default: 43_200, min: 1, max: MAX_DELAY_S, unit: 's' },
  maxRateLimitDuration: { type: 'integer', default: 43_200, min: 1, max: MAX_DELAY_S, unit: 's' },
  strict: { type: 'boolean', default: false },
  scope: { type: 'function', default: undefined },
  spool: { type: 'object', default: undefined },
  waitUntil: { type: 'function', default: undefined },
  exitTimeout: { type: 'integer', default: 5_000, min: 0, max: MAX_DELAY_MS, unit: 'ms' },
} as const satisfies { readonly [Name in Exclude<keyof AnalyticsSettings, 'maxEventsInBatch'>]-?: Rule }

/** Every setting inside `oauthSettings`. */
export const OAUTH_SETTINGS = {
  clientId: { type: 'string', default: undefined },
  clientKey: { type: 'object', default: undefined },
  signer: { type: 'object', default: undefined },
  keyId: { type: 'string', default: undefined },
  authServer: { type: 'string', default: undefined },
  scope: { type: 'string', default: 'tracking_api:write' },
  maxRetries: {
    type: 'integer',
    default: Number.POSITIVE_INFINITY,
    min: 0,
    max: 1_000,
    unit: 'retries',
  },
  httpClient: { type: 'client', default: undefined },
} as const satisfies { readonly [Name in keyof OAuthSettings]-?: Rule }

/** Names of the settings whose value has the given type. */
export type NamesOf<Type extends Rule['type']> = {
  [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends { readonly type: Type } ? Name : never
}[keyof typeof SETTINGS]

/** Base URLs of a region. @see docs/spec.md, section 3 */
export const REGIONS = {
  default: { host: 'https://api.segment.io', authServer: 'https://oauth2.segment.io' },
  eu: { host: 'https://events.eu1.segmentapis.com', authServer: 'https://oauth2.eu1.segmentapis.com' },
} as const
