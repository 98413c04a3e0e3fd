import { type Clock, MAX_TIMER_MS } from './clock.ts'

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

  now(): number {
    return this.#clock.now()
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
