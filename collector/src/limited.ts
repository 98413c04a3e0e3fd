import type { Clock } from './clock.ts'

/** Resolves with the result of a promise, or with a substitute after `limitMs`. A later result is ignored. */
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
