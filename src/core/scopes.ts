import type { Observer } from '../events/observer.ts'
import { describe, isRecord } from '../message/describe.ts'
import type { Scope } from '../message/scope.ts'

/**
 * If the user's function throws or returns no object, this is reported and the scope is ignored. What its fields have is checked
 * with the event.
 */
export function scopeReader(
  scope: (() => Scope | undefined) | undefined,
  observer: Pick<Observer, 'onUserError'>,
): () => Scope | undefined {
  let isAsking = false
  return () => {
    // The scope function itself tracks an event: calling it again would never end.
    if (scope === undefined || isAsking) return undefined
    isAsking = true
    try {
      const given = scope()
      if (given === undefined || given === null) return undefined
      assertScope(given)
      // Read here, where a getter that throws costs no event.
      const { userId, anonymousId, properties, context, integrations, timestamp } = given
      return { userId, anonymousId, properties, context, integrations, timestamp }
    } catch (error) {
      observer.onUserError('scope', error)
      return undefined
    } finally {
      isAsking = false
    }
  }
}

/** @throws TypeError when `value` is not an object, or is a promise. */
export function assertScope(value: unknown): void {
  if (isRecord(value) && typeof value['then'] !== 'function') return
  throw new TypeError(`scope: expected an object, got ${isRecord(value) ? 'a promise' : describe(value)}`)
}
