import type { EventProperties, ExtraContext, Id, Integrations, Timestamp } from './shapes.ts'

/**
 * Defaults for the events of a scope. The values of the call win; `properties`, `context` and `integrations` are merged at every
 * level.
 */
export interface Scope {
  /** Your id for the user. */
  userId?: Id | null | undefined
  /** An id for a visitor whose identity is not known. `alias` ignores this id. */
  anonymousId?: Id | null | undefined
  /** Properties of each `track`, `page` and `screen`. */
  properties?: EventProperties | null | undefined
  /** Facts about the messages, for example `ip` and `userAgent`. */
  context?: ExtraContext | null | undefined
  /** Destination switches. */
  integrations?: Integrations | null | undefined
  /** When the event happened. */
  timestamp?: Timestamp | null | undefined
}
