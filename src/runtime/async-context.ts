/**
 * The asynchronous context of running code: what `AsyncLocalStorage` keeps apart for each request. Where the runtime
 * has none, functions run as they are and values are not followed.
 */
export interface AsyncContext {
  /** Returns a function that runs code in the asynchronous context of this moment. */
  capture(): <Result>(run: () => Result) => Result
  /** A value that stays with the code that it was set for, past each `await`. `undefined` where there is no such thing. */
  createLocal<Value>(): AsyncLocal<Value> | undefined
}

export interface AsyncLocal<Value> {
  /** Runs code for which {@link get} returns `value`, in all that it starts as well. */
  run<Result>(value: Value, run: () => Result): Result
  get(): Value | undefined
}
