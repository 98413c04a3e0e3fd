import { AsyncLocalStorage } from 'node:async_hooks'
import { assertScope } from '../core/scopes.ts'
import { describeCause } from '../errors/cause.ts'
import { mergeScopes, type Scope } from '../message/scope.ts'
import { warn } from '../runtime/warn.ts'

/** Shared with other copies of this module, for example as CommonJS. */
const KEY = Symbol.for('trackpost.scope')
const shared = globalThis as { [KEY]?: AsyncLocalStorage<Scope> }
shared[KEY] ??= new AsyncLocalStorage()
const storage = shared[KEY]

/**
 * Runs `fn` with defaults for all events that are tracked in it, also after an `await`. This works for clients whose setting
 * `scope` is {@link currentScope}. Scopes can be nested: `context` and `integrations` are merged at every level, and other
 * values of the inner scope win. A scope that is not an object, or throws when it is read, is ignored with a process warning.
 *
 * @param scope The defaults. They are copied, so that later changes have no effect.
 */
export function runWithScope<Result>(scope: Scope, fn: () => Result): Result {
  return storage.run(mergeWithCurrent(scope), fn)
}

/**
 * The scope of the code that runs now; `undefined` outside of {@link runWithScope}. Do not change it.
 *
 * @example
 * const analytics = new Analytics({ writeKey, scope: currentScope })
 */
export function currentScope(): Scope | undefined {
  return storage.getStore()
}

function mergeWithCurrent(scope: Scope): Scope {
  const outer = storage.getStore()
  try {
    if (scope !== undefined && scope !== null) assertScope(scope)
    return Object.freeze(mergeScopes(outer, scope))
  } catch (error) {
    warn('scope', `a scope could not be read and was left out: ${describeCause(error)}`)
    return outer ?? {}
  }
}
