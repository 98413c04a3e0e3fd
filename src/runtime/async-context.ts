/**
 * Keeps hold of the asynchronous context in which it is made: what `AsyncLocalStorage` keeps apart for each request. Each
 * event with a callback has one: no closure around what the runtime keeps, which would double it.
 */
export interface CapturedContext {
  /** Runs code in the asynchronous context of the moment of capture. Where the runtime has none, just runs it. */
  runInAsyncScope<Result>(run: () => Result): Result
}

/** The `AsyncResource` of `node:async_hooks`, or what does the same elsewhere. The type is a name for debuggers. */
export type AsyncResourceClass = new (type: string) => CapturedContext

/** A value that stays with the code that it was set for, past each `await`. */
export interface AsyncLocal<Value> {
  /** Runs code for which {@link get} returns `value`, in all that it starts as well. */
  run<Result>(value: Value, run: () => Result): Result
  get(): Value | undefined
}

/** Makes such a value; `undefined` where the runtime has no asynchronous context. */
export type CreateAsyncLocal = <Value>() => AsyncLocal<Value> | undefined
