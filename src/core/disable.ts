import { isThenable } from '../errors/guard.ts'
import type { Observer } from '../events/observer.ts'
import { describe } from '../message/describe.ts'

/**
 * Returns a function that reads the setting `disable` for one event. If the user's function fails, the event is not sent:
 * nothing may be sent without consent.
 *
 * @returns `undefined` when sending is never disabled.
 */
export function disableReader(
  disable: boolean | (() => boolean),
  observer: Pick<Observer, 'onUserError' | 'onMisuse'>,
): (() => boolean) | undefined {
  if (disable === false) return undefined
  if (disable === true) return () => true
  let isAsking = false
  return () => {
    // The function itself tracks an event: asking it again would never end.
    if (isAsking) return true
    isAsking = true
    try {
      const given: unknown = disable()
      if (typeof given === 'boolean') return given
      const isPromise = isThenable(given)
      // Prevents an unhandled rejection.
      if (isPromise) given.then(undefined, () => {})
      const got = isPromise ? 'a promise' : describe(given)
      observer.onMisuse('disable', `disable: expected a boolean, got ${got}; nothing is sent`)
    } catch (error) {
      observer.onUserError('disable', error)
    } finally {
      isAsking = false
    }
    return true
  }
}
