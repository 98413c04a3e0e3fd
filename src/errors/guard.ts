import { warn } from '../runtime/warn.ts'

/** What has been told already: a callback in a hot loop must not flood the log. */
const told = new Set<string>()

/**
 * Runs code of the user's (a callback, a listener) so that nothing it does reaches the caller: a throw or a
 * rejection is told once for each kind of code, and goes no further.
 *
 * @param what Names the kind of code, for the warning.
 */
export function guard(run: () => unknown, what: string): void {
  try {
    const result = run()
    if (isThenable(result)) result.then(undefined, () => tell(what, 'rejected'))
  } catch {
    tell(what, 'threw')
  }
}

/** Whether `value` is to be awaited. Throws what a `then` that is a getter throws. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}

function tell(what: string, verb: string): void {
  if (told.has(what)) return
  told.add(what)
  // The error itself is the user's and may hold anything, so it is not shown.
  warn('user_code', `${what} ${verb}; the error was ignored, and further ones will be ignored silently`)
}
