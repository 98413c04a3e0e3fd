import type { TokenState } from '../auth/oauth.ts'
import type { Service } from './service.ts'

/** The part of {@link Service} that is shared. */
export const SHARED_FIELDS = [
  ...(['limit', 'ceiling', 'successesAtCeiling', 'limitBefore'] as const),
  ...(['failures', 'waits', 'sinceMs', 'isLimited', 'problem', 'code'] as const),
  ...(['isShut', 'shutAtMs', 'waitMs', 'isStated'] as const),
]

export type Known = Pick<Service, (typeof SHARED_FIELDS)[number]>

/**
 * What the clients of one `perRequest` share: plain data, because timers, sockets and promises belong to one request.
 *
 * @see docs/spec.md, section 8.3
 */
export interface Shared {
  /** The learnt limit, the failures and the gate; `undefined` before the first response. */
  known: Readonly<Known> | undefined
  /** Counts the changes of `known`. */
  version: number
  /** Whether a request was ever accepted. */
  isAccepted: boolean
  readonly tokens: { known?: TokenState }
  /** The warnings that were told, each once for all clients. */
  readonly told: Set<string>
}

export function createShared(): Shared {
  return { known: undefined, version: 0, isAccepted: false, tokens: {}, told: new Set() }
}
