import type { Clock } from '../runtime/clock.ts'

/** A smaller difference between the clocks may come from a slow network, and is no reason for another attempt. */
const TOLERANCE_MS = 5_000
/** A `Date` header outside of these years is a mistake of the server. */
const EARLIEST_MS = Date.UTC(2000, 0)
const LATEST_MS = Date.UTC(2100, 0)

/**
 * The token server's time: the local time, until the server refuses an assertion and its `Date` header shows another time. A
 * correction is kept only if the server accepts the next assertion.
 */
export class ServerClock {
  readonly #clock: Pick<Clock, 'now'>
  #offsetMs = 0
  /** The offset before the last correction; `undefined` once the server has accepted the correction. */
  #formerMs: number | undefined

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** Creates a clock that starts with the same time and is corrected independently. */
  fork(): ServerClock {
    const fork = new ServerClock(this.#clock)
    fork.#offsetMs = this.#offsetMs
    return fork
  }

  /** Milliseconds since the epoch. */
  nowMs(): number {
    return this.#clock.now() + this.#offsetMs
  }

  /**
   * Corrects the clock by the `Date` header of a refusal, or reverts the last correction if the server refused the assertion
   * again.
   *
   * @param dateMs The `Date` header; `undefined` when it is missing or malformed.
   * @param isBlamed Whether the refusal says that the assertion has expired or is not valid yet.
   * @returns Whether the server may accept a new assertion with the corrected time. Never `true` twice in a row.
   */
  correct(dateMs: number | undefined, isBlamed: boolean): boolean {
    if (this.#formerMs !== undefined) {
      this.#offsetMs = this.#formerMs
      this.#formerMs = undefined
      return false
    }
    if (dateMs === undefined || !(dateMs >= EARLIEST_MS && dateMs < LATEST_MS)) return false
    const nowMs = this.nowMs()
    if (!isBlamed && Math.abs(dateMs - nowMs) < TOLERANCE_MS) return false
    this.#formerMs = this.#offsetMs
    this.#offsetMs = dateMs - this.#clock.now()
    return true
  }

  /** The server accepted an assertion. */
  confirm(): void {
    this.#formerMs = undefined
  }
}
