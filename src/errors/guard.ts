import { warn } from '../runtime/warn.ts'
import { describeThrown } from './thrown.ts'

/** The kinds of user code for which a warning was shown: a callback in a loop must not flood the log. */
const warned = new Set<string>()

/**
 * Runs user code. If it throws or returns a promise that rejects, the error is reported and not thrown to the caller.
 *
 * @param report Gets the error, and `threw` or `rejected`.
 */
export function guard(run: () => unknown, report: (error: unknown, verb: string) => void): void {
  try {
    const result = run()
    if (isThenable(result)) result.then(undefined, (error) => report(error, 'rejected'))
  } catch (error) {
    report(error, 'threw')
  }
}

/** Throws if `then` is a getter that throws. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}

/**
 * Shows a process warning for user code that has failed where no client is known.
 *
 * @param what Names the kind of user code. One warning is shown for each kind.
 */
export function warnOnce(what: string, error: unknown, verb: string): void {
  if (warned.has(what)) return
  warned.add(what)
  // The message of the error is not shown, because it may contain secrets, and no client is known here that could redact them.
  const done = `${what} ${verb} ${describeThrown(error)}`.trimEnd()
  warn('user_code', `${done}; the error was ignored, and further ones will be ignored silently`)
}

/**
 * Like `instanceof`, for a value that user code threw. The operator itself throws if the value is a proxy whose traps throw.
 */
export function isInstance<T>(thrown: unknown, type: abstract new (...args: never[]) => T): thrown is T {
  try {
    return thrown instanceof type
  } catch {
    return false
  }
}

/** Makes the stack of the error start at the caller of `callee`, a line of the user's program. Returns the error. */
export function fromCaller(error: unknown, callee: object): unknown {
  const { captureStackTrace } = Error as { captureStackTrace?: (error: object, callee: object) => void }
  // Errors of events are frozen.
  if (error instanceof Error && !Object.isFrozen(error)) captureStackTrace?.(error, callee)
  return error
}
