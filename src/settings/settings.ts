import type { ByteHTTPClient, HTTPClient, HTTPFetchFn } from '../http/client.ts'
import type { Spool } from '../line/spool.ts'
import type { Scope } from '../message/scope.ts'
import type { Logger } from '../runtime/log.ts'
import type { Signer } from './signer.ts'

/**
 * The settings of `Analytics`. Only own properties count, and each is read once. An explicit `undefined` means the default.
 * A bad value, or another SDK's name for a setting, throws a `SettingsError`; any other unknown name is reported by a warning.
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
   * Retries of a batch after its first attempt; after these, its events fail with `retries_exhausted`. Default: 3; 0 to
   * 1,000 retries. 0 means one attempt only.
   */
  maxRetries?: number | undefined
  /**
   * Events queued before a batch is sent. 1 turns batching off: every request carries exactly one event. Default: 15;
   * 1 to 1,000,000 events.
   */
  flushAt?: number | undefined
  /**
   * @deprecated The old name of `flushAt`, which wins if both are given. `maxEventsInBatch` also limits the events of one
   * request. Default: none; 1 to 1,000,000 events.
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
   * Sends no requests. Callbacks, promises and events still settle, as delivered, and plugins run. A function is called for
   * every event, for consent that can be given and withdrawn: the event is sent only if it returns `false`. If it throws or
   * returns anything but a boolean, the event is not sent, and there is a warning. Events that wait already are sent.
   * Default: `false`.
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
   * more CPU. The limits count uncompressed bytes. A body that does not get smaller is sent uncompressed. Once the service
   * has responded with 415, or a body could not be compressed, all bodies are sent uncompressed, with one warning. An
   * `httpClient` of your own has to take bytes, see {@link ByteHTTPClient}. Default: `'none'`.
   */
  compress?: 'none' | 'gzip' | undefined
  /**
   * The logger of the client, used instead of process warnings: `console`, a logger of pino, or any object with `debug`,
   * `info`, `warn` and `error`, each called with fields and a message. Credentials are never logged. A logger that throws
   * or rejects does no harm. Default: none.
   *
   * @example
   * new Analytics({ writeKey, logger: pino().child({ module: 'tracking' }) })
   */
  logger?: Logger | undefined
  /**
   * Your own HTTP client: an object with `makeRequest`, or a function with the signature of `fetch`. Default: the global
   * `fetch`; if it is the one of Node.js, requests go to the dispatcher below it, or to `node:http` while nothing uses `fetch`.
   *
   * @example
   * new Analytics({ writeKey, httpClient: (url, request) => fetch(url, { ...request, dispatcher: proxy }) })
   */
  httpClient?: HTTPClient | HTTPFetchFn | undefined
  /** Authenticates with OAuth access tokens instead of the write key. Default: none. */
  oauthSettings?: OAuthSettings | undefined
  /** Maximum number of events that may wait; beyond it `overflow` decides. Default: 100,000; 1 to 100,000,000 events. */
  maxQueueSize?: number | undefined
  /**
   * Maximum bytes that may wait, at least `maxMessageBytes`; beyond it `overflow` decides. Default: 33,554,432; 1,024 to
   * 17,179,869,184 bytes.
   */
  maxQueueBytes?: number | undefined
  /**
   * Which event fails with `queue_full` when `maxQueueSize` or `maxQueueBytes` is reached: the one just tracked, or the
   * one that has waited longest. Default: `'drop-newest'`, the only choice with a spool.
   */
  overflow?: 'drop-newest' | 'drop-oldest' | undefined
  /**
   * Maximum bytes of one message as JSON; a larger one fails with `too_large`. For services with another limit. Default:
   * 32,768; 1,024 to 16,777,216 bytes.
   */
  maxMessageBytes?: number | undefined
  /**
   * Maximum bytes of one request body; at least 4,096 more than `maxMessageBytes`. For services with another limit.
   * Default: 500,000; 8,192 to 268,435,456 bytes.
   */
  maxBodyBytes?: number | undefined
  /**
   * Maximum number of requests in flight. 1 keeps strict order across batches; in a longer outage every second probe is then
   * without events. Default: 4; 1 to 1,000 requests.
   */
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
   * Called for every event, returns its defaults: identity, `context`, `integrations`, `timestamp`. The call wins. If the
   * function throws or returns anything else, there is a warning, and the event goes on without defaults. Default: none.
   *
   * @example
   * new Analytics({ writeKey, scope: () => ({ context: { app: { version: process.env.RELEASE } } }) })
   */
  scope?: (() => Scope | undefined) | undefined
  /**
   * Keeps waiting events on disk, so that they survive the process: a `FileSpool` of `trackpost/spool`. Then no event fails
   * because of `maxRetries` in an outage, memory holds `maxQueueBytes` of the waiting events and the spool the rest, and events
   * that are not delivered at the end are `deferred`. Default: none.
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
   * How long a process that has nothing else to do stays alive to deliver the waiting events. 0 means not at all: they fail
   * with `shutdown_timeout`. A request under way counts as something to do, for `httpRequestTimeout` at most. Default:
   * 5,000; 0 to 2,147,483,647 ms.
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
   * Signs instead of `clientKey`, for a key that stays in a key management service or a hardware security module. If it
   * rejects, takes longer than `httpRequestTimeout` or does not return a signature, it is called again, like a token server
   * that fails; after `maxRetries`, the waiting events fail with `auth`. Default: none.
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
   * Retries of a token request; after these, the events that wait for the token fail with `retries_exhausted`, or with
   * `auth` if it was the signer that failed. Default: as many as `maxTotalBackoffDuration` leaves time for; 0 to 1,000
   * retries.
   */
  maxRetries?: number | undefined
  /** HTTP client for token requests. Default: the one for events. */
  httpClient?: HTTPClient | HTTPFetchFn | undefined
}

