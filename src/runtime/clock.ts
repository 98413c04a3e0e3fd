/**
 * Time and chance: the two clocks, timers, holds and jitter. The one real clock is made at the top and handed
 * down, so that tests can stop time. Nothing else reads a clock, sets a timer or draws a random number.
 */
export interface Clock {
  /** Milliseconds since the epoch. May jump. */
  now(): number
  /** Milliseconds since an arbitrary moment. Never goes back. */
  monotonic(): number
  /** A number in [0, 1). For jitter only, never for identifiers. */
  random(): number
  /**
   * Runs once after `ms` (at most 2^31 - 1); returns cancel. Never keeps the process alive: what waits for
   * an outcome holds it with {@link Host.hold}.
   */
  setTimer(run: () => void, ms: number): () => void
  /** Keeps the process alive until the returned function is called. */
  hold(): () => void
}

/** The longest delay that a timer takes: beyond it, runtimes fire at once. */
export const MAX_TIMER_MS = 2_147_483_647

type Timer = { unref?: () => void }

/** The real clock. Globals are looked up at each call, so that patched clocks and timers are respected. */
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

/** A deadline that comes this late was held up by a stalled process, not by what it bounds. */
const STALL_MS = 1_000

/**
 * Bounds a wait: runs once after `ms`; returns cancel. Where the process was blocked or frozen meanwhile, what is waited for
 * has a second more, once: it may be there already, and runtimes run timers before they read what has come.
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

const settled = Promise.resolve()

/**
 * Runs when the code of now is over, before timers and sockets have their turn. By a promise: the fake timers of Jest keep
 * what `queueMicrotask` is given until the test lets time go by, and no event would leave until then.
 */
export function soon(run: () => void): void {
  void settled.then(run)
}

/**
 * Resolves in the next turn of the event loop. Node.js, below its `fetch`, considers a connection busy until the turn
 * after the end of the body, or after an abort: a request sent before that opens one connection too many.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    try {
      setImmediate(resolve)
    } catch {
      // Not every runtime has it, and in edge functions of Next.js it throws.
      resolve()
    }
  })
}

/**
 * A clock to wait by. A timer that has fired moves it on to the moment that the timer was set for, whatever the
 * monotonic clock below it says: tests that drive timers rarely drive that clock as well. It never goes back, and a clock
 * that tests have mocked away makes it stand still instead of throwing.
 */
export class SteadyClock implements Clock {
  readonly #clock: Clock
  /** How far fired timers have moved this clock ahead of the one below. */
  #aheadMs = 0
  #latestMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** NaN when the clock cannot be read. */
  now(): number {
    try {
      return this.#clock.now()
    } catch {
      return Number.NaN
    }
  }

  monotonic(): number {
    try {
      const nowMs = this.#clock.monotonic() + this.#aheadMs
      if (nowMs > this.#latestMs) this.#latestMs = nowMs
    } catch {
      // Stands still.
    }
    return this.#latestMs
  }

  random(): number {
    try {
      const random = this.#clock.random()
      if (random >= 0 && random < 1) return random
    } catch {
      // The middle will do.
    }
    return 0.5
  }

  setTimer(run: () => void, ms: number): () => void {
    const dueMs = this.monotonic() + Math.min(ms, MAX_TIMER_MS)
    return this.#clock.setTimer(() => {
      this.#aheadMs += Math.max(0, dueMs - this.monotonic())
      run()
    }, ms)
  }

  hold(): () => void {
    return this.#clock.hold()
  }
}

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
