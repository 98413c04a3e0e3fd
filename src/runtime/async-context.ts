/**
 * The asynchronous context of running code: what `AsyncLocalStorage` keeps apart for each request. Where the runtime
 * has none, functions run as they are and values are not followed.
 */
export interface AsyncContext {
  /** Keeps hold of the asynchronous context of this moment. */
  capture(): CapturedContext
  /** A value that stays with the code that it was set for, past each `await`. `undefined` where there is no such thing. */
  createLocal<Value>(): AsyncLocal<Value> | undefined
}

/** Each event with a callback has one: no closure around what the runtime keeps, which would double it. */
export interface CapturedContext {
  /** Runs code in the asynchronous context of the moment of capture. */
  runInAsyncScope<Result>(run: () => Result): Result
}

export interface AsyncLocal<Value> {
  /** Runs code for which {@link get} returns `value`, in all that it starts as well. */
  run<Result>(value: Value, run: () => Result): Result
  get(): Value | undefined
}
