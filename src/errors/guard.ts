import { warn } from '../runtime/warn.ts'
import { describeThrown } from './thrown.ts'

const warned = new Set<string>()

/** If `run` throws or returns a promise that rejects, the error is reported, with `threw` or `rejected`. */
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

/** For user code that has failed where no client is known: one warning for each kind of code, `what`. */
export function warnOnce(what: string, error: unknown, verb: string): void {
  if (warned.has(what)) return
  warned.add(what)
  // The message of the error is not shown, because it may contain secrets, and no client is known here that could redact them.
  const done = `${what} ${verb} ${describeThrown(error)}`.trimEnd()
  warn('user_code', `${done}; the error was ignored, and further ones will be ignored silently`)
}

/** The operator throws if the value is a proxy whose traps throw. */
export function isInstance<T>(thrown: unknown, type: abstract new (...args: never[]) => T): thrown is T {
  try {
    return thrown instanceof type
  } catch {
    return false
  }
}

/** Makes the stack start at the caller of `callee`, a line of the program. */
export function fromCaller(error: unknown, callee: object): unknown {
  const { captureStackTrace } = Error as { captureStackTrace?: (error: object, callee: object) => void }
  // Errors of events are frozen.
  if (error instanceof Error && !Object.isFrozen(error)) captureStackTrace?.(error, callee)
  return error
}
