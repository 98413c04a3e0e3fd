import type { Clock } from './clock.ts'

/** The result of a promise, or a substitute if that takes too long. A later result of the promise is ignored. */
export function limited<Result>(
  promise: Promise<Result>,
  limitMs: number,
  clock: Clock,
  substitute: () => Result | Promise<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(() => resolve(substitute()), limitMs)
    promise.then(resolve, reject).finally(cancel)
  })
}
