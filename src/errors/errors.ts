/**
 * Why an event was not delivered. The list is complete, so a `switch` can cover all codes.
 *
 * - `invalid`: the call lacks what its kind requires, or has a field of the wrong type
 * - `unserializable`: the event cannot be written as JSON
 * - `too_large`: the event is larger than `maxMessageBytes`, or the service responded with 413 to this event alone
 * - `queue_full`: `maxQueueSize` or `maxQueueBytes` was reached
 * - `plugin`: a `before` plugin dropped the event or failed, or a plugin with `onLoadFailure: 'drop'` could not be loaded
 * - `closed`: the call came after `closeAndFlush()`
 * - `rejected`: the service refused the event with a status for which a retry is no use
 * - `auth`: the service or the token server refused the credentials, or the signer failed
 * - `retries_exhausted`: `maxRetries` retries have failed
 * - `deadline`: `maxTotalBackoffDuration` or `maxRateLimitDuration` has passed
 * - `shutdown_timeout`: the event was still waiting when the time limit of `closeAndFlush()` or `exitTimeout` was reached
 *
 * @see https://github.com/trackpost/trackpost/blob/main/docs/spec.md#6-the-client
 */
export type FailureCode = (typeof FAILURE_CODES)[number]

/** Codes of events that fail before they are queued, or by a full queue: the `code` of their `error` event is the code itself. */
export const EARLY_CODES = [
  'invalid',
  'unserializable',
  'too_large',
  'queue_full',
  'plugin',
  'closed',
] as const

/** Every {@link FailureCode}. */
export const FAILURE_CODES = [
  ...EARLY_CODES,
  'rejected',
  'auth',
  'retries_exhausted',
  'deadline',
  'shutdown_timeout',
] as const

/** The base class of `SettingsError` and `DeliveryError`. `code` is stable; the message may change. */
export class TrackpostError extends Error {
  /** A stable code: a `FailureCode`, `deferred` or `invalid_setting`. */
  readonly code: string

  /** Called by this package only. `name` is literal: a bundler may rename the class. */
  constructor(name: string, code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    // An assignment would throw if Error.prototype is frozen.
    Object.defineProperty(this, 'name', { value: name, writable: true, configurable: true })
    this.code = code
  }
}

/**
 * A setting is missing, misspelt or invalid. Thrown by constructors, such as that of `Analytics`. The message names the setting
 * and says what was expected; it never quotes the given value.
 */
export class SettingsError extends TrackpostError {
  /** The name of the setting, for example `flushAt` or `oauthSettings.keyId`. */
  readonly setting: string

  /** Called by the client. Programs need it only in tests. */
  constructor(setting: string, message: string) {
    super('SettingsError', 'invalid_setting', `${setting}: ${message}`)
    this.setting = setting
  }
}

export interface FailedRequest {
  /** The error that led to this one, for example the error of the HTTP client, without credentials. */
  readonly cause?: unknown
  /** The HTTP status of the response. */
  readonly status?: number
  /** The URL of the request. */
  readonly url?: string
  /** The first 1,024 bytes of the response body, as text, without credentials. */
  readonly response?: string
}

/**
 * The reason why one event was not delivered. It is frozen, because all events of a request that failed share it.
 *
 * @example
 * analytics.on('error', ({ reason }) => {
 *   console.error(reason.code, reason.message, reason.status, reason.response)
 * })
 */
export class DeliveryError extends TrackpostError {
  /** A stable code. `deferred` is no loss: the client was closed, and the spool keeps the event for the next start. */
  declare readonly code: FailureCode | 'deferred'
  /** The HTTP status of the last response; absent when there was none. */
  declare readonly status?: number
  /** The URL that the last request went to; absent when the event was never sent. */
  declare readonly url?: string
  /** The first 1,024 bytes of the body of the last response, as text, without credentials; absent when there was none. */
  declare readonly response?: string

  /** Called by the client. Programs need it only in tests. */
  constructor(code: FailureCode | 'deferred', message: string, request: FailedRequest = {}) {
    super('DeliveryError', code, message, request.cause)
    const { status, url, response } = request
    if (status !== undefined) this.status = status
    if (url !== undefined) this.url = url
    if (response !== undefined) this.response = response
    // Many events may share one error: nobody may change it for the others.
    Object.freeze(this)
  }
}

/** Why an event is dropped: a text, or an object as other SDKs take it. */
export type CancelationReason =
  | string
  | {
      /** The message. */
      readonly reason?: string
      /** Has no effect. */
      readonly type?: string
      /** Has no effect. */
      readonly retry?: boolean
    }

/** Thrown by a `before` plugin to drop the event, which then fails with the code `plugin`. `ctx.cancel()` throws it. */
export class ContextCancelation extends Error {
  /** Always `ContextCancelation`. */
  override readonly name = 'ContextCancelation'

  /**
   * Makes the error.
   *
   * @param given Why the event is dropped: the message. With an object, its `reason` counts.
   */
  constructor(given: CancelationReason = {}, options?: { cause?: unknown }) {
    const reason = typeof given === 'string' ? given : given?.reason
    super(typeof reason === 'string' ? reason : 'cancelled', options)
  }
}
