import type { Clock } from '../runtime/clock.ts'

/** A smaller difference may be due to a slow network, and is no reason for another attempt. */
const TOLERANCE_MS = 5_000
/** A `Date` outside of these years is a server's mistake, whatever the local clock says. */
const EARLIEST_MS = Date.UTC(2000, 0)
const LATEST_MS = Date.UTC(2100, 0)

/**
 * The token server's time. It is the local time, until the server refuses an assertion and its `Date` shows that the local
 * clock is wrong. A correction is kept only if the server then accepts an assertion made with it.
 */
export class ServerClock {
  readonly #clock: Pick<Clock, 'now'>
  #offsetMs = 0
  /** The offset before a correction that the server has not accepted yet. */
  #formerMs: number | undefined

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** A clock with the same time, which is corrected independently. */
  fork(): ServerClock {
    const fork = new ServerClock(this.#clock)
    fork.#offsetMs = this.#offsetMs
    return fork
  }

  /** Milliseconds since the epoch. Finite, whatever the host's clock shows. */
  nowMs(): number {
    const nowMs = this.#clock.now() + this.#offsetMs
    return Number.isFinite(nowMs) ? nowMs : 0
  }

  /**
   * Corrects the clock by the `Date` of a refusal, or takes back a correction that did not help.
   *
   * @param dateMs `undefined` when there was none, or none that could be read.
   * @param isBlamed The refusal says that the assertion has expired or is not valid yet.
   * @returns Whether another assertion, made at once, may be accepted; never `true` twice in a row.
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
    const localMs = this.#clock.now()
    this.#offsetMs = Number.isFinite(localMs) ? dateMs - localMs : 0
    return true
  }

  /** The server accepted an assertion, so the time in it was right. */
  confirm(): void {
    this.#formerMs = undefined
  }
}
