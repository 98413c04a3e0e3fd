/** Time, timers and random numbers of a client, as a parameter that tests can replace. */
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

/** Globals are looked up at each call, so that replaced clocks and timers are used. */
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

/** If a timer is late by more than this, the process was stalled. */
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

/** Runs `run` when the event loop has run. Returns a function that cancels it. Does not keep the process alive. */
export function afterLoop(run: () => void): () => void {
  const timer = setRealTimeout(run, 0)
  ;(timer as Timer).unref?.()
  return () => clearRealTimeout(timer)
}

const settled = Promise.resolve()

/**
 * Runs `run` in a microtask. Uses a promise and not `queueMicrotask`, because the fake timers of Jest delay `queueMicrotask`
 * until the test advances the time, and no event would be sent until then.
 */
export function soon(run: () => void): void {
  void settled.then(run)
}

/**
 * A clock that agrees with its timers. When a timer runs, this clock advances at least to the time for which the timer was set,
 * because tests that fake timers rarely fake the monotonic clock too. It never goes back.
 */
export class SteadyClock implements Clock {
  readonly #clock: Clock
  /** How far timers have moved this clock ahead of the underlying clock. */
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
  /** The result of the work. Rejects when it takes too long, or when the wait is cancelled. */
  readonly result: Promise<Value>
  cancel(reason: Error): void
}

/**
 * Waits at most `ms` for a promise. The work itself goes on, but its result is then ignored.
 *
 * @param what Names the work in the error message.
 */
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
