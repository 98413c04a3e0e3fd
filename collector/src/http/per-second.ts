import type { Clock } from '../clock.ts'

const SECOND_MS = 1000

/** Counts against a limit that starts again each second. */
export class PerSecond {
  readonly #limit: number
  readonly #clock: Pick<Clock, 'monotonic'>
  #windowStartMs = Number.NEGATIVE_INFINITY
  #used = 0

  constructor(limit: number, clock: Pick<Clock, 'monotonic'>) {
    this.#limit = limit
    this.#clock = clock
  }

  /** Returns false when the limit of this second is reached. A cost above the limit fits into an unused second. */
  take(cost = 1): boolean {
    const nowMs = this.#clock.monotonic()
    if (nowMs - this.#windowStartMs >= SECOND_MS) {
      this.#windowStartMs = nowMs
      this.#used = 0
    }
    if (this.#used > 0 && this.#used + cost > this.#limit) return false
    this.#used += cost
    return true
  }
}
