import { warn } from '../runtime/warn.ts'

/** Kinds of code that were reported already: a callback in a hot loop must not flood the log. */
const warned = new Set<string>()

/**
 * Runs user code (a callback, a listener) so that nothing it does reaches the caller: a throw or a rejection is reported,
 * and goes no further.
 *
 * @param what Names the kind of code. There is one process warning for each.
 * @param report Called with the failure; returns whether anybody has handled it. If so, there is no process warning.
 */
export function guard(run: () => unknown, what: string, report?: (error: unknown) => boolean): void {
  const fail = (error: unknown, verb: string): void => {
    if (report?.(error) !== true) warnOnce(what, verb)
  }
  try {
    const result = run()
    if (isThenable(result)) result.then(undefined, (error) => fail(error, 'rejected'))
  } catch (error) {
    fail(error, 'threw')
  }
}

/** Whether `value` has a `then`. Throws if that is a getter that throws. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}

function warnOnce(what: string, verb: string): void {
  if (warned.has(what)) return
  warned.add(what)
  // The error comes from user code and may hold anything, so it is not shown.
  warn('user_code', `${what} ${verb}; the error was ignored, and further ones will be ignored silently`)
}

/** `instanceof` for values that user code threw. The operator itself throws for a proxy whose traps throw. */
export function isInstance<T>(thrown: unknown, type: abstract new (...args: never[]) => T): thrown is T {
  try {
    return thrown instanceof type
  } catch {
    return false
  }
}

/**
 * Sets the stack of the error to start at the caller of `callee`: the line of the program that has to be changed comes
 * first.
 */
export function fromCaller(error: unknown, callee: object): unknown {
  const { captureStackTrace } = Error as { captureStackTrace?: (error: object, callee: object) => void }
  if (error instanceof Error) captureStackTrace?.(error, callee)
  return error
}

/** The method `at` of lists, which Node.js before 16.6 lacks. Beyond the end, `list[index]` reads `Object.prototype`. */
export function elementAt<Element>(list: readonly Element[], index: number): Element | undefined {
  const place = index < 0 ? list.length + index : index
  return place >= 0 && place < list.length ? list[place] : undefined
}
