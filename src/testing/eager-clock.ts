import { type Clock, systemClock } from '../runtime/clock.ts'

/** Microtasks within which a request in memory ends and its response has been handled, many times over. */
const MICROTASKS = 64

interface Timer {
  readonly dueMs: number
  readonly run: () => void
  /** Ends the timer of the runtime; unset until there is one. */
  stop: (() => void) | undefined
}

/**
 * The real clock without the waiting: when events wait for time alone to pass, it goes to the next timer at
 * once. Retries and rate limits take microtasks, in the order that they have in real time, whether or not the timers of the
 * runtime are faked.
 */
export class EagerClock implements Clock {
  readonly #timers = new Set<Timer>()
  readonly #isWaiting: () => boolean
  #skippedMs = 0
  #isScheduled = false

  /** @param isWaiting Whether anything waits for time alone to pass. */
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

  /** Nothing that this client waits for comes from outside: a process that has run out of work may end. */
  hold(): () => void {
    return () => {}
  }

  /** Looks, when the microtasks of now are over, whether there is anything to skip. */
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

  /** Not before: most timers are over within their turn, and a test that counts timers should not see them. */
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
