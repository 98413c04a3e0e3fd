/**
 * Why an event was not delivered. A closed list: `switch` over it is exhaustive.
 *
 * - `invalid`: the call lacks what its kind requires, or has a field of the wrong type
 * - `unserializable`: the event cannot be written as JSON
 * - `too_large`: over `maxMessageBytes`, or refused alone with 413
 * - `queue_full`: `maxQueueSize` or `maxQueueBytes` was reached
 * - `plugin`: a `before` plugin dropped it or failed, or one with `onLoadFailure: 'drop'` could not be loaded
 * - `closed`: the call came after `closeAndFlush()`
 * - `rejected`: the service responded with a status that no retry can change
 * - `auth`: the service or the token server refused the credentials, or the signer failed
 * - `retries_exhausted`: `maxRetries` retries have failed
 * - `deadline`: `maxTotalBackoffDuration` or `maxRateLimitDuration` has passed
 * - `spool`: the event was only in the spool, and cannot be read there any more
 * - `shutdown_timeout`: still waiting when `closeAndFlush()` or `exitTimeout` ran out
 *
 * @see https://github.com/trackpost/trackpost/blob/main/docs/spec.md#6-the-client
 */
export type FailureCode = (typeof FAILURE_CODES)[number]

/** Every {@link FailureCode}, in the order of an event's way. */
export const FAILURE_CODES = [
  'invalid',
  'unserializable',
  'too_large',
  'queue_full',
  'plugin',
  'closed',
  'rejected',
  'auth',
  'retries_exhausted',
  'deadline',
  'spool',
  'shutdown_timeout',
] as const

/** Base of all errors of this package. `code` is stable; the message is for people and may change. */
export class TrackpostError extends Error {
  /** Stable, unlike the message: a `FailureCode`, or `invalid_setting`. */
  readonly code: string

  /** Made by this package only. */
  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    // An assignment would throw if Error.prototype is frozen.
    Object.defineProperty(this, 'name', { value: new.target.name, writable: true, configurable: true })
    this.code = code
  }
}

/**
 * A setting is missing, misspelt or out of range. Constructors throw it, such as that of `Analytics`. The message names
 * the setting and says what was expected; it never quotes the given text.
 *
 * @example
 * try {
 *   new Analytics({ writeKey: process.env.WRITE_KEY })
 * } catch (error) {
 *   if (error instanceof SettingsError) console.error(error.setting, error.message)
 * }
 */
export class SettingsError extends TrackpostError {
  /** The name of the setting, for example `flushAt` or `oauthSettings.keyId`. */
  readonly setting: string

  /** Made by the client; of use to programs only in their own tests. */
  constructor(setting: string, message: string) {
    super('invalid_setting', `${setting}: ${message}`)
    this.setting = setting
  }
}

/** Facts about the request that failed. */
export interface FailedRequest {
  /** The reason that the HTTP client rejected with, without credentials. */
  readonly cause?: unknown
  /** The HTTP status of the last response. */
  readonly status?: number
  /** The URL of the request. */
  readonly url?: string
  /** The first 1,024 bytes of the body of that response, as text, without credentials. */
  readonly response?: string
}

/**
 * The reason why one event was not delivered.
 *
 * @example
 * analytics.on('error', ({ reason }) => {
 *   console.error(reason.code, reason.message, reason.status, reason.response)
 * })
 */
export class DeliveryError extends TrackpostError {
  /**
   * Why; stable, to `switch` over. `deferred` is no loss: the client was closed, and the event is in the spool, for the next
   * start.
   */
  declare readonly code: FailureCode | 'deferred'
  /** The HTTP status of the last response; absent when there was none. */
  declare readonly status?: number
  /** The URL that the last request went to; absent when the event was never sent. */
  declare readonly url?: string
  /**
   * The first 1,024 bytes of the body of the last response, as text: what the service itself says. Credentials are
   * replaced by `[redacted]`. Absent when there was no response.
   */
  declare readonly response?: string

  /** Made by the client; of use to programs only in their own tests. */
  constructor(code: FailureCode | 'deferred', message: string, request: FailedRequest = {}) {
    super(code, message, request.cause)
    const { status, url, response } = request
    if (status !== undefined) this.status = status
    if (url !== undefined) this.url = url
    if (response !== undefined) this.response = response
  }
}

/** Options of {@link ContextCancelation}. */
export interface ContextCancelationOptions {
  /** Why the event is dropped: part of the failure's message. */
  reason?: string
  /** A label of your own. */
  type?: string
  /** Has no effect: a dropped event is not tried again. Accepted for plugins that were written for other SDKs. */
  retry?: boolean
}

/**
 * Thrown by a `before` plugin to drop the event, which then fails with `plugin`. `ctx.cancel()` throws it.
 *
 * @example
 * throw new ContextCancelation({ reason: 'no consent' })
 */
export class ContextCancelation extends Error {
  /** `ContextCancelation`. */
  override readonly name = 'ContextCancelation'
  /** Why the event is dropped. */
  readonly reason: string
  /** A label of the plugin's own. Default: `plugin Error`. */
  readonly type: string
  /** Has no effect. Default: false. */
  readonly retry: boolean

  /**
   * Makes a cancellation, to be thrown by a handler.
   *
   * @param options The reason as text, or an object with more than that.
   */
  constructor(options: string | ContextCancelationOptions = {}, errorOptions?: { cause?: unknown }) {
    const {
      reason = 'cancelled',
      type = 'plugin Error',
      retry = false,
    } = typeof options === 'string' ? { reason: options } : (options ?? {})
    super(reason, errorOptions)
    this.reason = reason
    this.type = type
    this.retry = retry
  }
}
