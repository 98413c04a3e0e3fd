import { isThenable } from '../errors/guard.ts'

/**
 * Asks the setting `disable`, once for each call. What is not a clear "no" disables: nothing is sent without consent
 * because a function failed.
 *
 * @returns `undefined` when it never is.
 * @param report Told when the function throws or returns something else than a boolean.
 */
export function disableReader(
  disable: boolean | (() => boolean),
  report: (problem: unknown) => void,
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
      report(new TypeError(`disable: expected a boolean, got ${isPromise ? 'a promise' : typeof given}`))
    } catch (error) {
      report(error)
    } finally {
      isAsking = false
    }
    return true
  }
}
