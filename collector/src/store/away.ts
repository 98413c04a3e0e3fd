import { StoreAwayError } from './late-store.ts'
import { isPassing } from './postgres/passing.ts'

/** Whether a store failed since it is away or has to do with its connection, not for what was asked of it. */
export function isStoreAway(cause: unknown): boolean {
  return cause instanceof StoreAwayError || isPassing(cause)
}
