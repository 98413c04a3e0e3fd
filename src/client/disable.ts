import { isThenable } from '../errors/guard.ts'
import { describe } from '../message/describe.ts'
import type { Warnings } from './warnings.ts'

/**
 * Reads the setting `disable`, once for each call. Anything but `false` disables: if the function fails, nothing may be sent
 * without consent.
 *
 * @returns `undefined` when sending is never disabled.
 * @param warnings Called when the function throws or returns something other than a boolean.
 */
export function disableReader(
  disable: boolean | (() => boolean),
  warnings: Pick<Warnings, 'report' | 'reportMisuse'>,
): (() => boolean) | undefined {
  if (disable === false) return undefined
  if (disable === true) return () => true
  let isAsking = false
  return () => {
    // A function that tracks would call itself forever.
    if (isAsking) return true
    isAsking = true
    try {
      const given: unknown = disable()
      if (typeof given === 'boolean') return given
      const isPromise = isThenable(given)
      // Its rejection must not become an unhandled one.
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
