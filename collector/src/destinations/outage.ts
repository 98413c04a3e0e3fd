import type { Clock } from '../clock.ts'
import type { Listeners } from '../listeners.ts'
import type { AttemptResult } from './webhook.ts'

/** Told of after so long in which nothing was taken: one that refuses now and then is not away. */
const OUTAGE_MS = 2000

/** Listeners of an outage. */
export interface OutageParts extends Listeners {
  clock: Clock
}

/** Tells once when a destination takes nothing any more, and once when it does again. */
export class Outage {
  readonly #name: string
  readonly #parts: OutageParts
  /** When the attempts began to fail, by the monotonic clock; undefined = the last one did not. */
  #sinceMs: number | undefined
  /** The fault that was told and is not over. */
  #told: string | undefined

  constructor(name: string, parts: OutageParts) {
    this.#name = name
    this.#parts = parts
  }

  /** Takes note of what came of an attempt. */
  saw(attempt: AttemptResult): void {
    const { clock, onRecovery } = this.#parts
    if (attempt.result === 'retry') {
      this.#sinceMs ??= clock.monotonic()
      const isLong = clock.monotonic() - this.#sinceMs >= OUTAGE_MS
      const isNews = isLong && this.#told === undefined
      if (isNews) this.tell(`destination ${this.#name} is away`, new Error(attempt.reason))
      return
    }
    // Whatever it said of the event: it responds.
    this.#sinceMs = undefined
    if (this.#told === undefined) return
    onRecovery(`destination ${this.#name} is back`, this.#told)
    this.#told = undefined
  }

  /** Tells of a fault that is over with the next attempt that does not fail. */
  tell(fault: string, cause: unknown): void {
    this.#told = fault
    this.#parts.onFault(fault, cause)
  }
}
