import type { ByteHTTPClient, HTTPClient, HTTPFetchFn } from '../http/client.ts'
import type { Scope } from '../message/scope.ts'
import type { Logger } from '../runtime/log.ts'
import type { Spool } from './journal.ts'
import type { Signer } from './signer.ts'

/**
 * The settings of `Analytics`. Only own properties are read, each once; `undefined` means the default. The constructor throws a
 * `SettingsError` for an invalid value, and unknown names cause one warning that lists the settings.
 */
export interface AnalyticsSettings {
  /** The write key of the source: 1 to 1,024 visible ASCII characters without spaces. Required. */
  writeKey: string
  /**
   * Selects the defaults of `host` and `oauthSettings.authServer`. If an event for an EU workspace is sent to the default
   * region, it may be accepted but never appear. Default: `'default'`.
   */
  region?: 'default' | 'eu' | undefined
  /**
   * Base URL of the API, http or https, without credentials, query and fragment. `path` is appended to it. Default: the URL of
   * the region, `https://api.segment.io` or `https://events.eu1.segmentapis.com`.
   */
  host?: string | undefined
  /** Path of the API below `host`. Default: `/v1/batch`. */
  path?: string | undefined
  /**
   * Number of retries of a batch after its first attempt; 0 means one attempt. If all retries fail, the events fail with
   * `retries_exhausted`. Without this setting, only awaited events fail in an outage; the others wait for its end. Default: 3;
   * 0 to 1,000 retries.
   */
  maxRetries?: number | undefined
  /**
   * Number of queued events at which a batch is sent: when to send, not how much. 1 turns batching off: every request contains
   * exactly one event. Default: 15; 1 to 1,000,000 events.
   */
  flushAt?: number | undefined
  /**
   * Most events of one request. A request may contain all that waits, up to this number and `maxBodyBytes`. Given without
   * `flushAt`, it is also the value of `flushAt`. Default: 2,500; 1 to 1,000,000 events.
   */
  maxEventsInBatch?: number | undefined
  /**
   * Time after which queued events are sent even if there are fewer than `flushAt`; 0: at the end of each turn. Default: 10,000;
   * 0 to 2,147,483,647 ms.
   */
  flushInterval?: number | undefined
  /**
   * Longest time for one request, from its start to the end of its response. A request that takes longer is aborted and
   * retried. Default: 10,000; 1 to 2,147,483,647 ms.
   */
  httpRequestTimeout?: number | undefined
  /**
   * With `true`, no request is sent. Plugins still run, and events count as delivered for callbacks, promises and listeners. A
   * function decides about each event that is tracked: it is sent only if the function returns `false`. If it throws or returns
   * no boolean, the event is not sent, and there is a warning. Default: `false`.
   */
  disable?: boolean | (() => boolean) | undefined
  /**
   * Additional headers of every request that sends events, for example for a gateway; not of requests for access tokens. Headers
   * that the client or HTTP sets, such as `Authorization` and `User-Agent`, are refused. A value has up to 8,192 visible ASCII
   * characters, with spaces only between them. Default: none.
   */
  headers?: Readonly<Record<string, string>> | undefined
  /**
   * With `'gzip'`, request bodies are compressed: about a tenth of the bytes, for a little more CPU time. Limits count
   * uncompressed bytes. After a 415, or when a body could not be compressed, all bodies are sent uncompressed, with one warning.
   * Your own `httpClient` must accept bytes, see {@link ByteHTTPClient}. Default: `'none'`.
   */
  compress?: 'none' | 'gzip' | undefined
  /**
   * Used instead of process warnings: `console`, a logger of pino, or any object with `debug`, `info`, `warn` and `error`, each called
   * with fields and a message. Credentials are never logged. Default: none.
   */
  logger?: Logger | undefined
  /**
   * Your own HTTP client: an object with `makeRequest`, or a function with the signature of `fetch`. Default: on
   * Node.js `node:http`, or the global `fetch` if the process has replaced it or given it a proxy, a mock or interceptors; on
   * other runtimes the global `fetch`.
   */
  httpClient?: HTTPClient | HTTPFetchFn | undefined
  /** Settings for OAuth, to authenticate with access tokens instead of the write key. Default: none. */
  oauthSettings?: OAuthSettings | undefined
  /** Maximum number of events without an outcome. Further ones fail with `queue_full`. Default: 100,000; 1 to 100,000,000 events. */
  maxQueueSize?: number | undefined
  /**
   * Maximum bytes of the events without an outcome, at least `maxMessageBytes`. Further ones fail with `queue_full`. Default:
   * 33,554,432; 1,024 to 17,179,869,184 bytes.
   */
  maxQueueBytes?: number | undefined
  /**
   * Maximum bytes of one message as JSON; a larger message fails with `too_large`. Change it for a service with another limit.
   * Default: 32,768; 1,024 to 16,777,216 bytes.
   */
  maxMessageBytes?: number | undefined
  /**
   * Maximum bytes of one request body; at least 4,096 more than `maxMessageBytes`. Change it for a service with another limit.
   * Default: 500,000; 8,192 to 268,435,456 bytes.
   */
  maxBodyBytes?: number | undefined
  /**
   * Maximum number of requests in flight. With 1, batches arrive in order while requests succeed; after a failure no order is
   * promised. Default: 4; 1 to 1,000 requests.
   */
  maxConcurrentRequests?: number | undefined
  /** Longest time for which events are retried; after it, they fail with `deadline`. Default: 43,200; 1 to 2,147,483 s. */
  maxTotalBackoffDuration?: number | undefined
  /**
   * Longest time for which events wait for the end of a rate limit; after it, they fail with `deadline`. Default: 43,200; 1 to
   * 2,147,483 s.
   */
  maxRateLimitDuration?: number | undefined
  /** Whether a call with bad arguments throws a `DeliveryError`. If not, the error is only reported. Default: `false`. */
  strict?: boolean | undefined
  /**
   * A function that is called for every event and returns defaults for it: `userId`, `anonymousId`, `context`, `integrations`,
   * `timestamp`, `properties`. The values of the call win. If the function throws or returns no object, there is a warning, and the
   * event is sent without these defaults. Default: none.
   */
  scope?: (() => Scope | undefined) | undefined
  /**
   * A `FileSpool` of `trackpost/spool`, which keeps waiting events on disk, so that they survive the process. It holds what
   * memory holds, no more. Events that are not delivered when the client closes are `deferred`. Default: none.
   */
  spool?: Spool | undefined
  /**
   * For serverless platforms: the function of your platform that keeps an invocation alive until a promise settles. It is
   * called with a promise that resolves when the events tracked in this turn of the event loop have been flushed. Default:
   * none.
   */
  waitUntil?: ((promise: Promise<unknown>) => void) | undefined
  /**
   * How long a process that has nothing else to do stays alive to deliver the waiting events, which then fail with
   * `shutdown_timeout`; 0: not at all. A request under way also keeps it alive, for at most `httpRequestTimeout`. Default: 5,000;
   * 0 to 2,147,483,647 ms.
   */
  exitTimeout?: number | undefined
}

