import { ConfigError } from '../config/config-error.ts'

/** The store is unreachable or unusable at present; its settings may be correct. */
export class StoreUnavailableError extends ConfigError {}

const marked = new WeakSet<object>()

/** Marks an error as caused by an unreachable store; only the store itself can tell. Returns the same error. */
export function markUnavailable<T extends object>(cause: T): T {
  marked.add(cause)
  return cause
}

/** Whether a store failed because it is unreachable or its connection broke, and not because of the query. */
export function isStoreUnavailable(cause: unknown): boolean {
  return (
    cause instanceof StoreUnavailableError ||
    (typeof cause === 'object' && cause !== null && marked.has(cause))
  )
}

/** A newer collector has migrated its tables: this process cannot use the store until it is upgraded. */
export class NewerStoreError extends StoreUnavailableError {}
