import { isThenable } from '../errors/guard.ts'
import { describe } from '../message/describe.ts'
import type { Warnings } from './warnings.ts'

/**
 * Returns a function that reads the setting `disable`. It is called once for each event. Any value but `false` disables
 * sending: if the user's function fails, nothing may be sent without consent.
 *
 * @returns `undefined` when sending is never disabled.
 * @param warnings Reports a function that throws or does not return a boolean.
 */
export function disableReader(
  disable: boolean | (() => boolean),
  warnings: Pick<Warnings, 'report' | 'reportMisuse'>,
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
      // If the promise rejects, it must not be an unhandled rejection.
      if (isPromise) given.then(undefined, () => {})
      const got = isPromise ? 'a promise' : describe(given)
      warnings.reportMisuse('disable', `disable: expected a boolean, got ${got}; nothing is sent`)
    } catch (error) {
      warnings.report('disable', error)
    } finally {
      isAsking = false
    }
    return true
  }
}
