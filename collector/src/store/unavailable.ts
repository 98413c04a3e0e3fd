import { ConfigError } from '../config/config-error.ts'
import { hasName } from '../error-name.ts'

/** In all copies of this module: see `hasName`. */
const UNAVAILABLE = Symbol.for('trackpost-collector.unavailable')
const NEWER = Symbol.for('trackpost-collector.newer')

/** The store cannot be used at present, although its settings may be correct. */
export class StoreUnavailableError extends ConfigError {
  readonly [UNAVAILABLE] = true

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasName(value, 'ConfigError') && UNAVAILABLE in value
  }
}

export function markUnavailable<T extends object>(cause: T): T {
  Object.defineProperty(cause, UNAVAILABLE, { value: true })
  return cause
}

/** Whether an error was caused by an unreachable store or a lost connection, and not by the query. */
export function isStoreUnavailable(cause: unknown): boolean {
  return typeof cause === 'object' && cause !== null && UNAVAILABLE in cause
}

/** A newer collector has migrated the tables: this process cannot use the store until the process is upgraded. */
export class NewerStoreError extends StoreUnavailableError {
  readonly [NEWER] = true

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasName(value, 'ConfigError') && NEWER in value
  }
}
