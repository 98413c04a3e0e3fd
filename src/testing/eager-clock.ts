import { type Clock, systemClock } from '../runtime/clock.ts'

/** Number of microtasks to wait: many more than a request in memory and the handling of its response take. */
const MICROTASKS = 64

interface Timer {
  readonly dueMs: number
  readonly run: () => void
  readonly stop: () => void
}

/** A clock that skips to the next timer when events only wait for time to pass, so that retries and rate limits need no time. */
export class EagerClock implements Clock {
  readonly #timers = new Set<Timer>()
  /** Whether events only wait for time to pass. */
  readonly #isWaiting: () => boolean
  #skippedMs = 0
  #isScheduled = false

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
    const stop = systemClock.setTimer(() => this.#fire(timer), ms)
    const timer: Timer = { dueMs: this.monotonic() + ms, run, stop }
    this.#timers.add(timer)
    this.#lookLater()
    return () => this.#end(timer)
  }

  /** A test client waits for nothing outside the process. */
  hold(): () => void {
    return () => {}
  }

  #lookLater(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    void this.#look()
  }

  async #look(): Promise<void> {
    for (let turn = 0; turn < MICROTASKS; turn++) await undefined
    this.#isScheduled = false
    const [next] = [...this.#timers].sort((one, other) => one.dueMs - other.dueMs)
    if (next === undefined || !this.#isWaiting()) return
    this.#skippedMs += Math.max(0, next.dueMs - this.monotonic())
    this.#fire(next)
    this.#lookLater()
  }

  #fire(timer: Timer): void {
    this.#end(timer)
    timer.run()
  }

  #end(timer: Timer): void {
    this.#timers.delete(timer)
    timer.stop()
  }
}
