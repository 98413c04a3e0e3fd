import type { RequestInfo, ResponseInfo } from './delivery/attempt.ts'
import type { DeliveryError } from './errors/errors.ts'
import type { Context } from './pipeline/context.ts'
import type { ResolvedSettings } from './settings/resolve.ts'

/** What an `error` listener is given. */
export interface ErrorEvent {
  /** `delivery_failure` for what failed on its way; for what never set out, the same as `reason.code`. */
  code: string
  /** Its `code` is the precise reason. */
  reason: DeliveryError
  ctx?: Context
}

/** The local events and what their listeners are given. @see spec.md, section 6 */
export interface AnalyticsEvents {
  error: [ErrorEvent]
  identify: [Context]
  track: [Context]
  page: [Context]
  screen: [Context]
  group: [Context]
  alias: [Context]
  http_request: [RequestInfo]
  http_response: [ResponseInfo]
  call_after_close: [unknown]
  initialize: [PublicSettings]
  register: [string[]]
  deregister: [string[]]
  drained: []
}

/** The settings in force, without secrets. */
export type PublicSettings = Omit<ResolvedSettings, 'writeKey' | 'httpClient' | 'oauthSettings' | 'waitUntil'>

export interface FlushOptions {
  /** Longest wait in milliseconds. Default: as long as it takes; 75,000 with `close`. */
  timeout?: number | undefined
  /** Take no further events, as `closeAndFlush` does. Default: false. */
  close?: boolean | undefined
}
