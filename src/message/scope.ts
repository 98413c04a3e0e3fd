import type { ExtraContext, Id, Integrations, Timestamp } from './shapes.ts'

/**
 * Defaults for the events of a scope. The call wins; `context` and `integrations` are merged level by
 * level.
 */
export interface Scope {
  /** Identity of a known user. */
  userId?: Id | null | undefined
  /** Identity of a visitor. `alias` has no such field and ignores it. */
  anonymousId?: Id | null | undefined
  /** Facts about the messages, for example `ip` and `userAgent`. */
  context?: ExtraContext | null | undefined
  /** Destination switches. */
  integrations?: Integrations | null | undefined
  /** When it happened. */
  timestamp?: Timestamp | null | undefined
}
