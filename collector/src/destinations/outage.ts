import type { Clock } from '../clock.ts'
import type { Listeners } from '../listeners.ts'
import type { AttemptResult } from './sender.ts'

/** An outage is reported when all attempts have failed for this long. A single failure is not an outage. */
const OUTAGE_MS = 2000

export interface OutageParts extends Listeners {
  clock: Clock
}

/** Reports once when a destination is unavailable, and once when it works again. */
export class Outage {
  readonly #name: string
  readonly #parts: OutageParts
  /** When the attempts began to fail, by the monotonic clock; undefined if the last attempt did not fail. */
  #sinceMs: number | undefined
  /** The fault that was reported and has not ended. */
  #reported: string | undefined

  constructor(name: string, parts: OutageParts) {
    this.#name = name
    this.#parts = parts
  }

  saw(attempt: AttemptResult): void {
    const { clock, onRecovery } = this.#parts
    if (attempt.result === 'retry') {
      this.#sinceMs ??= clock.monotonic()
      const isLong = clock.monotonic() - this.#sinceMs >= OUTAGE_MS
      const isNews = isLong && this.#reported === undefined
      if (isNews) this.report(`destination ${this.#name} is unavailable`, new Error(attempt.reason))
      return
    }
    // A destination that refuses an event has responded, so it is available.
    this.#sinceMs = undefined
    if (this.#reported === undefined) return
    onRecovery(`destination ${this.#name} is back`, this.#reported)
    this.#reported = undefined
  }

  /** Reports a fault. The next attempt that does not fail ends it. */
  report(fault: string, cause: unknown): void {
    this.#reported = fault
    this.#parts.onFault(fault, cause)
  }
}
