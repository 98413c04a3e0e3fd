import { ConfigError } from '../config/config-error.ts'

/** The store cannot be used at present, although its settings may be correct. */
export class StoreUnavailableError extends ConfigError {}

const marked = new WeakSet<object>()

export function markUnavailable<T extends object>(cause: T): T {
  marked.add(cause)
  return cause
}

/** Whether an error was caused by an unreachable store or a lost connection, and not by the query. */
export function isStoreUnavailable(cause: unknown): boolean {
  return (
    cause instanceof StoreUnavailableError ||
    (typeof cause === 'object' && cause !== null && marked.has(cause))
  )
}

/** A newer collector has migrated the tables: this process cannot use the store until the process is upgraded. */
export class NewerStoreError extends StoreUnavailableError {}
