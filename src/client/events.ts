import type { RequestInfo, ResponseInfo } from '../delivery/observer.ts'
import type { DeliveryError } from '../errors/errors.ts'
import type { Message } from '../message/types.ts'
import type { Context } from '../pipeline/context.ts'
import type { PublicSettings } from '../settings/settings.ts'
import type { FlushSummary } from './ledger.ts'

/** The argument of an `error` listener: one event was lost. */
export interface ErrorEvent {
  /** `delivery_failure` for an event that failed on its way; otherwise the same as `reason.code`. */
  code: string
  /** Why; its `code` is the precise reason. */
  reason: DeliveryError
  /** The event; left out when the call was too malformed to make one. */
  ctx?: Context
}

/** The argument of a `warning` listener: something failed, or a plugin reported it, and it cost no event. */
export interface WarningEvent {
  /**
   * The part that failed: a plugin, a listener, a callback, the function given as `waitUntil`, `scope` or `disable`, the spool,
   * the service. `outage` is reported when the service has failed more than `maxRetries` times in a row, when it refuses the
   * settings after it has accepted requests, and when it accepts requests again.
   */
  code: 'plugin' | 'listener' | 'callback' | 'wait_until' | 'scope' | 'disable' | 'spool' | 'outage'
  /** The error that was thrown, or the reason of the rejection. For a plugin, a `DeliveryError` that names it. */
  reason: unknown
  /** The name of the plugin. */
  plugin?: string
  /** The event that was being handled. */
  ctx?: Context
}

/**
 * The events that a client emits, and what their listeners receive. A listener that throws or rejects does no harm: the
 * failure is reported.
 *
 * @example
 * analytics.on('error', ({ reason, ctx }) => log.warn(reason.code, reason.message, ctx?.event.event))
 */
export interface AnalyticsEvents {
  /** An event was lost. With neither a listener nor a callback, the first loss of each reason is a process warning. */
  error: [ErrorEvent]
  /** Something failed, and it cost no event. Without a listener, each kind is a process warning, once; an outage, each time. */
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
  /** A call was made after `closeAndFlush()`. Receives its message; for a call with bad arguments, what was passed. */
  call_after_close: [Message]
  /** The client was made. Fires at the end of the turn, so that listeners can be added first. */
  initialize: [PublicSettings]
  /** Plugins were loaded. Receives the names of those that were. */
  register: [string[]]
  /** Plugins were removed. Receives the names of those that were. */
  deregister: [string[]]
  /** The last pending event has its outcome. */
  drained: []
}

/** Arguments of `emit`: the same events, and for `error` and `warning` also a `code` and `reason` of your own. */
export interface EmittedEvents extends Omit<AnalyticsEvents, 'error' | 'warning'> {
  /** As {@link ErrorEvent}, with a reason of any type. */
  error: [{ code: string; reason?: unknown; ctx?: Context | undefined }]
  /** As {@link WarningEvent}, with a code of your own. */
  warning: [{ code: string; reason?: unknown; plugin?: string | undefined; ctx?: Context | undefined }]
}

/** Options of `flush` and `closeAndFlush`. */
export interface FlushOptions {
  /** Longest wait in milliseconds; 0 means no limit. Default: no limit, and 75,000 with `close`. */
  timeout?: number | undefined
  /** Accepts no further events, as `closeAndFlush` does. Default: `false`. */
  close?: boolean | undefined
}

/**
 * The result of `flush` and `closeAndFlush`: the summary. With `void`, the promise can be used where a `Promise<void>` or a
 * `Promise<void[]>` is declared, as in programs that were written for other SDKs. If the client may be `undefined`, declare
 * the summary as below: in `(await client?.flush())?.failed` and after `if (summary)`, TypeScript would narrow it to
 * `never`.
 *
 * @example
 * const summary: FlushSummary | undefined = await client?.flush()
 */
// biome-ignore lint/suspicious/noConfusingVoidType: `void` is what those programs declare
export type FlushResult = FlushSummary & void

/** A callback of `flush`. The first argument is always `undefined`: a flush does not fail. */
export type FlushCallback = (error: undefined, summary: FlushSummary) => unknown
