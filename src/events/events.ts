import type { RequestInfo, ResponseInfo } from '../delivery/facts.ts'
import type { DeliveryError } from '../errors/errors.ts'
import type { Message } from '../message/types.ts'
import type { Context } from '../pipeline/context.ts'
import type { PublicSettings } from '../settings/settings.ts'

/** The argument of an `error` listener: one event was lost. */
export interface ErrorEvent {
  /** `delivery_failure` if the event failed after it was queued; otherwise, and for `queue_full`, `reason.code`. */
  code: string
  /** The error; its `code` is the precise reason. */
  reason: DeliveryError
  /** The event; absent when the arguments of the call were too malformed to make an event. */
  ctx?: Context
}

/** The argument of a `warning` listener: something failed, or a plugin reported a failure, but no event was lost. */
export interface WarningEvent {
  /**
   * The part that failed; `wait_until`, `scope` and `disable` stand for the functions given in these settings. `outage` is
   * reported when the service has failed more than `maxRetries` times in a row, when events wait because the service refuses
   * the address or the credentials, and when the service accepts requests again.
   */
  code: 'plugin' | 'listener' | 'callback' | 'wait_until' | 'scope' | 'disable' | 'flush' | 'spool' | 'outage'
  /** The error that was thrown, or the reason of the rejection. For a plugin, a `DeliveryError` that names the plugin. */
  reason: unknown
  /** The name of the plugin. */
  plugin?: string
  /** The event that was being handled. */
  ctx?: Context
}

/**
 * The events that a client emits, and the arguments of their listeners. If a listener throws or rejects, the error is reported.
 */
export interface AnalyticsEvents {
  /** An event was lost. With neither a listener nor a callback, the first loss of each reason is a process warning. */
  error: [ErrorEvent]
  /**
   * Something failed, but no event was lost. Without a listener, the first failure of each kind, and each outage, is a process
   * warning.
   */
  warning: [WarningEvent]
  /** An `identify` event was delivered. */
  identify: [Context]
  /** A `track` event was delivered. */
  track: [Context]
  /** A `page` event was delivered. */
  page: [Context]
  /** A `screen` event was delivered. */
  screen: [Context]
  /** A `group` event was delivered. */
  group: [Context]
  /** An `alias` event was delivered. */
  alias: [Context]
  /** A request is about to be sent. Credentials are `[redacted]`. */
  http_request: [RequestInfo]
  /** A response has arrived. Credentials are `[redacted]`. */
  http_response: [ResponseInfo]
  /** A call was made after `closeAndFlush()`. Receives the message of the call, or its arguments if they are bad. */
  call_after_close: [Message]
  /** The client was made. Emitted at the end of the turn of the event loop, so that listeners can be added first. */
  initialize: [PublicSettings]
  /** Plugins were loaded. Receives their names. Emitted before any of their handlers runs. */
  register: [string[]]
  /** Plugins were removed. Receives their names. */
  deregister: [string[]]
  /** The last pending event has its outcome. */
  drained: []
}

/** Options of `flush` and `closeAndFlush`. */
export interface FlushOptions {
  /**
   * Longest wait in milliseconds. 0: no limit, and so does what is not a number, with a warning; a negative number: no wait.
   * Default: no limit for `flush`, 25,000 with `close` and for `closeAndFlush`.
   */
  timeout?: number | undefined
  /** Accepts no further events, as `closeAndFlush` does. Default: `false`. */
  close?: boolean | undefined
}
