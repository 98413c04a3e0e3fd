import { type Clock, soon } from '../runtime/clock.ts'

/** A timer watches for the end of the turn from this many microtasks on; fewer cost no timer. */
const WATCHED_FROM = 256
/** Events tracked from more microtasks than this wait until timers and sockets have had their turn. */
const MAX_MICROTASKS = 1_024

/**
 * Keeps events that are tracked from microtask after microtask from standing in the way of timers and sockets, which
 * run only when no microtask is left. A plugin that tracks for each event would go on like that for ever.
 */
export class Turns {
  readonly #clock: Clock
  /** Called when a turn that was too long is over. */
  readonly #onNext: () => void
  /** Microtasks of this turn from which events were tracked. */
  #microtasks = 0
  #isCounted = false
  #cancelWatch: (() => void) | undefined
  readonly #endMicrotask = (): void => {
    this.#isCounted = false
  }

  constructor(clock: Clock, onNext: () => void) {
    this.#clock = clock
    this.#onNext = onNext
  }

  /** Whether this turn has taken too long for one more event. */
  isOver(): boolean {
    if (!this.#isCounted) {
      this.#isCounted = true
      soon(this.#endMicrotask)
      this.#microtasks++
      if (this.#microtasks >= WATCHED_FROM && this.#cancelWatch === undefined) this.#watch()
    }
    return this.#microtasks > MAX_MICROTASKS
  }

  /** Leaves no timer behind. */
  stop(): void {
    this.#cancelWatch?.()
    this.#cancelWatch = undefined
    this.#microtasks = 0
  }

  #watch(): void {
    this.#cancelWatch = this.#clock.setTimer(() => {
      const wasOver = this.#microtasks > MAX_MICROTASKS
      this.#cancelWatch = undefined
      this.#microtasks = 0
      if (wasOver) this.#onNext()
    }, 0)
  }
}