/** A `CryptoKey` of Web Crypto. Declared here because not every project has its types. */
export interface CryptoKeyLike {
  /** `'private'` for a private key; other keys are refused. */
  readonly type: string
  /** For RS256: `RSASSA-PKCS1-v1_5` with `SHA-256`. */
  readonly algorithm: object
  /** Whether the key can be exported; it need not be. */
  readonly extractable: boolean
  /** The uses of the key: `sign` must be among them. */
  readonly usages: readonly string[]
}

/** A `KeyObject` of `node:crypto`. Declared here because not every project has its types. */
export interface KeyObjectLike {
  /** `'private'` for a private key; other keys are refused. */
  readonly type: string
  /** Exports the key; called once, for PKCS#8 in PEM form. */
  // The overloads of the real one are assignable to `any` only.
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of the real one are assignable to `any` only
  export(options?: any): any
}

/** The settings in force, without secrets and functions. Each is described at `AnalyticsSettings`. */
export interface PublicSettings {
  /** Region that decides the defaults of `host` and of the token server. */
  readonly region: 'default' | 'eu'
  /** Base URL of the API. */
  readonly host: string
  /** Path of the API below `host`. */
  readonly path: string
  /** Retries of a batch after its first attempt. */
  readonly maxRetries: number
  /** Events queued before a batch is sent. */
  readonly flushAt: number
  /** Milliseconds after which queued events are sent. */
  readonly flushInterval: number
  /** Longest time for one request, in milliseconds. */
  readonly httpRequestTimeout: number
  /** Whether no requests are sent; left out where a function decides. */
  readonly disable?: boolean
  /** How request bodies are compressed. */
  readonly compress: 'none' | 'gzip'
  /** Maximum number of events that may wait. */
  readonly maxQueueSize: number
  /** Maximum bytes that may wait. */
  readonly maxQueueBytes: number
  /** Which event fails when the queue is full. */
  readonly overflow: 'drop-newest' | 'drop-oldest'
  /** Maximum bytes of one message. */
  readonly maxMessageBytes: number
  /** Maximum bytes of one request body. */
  readonly maxBodyBytes: number
  /** Maximum number of requests in flight. */
  readonly maxConcurrentRequests: number
  /** Longest time a batch is retried, in seconds. */
  readonly maxTotalBackoffDuration: number
  /** Longest time a batch waits for a rate limit to end, in seconds. */
  readonly maxRateLimitDuration: number
  /** Whether invalid calls throw. */
  readonly strict: boolean
  /** How long a process with nothing else to do stays alive to deliver, in milliseconds. */
  readonly exitTimeout: number
}
