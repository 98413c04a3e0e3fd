export interface Clock {
  /** The time in milliseconds since the epoch. May jump. */
  now(): number
  /** Milliseconds since an arbitrary time. Never goes back. */
  monotonic(): number
  /** A random number in [0, 1). Only for waits, never for identifiers. */
  random(): number
  /**
   * Runs `run` once after `ms` milliseconds (at most 2^31 - 1). Returns a function that cancels the timer. The timer does not
   * keep the process alive; for that, use {@link Clock.hold}.
   */
  setTimer(run: () => void, ms: number): () => void
  /** Keeps the process alive until the returned function is called. */
  hold(): () => void
}

/** Runtimes run a timer with a longer delay at once. */
export const MAX_TIMER_MS = 2_147_483_647

type Timer = { unref?: () => void }

/** Globals are looked up at each call: tests replace them. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  random: () => Math.random(),
  setTimer(run, ms) {
    const timer = setTimeout(run, Math.min(ms, MAX_TIMER_MS))
    ;(timer as Timer).unref?.()
    return () => clearTimeout(timer)
  },
  hold() {
    const timer = setTimeout(() => {}, MAX_TIMER_MS)
    return () => clearTimeout(timer)
  },
}

/** A timer that is later than this means that the process was stalled. */
const STALL_MS = 1_000

/**
 * Runs `run` once after `ms`, as the time limit of a wait. If the process was blocked or frozen in the meantime, waits one more
 * second: the awaited result may have arrived already, and runtimes run timers before they read from sockets.
 */
export function setDeadline(
  run: () => void,
  ms: number,
  clock: Pick<Clock, 'monotonic' | 'setTimer'>,
): () => void {
  const dueMs = clock.monotonic() + ms
  let cancel = clock.setTimer(() => {
    if (clock.monotonic() - dueMs > STALL_MS) cancel = clock.setTimer(run, STALL_MS)
    else run()
  }, ms)
  return () => cancel()
}

/** Taken now, because tests that fake timers let no time pass. */
const { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout } = globalThis

/** When the event loop has run. Does not keep the process alive. */
export function afterLoop(run: () => void): () => void {
  const timer = setRealTimeout(run, 0)
  ;(timer as Timer).unref?.()
  return () => clearRealTimeout(timer)
}

const settled = Promise.resolve()

/** In a microtask, by a promise: the fake timers of Jest delay `queueMicrotask`. */
export function soon(run: () => void): void {
  void settled.then(run)
}

/**
 * When a timer runs, this clock advances at least to the time for which it was set: tests that fake timers rarely fake the monotonic
 * clock too.
 */
export class SteadyClock implements Clock {
  readonly #clock: Clock
  /** How far this clock is ahead of the underlying one. */
  #aheadMs = 0
  #latestMs = 0

  readonly now: Clock['now']
  readonly random: Clock['random']
  readonly hold: Clock['hold']

  constructor(clock: Clock) {
    this.#clock = clock
    this.now = clock.now.bind(clock)
    this.random = clock.random.bind(clock)
    this.hold = clock.hold.bind(clock)
  }

  monotonic(): number {
    const nowMs = this.#clock.monotonic() + this.#aheadMs
    if (nowMs > this.#latestMs) this.#latestMs = nowMs
    return this.#latestMs
  }

  setTimer(run: () => void, ms: number): () => void {
    const dueMs = this.monotonic() + Math.min(ms, MAX_TIMER_MS)
    return this.#clock.setTimer(() => {
      this.#aheadMs += Math.max(0, dueMs - this.monotonic()) || 0
      run()
    }, ms)
  }
}

/** The name of the error for a timeout, as in web standards. */
export const TIMEOUT = 'TimeoutError'

export interface Bounded<Value> {
  /** Rejects when it takes too long, or when the wait is cancelled. */
  readonly result: Promise<Value>
  cancel(reason: Error): void
}

/** The work itself goes on, but its result is then ignored. `what` names it in the error message. */
export function within<Value>(
  work: PromiseLike<Value>,
  ms: number,
  clock: Pick<Clock, 'monotonic' | 'setTimer'>,
  what: string,
): Bounded<Value> {
  let cancel: (reason: Error) => void = () => {}
  const result = new Promise<Value>((resolve, reject) => {
    // Protects against a thenable whose `then` throws, calls back twice, or resolves to a thenable.
    const settling = Promise.resolve(work)
    const onDeadline = (): void =>
      reject(Object.assign(new Error(`${what} took longer than ${ms} ms`), { name: TIMEOUT }))
    const cancelTimer = setDeadline(onDeadline, ms, clock)
    cancel = (reason) => {
      cancelTimer()
      reject(reason)
    }
    settling.then((value) => {
      cancelTimer()
      resolve(value)
    }, cancel)
  })
  return { result, cancel }
}
