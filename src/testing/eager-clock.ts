import { type Clock, systemClock } from '../runtime/clock.ts'

/** Number of microtasks to wait: many more than a request in memory and the handling of its response take. */
const MICROTASKS = 64

interface Timer {
  readonly dueMs: number
  readonly run: () => void
  /** Clears the timer of the runtime; `undefined` until there is one. */
  stop: (() => void) | undefined
}

/**
 * A clock without waiting: when events only wait for time to pass, the clock skips to the next timer. So retries and rate
 * limits need no time, with real and with fake timers, and happen in the same order as in production.
 */
export class EagerClock implements Clock {
  readonly #timers = new Set<Timer>()
  readonly #isWaiting: () => boolean
  #skippedMs = 0
  #isScheduled = false

  /** @param isWaiting Returns whether events only wait for time to pass. */
  constructor(isWaiting: () => boolean) {
    this.#isWaiting = isWaiting
  }

  now(): number {
    return systemClock.now()
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#skippedMs
  }

  random(): number {
    return systemClock.random()
  }

  setTimer(run: () => void, ms: number): () => void {
    const timer: Timer = { dueMs: this.monotonic() + ms, run, stop: undefined }
    this.#timers.add(timer)
    this.#lookLater()
    return () => this.#end(timer)
  }

  /** Does nothing: the process need not be kept alive, because a test client does not wait for anything outside the process. */
  hold(): () => void {
    return () => {}
  }

  /** Checks after the current microtasks whether there is time to skip. */
  #lookLater(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    void this.#look()
  }

  async #look(): Promise<void> {
    for (let turn = 0; turn < MICROTASKS; turn++) await undefined
    this.#isScheduled = false
    if (this.#isWaiting()) this.#skip()
    else this.#setReal()
  }

  #skip(): void {
    const [next] = [...this.#timers].sort((one, other) => one.dueMs - other.dueMs)
    if (next === undefined) return
    this.#skippedMs += Math.max(0, next.dueMs - this.monotonic())
    this.#fire(next)
    this.#lookLater()
  }

  /**
   * Sets timers of the runtime late: most timers are cleared within their turn, and a test that counts timers should not see
   * such timers.
   */
  #setReal(): void {
    for (const timer of this.#timers) {
      timer.stop ??= systemClock.setTimer(
        () => this.#fire(timer),
        Math.max(0, timer.dueMs - this.monotonic()),
      )
    }
  }

  #fire(timer: Timer): void {
    this.#end(timer)
    timer.run()
  }

  #end(timer: Timer): void {
    this.#timers.delete(timer)
    timer.stop?.()
  }
}
