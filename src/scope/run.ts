import { AsyncLocalStorage } from 'node:async_hooks'
import { assertScope, makeConstant, mergeScopes } from '../client/scopes.ts'
import { describeCause } from '../errors/cause.ts'
import type { Scope } from '../message/scope.ts'
import { warn } from '../runtime/warn.ts'

/**
 * One for the process: a program may load this module twice, as ES module and as CommonJS, or in two bundles of a
 * framework, and a scope that one copy opens must be seen by the other.
 */
const KEY = Symbol.for('trackpost.scope')
const shared = globalThis as { [KEY]?: AsyncLocalStorage<Scope> }
shared[KEY] ??= new AsyncLocalStorage()
const storage = shared[KEY]

/**
 * Runs `fn` with defaults for all that is tracked in it, past each `await`, by clients whose setting `scope` is
 * {@link currentScope}. Nests as `analytics.with()` does: `context` and `integrations` are merged level by level, and for
 * the rest the inner scope wins. A scope that is no object, or throws when it is read, is reported with a process warning
 * and left out.
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
