const BURST_MS = 100

/** Limits the lines to `rate` per second, in bursts of a tenth of a second. */
export class Pace {
  readonly #rate: number
  /** When the next line is due. */
  #dueMs = performance.now() - BURST_MS

  constructor(rate: number) {
    this.#rate = rate
  }

  /** Returns how many milliseconds to wait before the line is sent. */
  take(): number {
    const nowMs = performance.now()
    const waitMs = Math.max(0, this.#dueMs - nowMs)
    this.#dueMs = Math.max(this.#dueMs, nowMs - BURST_MS) + 1_000 / this.#rate
    return waitMs
  }
}
