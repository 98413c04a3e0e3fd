import { AsyncLocalStorage } from 'node:async_hooks'
import { assertScope, makeConstant, mergeScopes } from '../client/scopes.ts'
import { describeCause } from '../errors/cause.ts'
import type { Scope } from '../message/scope.ts'
import { warn } from '../runtime/warn.ts'

/**
 * One store for the process: a program may load this module twice, as ES module and as CommonJS or in two bundles of a
 * framework, and each copy must see the scopes of the other.
 */
const KEY = Symbol.for('trackpost.scope')
const shared = globalThis as { [KEY]?: AsyncLocalStorage<Scope> }
shared[KEY] ??= new AsyncLocalStorage()
const storage = shared[KEY]

/**
 * Runs `fn` with defaults for all events tracked in it, also after an `await`, by clients whose setting `scope` is {@link
 * currentScope}. Scopes nest as in `analytics.with()`: `context` and `integrations` are merged level by level, and for the
 * rest the inner scope wins. If the scope is not an object, or throws when it is read, it is left out with a process
 * warning.
 *
 * @param scope Copied: later changes to it have no effect.
 * @returns What `fn` returns.
 * @throws what `fn` throws.
 * @example
 * app.use((request, response, next) => runWithScope(requestScope(request), next))
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
    return makeConstant(mergeScopes(outer, scope))
  } catch (error) {
    warn('scope', `a scope could not be read and was left out: ${describeCause(error)}`)
    return outer ?? {}
  }
}