/** The client signs an assertion with your private key and exchanges it for an access token (RFC 7523). Tokens are kept in memory. */
export interface OAuthSettings {
  /** The id of the OAuth application: 1 to 1,024 visible ASCII characters. Required. */
  clientId: string
  /**
   * The RSA private key of the application, 2,048 bits or more, as PEM text (PKCS#8 or PKCS#1). Required, unless there is a
   * `signer`. Default: none.
   */
  clientKey?: string | undefined
  /**
   * Instead of `clientKey`, for a key in a key management service or a hardware security module. If it rejects, takes longer than
   * `httpRequestTimeout` or does not return a signature, it is called again later, and events that are awaited fail with `auth`.
   * Default: none.
   */
  signer?: Signer | undefined
  /** The id of the public key that belongs to the private key: 1 to 1,024 visible ASCII characters. Required. */
  keyId: string
  /**
   * Base URL of the token server, which is also the audience of the assertion. Default: the URL of the region,
   * `https://oauth2.segment.io` or `https://oauth2.eu1.segmentapis.com`.
   */
  authServer?: string | undefined
  /** The permissions to request: words separated by single spaces. Default: `tracking_api:write`. */
  scope?: string | undefined
  /**
   * How many token requests may fail again before events that somebody waits for fail. A token request that fails counts as a
   * failed request of the client. Default: the `maxRetries` of the client; 0 to 1,000 retries.
   */
  maxRetries?: number | undefined
  /** HTTP client for token requests. Default: the `httpClient` for events. */
  httpClient?: HTTPClient | HTTPFetchFn | undefined
}

/** The settings that are neither secrets nor functions or objects with functions. */
type ShownSettings = {
  readonly [Name in keyof AnalyticsSettings as Exclude<
    Name,
    | 'writeKey'
    | 'disable'
    | 'headers'
    | 'logger'
    | 'httpClient'
    | 'oauthSettings'
    | 'scope'
    | 'spool'
    | 'waitUntil'
  >]-?: Exclude<AnalyticsSettings[Name], undefined>
}

/** The settings of a client with all defaults, without secrets and functions. {@link AnalyticsSettings} describes each. */
export interface PublicSettings extends ShownSettings {
  /** Whether sending is disabled; absent if the setting is a function. */
  readonly disable?: boolean
}
