/**
 * Time and chance. The real clock is made in one place and passed down, so that tests can replace it. Nothing else in a
 * client reads a clock, sets a timer or draws a random number.
 */
export interface Clock {
  /** Milliseconds since the epoch. May jump. */
  now(): number
  /** Milliseconds since an arbitrary moment. Never goes back. */
  monotonic(): number
  /** A number in [0, 1). For jitter only, never for identifiers. */
  random(): number
  /**
   * Runs `run` once after `ms` (at most 2^31 - 1), and returns a function that cancels it. Never keeps the process alive:
   * {@link Clock.hold} does.
   */
  setTimer(run: () => void, ms: number): () => void
  /** Keeps the process alive until the returned function is called. */
  hold(): () => void
}

/** The longest delay of a timer: with a longer one, runtimes fire at once. */
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

/** A deadline that fires this late shows that the process was stalled. */
const STALL_MS = 1_000

/**
 * Bounds a wait: runs `run` once after `ms`, and returns a function that cancels it. If the process was blocked or frozen
 * in the meantime, the wait lasts one second more: the result may have arrived already, and runtimes run timers before they
 * read from sockets.
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
 * Runs `run` in a microtask: after the current code, before timers and sockets. Uses a promise, since the fake timers of
 * Jest hold back the functions given to `queueMicrotask` until the test advances time, and no event would be sent until
 * then.
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
      // Not every runtime has `setImmediate`, and in edge functions of Next.js it throws.
      resolve()
    }
  })
}

/**
 * A clock that agrees with its timers. When a timer fires, this clock moves on to the moment for which the timer was set,
 * whatever the monotonic clock below it says: tests that fake timers rarely fake that clock as well. It never goes back,
 * and if a test has mocked the clock away, it stands still instead of throwing.
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
      if (nowMs > this.#latestMs && Number.isFinite(nowMs)) this.#latestMs = nowMs
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
      // Falls back to the middle.
    }
    return 0.5
  }

  setTimer(run: () => void, ms: number): () => void {
    const dueMs = this.monotonic() + Math.min(ms, MAX_TIMER_MS)
    return this.#clock.setTimer(() => {
      this.#aheadMs += Math.max(0, dueMs - this.monotonic()) || 0
      run()
    }, ms)
  }

  hold(): () => void {
    return this.#clock.hold()
  }
}

/** Name of the error when something took too long: that of the web standards. */
export const TIMEOUT = 'TimeoutError'

/** A wait with a time limit. */
export interface Bounded<Value> {
  /** The result of the work. Rejects when it takes too long, or when the wait is cancelled. */
  readonly result: Promise<Value>
  /** Ends the wait. */
  cancel(reason: Error): void
}

/**
 * Waits at most `ms` for a promise. The work itself cannot be stopped; a later result is ignored.
 *
 * @param what Names the work in the error.
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
