import { type Clock, setDeadline } from './clock.ts'

/** Name of the error when something took too long: that of the web standards. */
export const TIMEOUT = 'TimeoutError'

/** Work that is waited for, within a bound. */
export interface Bounded<Value> {
  /** The result of the work; rejects when it takes too long, or the wait is given up first. */
  readonly result: Promise<Value>
  /** Gives up the wait. */
  cancel(reason: Error): void
}

/**
 * Waits at most `ms` for work that others do. It cannot be stopped; what it comes to later is dropped.
 *
 * @param what What is waited for, for the error.
 */
export function within<Value>(
  work: PromiseLike<Value>,
  ms: number,
  clock: Pick<Clock, 'monotonic' | 'setTimer'>,
  what: string,
): Bounded<Value> {
  let cancel: (reason: Error) => void = () => {}
  const result = new Promise<Value>((resolve, reject) => {
    const onDeadline = (): void =>
      reject(Object.assign(new Error(`${what} took longer than ${ms} ms`), { name: TIMEOUT }))
    const cancelTimer = setDeadline(onDeadline, ms, clock)
    cancel = (reason) => {
      cancelTimer()
      reject(reason)
    }
    work.then((value) => {
      cancelTimer()
      resolve(value)
    }, cancel)
  })
  return { result, cancel }
}
