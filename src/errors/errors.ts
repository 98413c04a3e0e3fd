/**
 * Why an event was not delivered. A closed list: `switch` over it is exhaustive.
 *
 * - `invalid`: the call lacks what its kind requires, or has a field of the wrong type
 * - `unserializable`: the event cannot be written as JSON
 * - `too_large`: over 32,768 bytes, or refused alone with 413
 * - `queue_full`: `maxQueueSize` or `maxQueueBytes` was reached
 * - `plugin`: a `before` plugin dropped it, threw, or did not answer in time
 * - `closed`: the call came after `closeAndFlush()`
 * - `rejected`: the service answered with a status that no retry can change
 * - `auth`: the service refused the credentials
 * - `retries_exhausted`: `maxRetries` retries have failed
 * - `deadline`: `maxTotalBackoffDuration` or `maxRateLimitDuration` has passed
 * - `shutdown_timeout`: still waiting when `closeAndFlush()` or `exitTimeout` ran out
 *
 * @see spec.md, section 6
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
  'shutdown_timeout',
] as const

/** Base of all errors of this package. `code` is stable; the message is for people and may change. */
export class TrackpostError extends Error {
  readonly code: string

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
    this.code = code
  }
}

/** A setting is missing, misspelt or out of range. Thrown by the constructor only. Never shows the value. */
export class SettingsError extends TrackpostError {
  /** The name of the setting. */
  readonly setting: string

  constructor(setting: string, message: string) {
    super('invalid_setting', `${setting}: ${message}`)
    this.setting = setting
  }
}

/** The reason of one event that was not delivered. */
export class DeliveryError extends TrackpostError {
  declare readonly code: FailureCode
  /** The HTTP status of the last answer, where there was one. */
  declare readonly status?: number

  constructor(code: FailureCode, message: string, options: { cause?: unknown; status?: number } = {}) {
    super(code, message, options.cause)
    if (options.status !== undefined) this.status = options.status
  }
}

/** `instanceof` for what user code threw: by itself it throws on a proxy whose traps do. */
export function isInstance<T>(thrown: unknown, type: abstract new (...args: never[]) => T): thrown is T {
  try {
    return thrown instanceof type
  } catch {
    return false
  }
}
