import { isThenable } from '../errors/guard.ts'
import { describe } from '../message/describe.ts'
import type { Warnings } from './warnings.ts'

/**
 * Asks the setting `disable`, once for each call. What is not a clear "no" disables: nothing is sent without consent
 * because a function failed.
 *
 * @returns `undefined` when it never is.
 * @param warnings Told when the function throws or returns something else than a boolean.
 */
export function disableReader(
  disable: boolean | (() => boolean),
  warnings: Pick<Warnings, 'report' | 'reportMisuse'>,
): (() => boolean) | undefined {
  if (disable === false) return undefined
  if (disable === true) return () => true
  let isAsking = false
  return () => {
    // A function that tracks would be asked without end.
    if (isAsking) return true
    isAsking = true
    try {
      const given: unknown = disable()
      if (typeof given === 'boolean') return given
      const isPromise = isThenable(given)
      // Its rejection must not surface.
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
