import { ConfigError } from '../config/config-error.ts'

/** The store cannot be used for the moment; everything that was said of it may be right. */
export class StoreAwayError extends ConfigError {}

const marked = new WeakSet<object>()

/** Marks an error as one of a store that is away; only the store itself can tell. Returns the same error, with all that it says. */
export function markAway<T extends object>(cause: T): T {
  marked.add(cause)
  return cause
}

/** Whether a store failed since it is away or has to do with its connection, not for what was asked of it. */
export function isStoreAway(cause: unknown): boolean {
  return cause instanceof StoreAwayError || (typeof cause === 'object' && cause !== null && marked.has(cause))
}

/** A newer collector has made its tables: it will not be of use until this one is replaced. */
export class NewerStoreError extends StoreAwayError {}
