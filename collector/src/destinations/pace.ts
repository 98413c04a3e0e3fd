import type { AttemptResult } from './sender.ts'

/** After this many failures in a row, of at least two deliveries, the cause is the destination and not an event. */
const FAILURES_BEFORE_PAUSE = 8

/**
 * How many requests a webhook gets at a time. While it is paused, it gets one request at a time as a probe, each with another
 * delivery. After a pause, it gets one request at a time, then twice as many after each success.
 */
export class Pace {
  readonly #concurrency: number
  #limit: number
  #failures = 0
  /** The first of the deliveries that have failed in a row. */
  #first: string | undefined
  #areSeveral = false
  /** Failures since the pause began, with the one that began it; 0 = there is no pause. */
  #probes = 0

  constructor(concurrency: number) {
    this.#concurrency = concurrency
    this.#limit = concurrency
  }

  get isPaused(): boolean {
    return this.#probes > 0
  }

  get probes(): number {
    return this.#probes
  }

  get limit(): number {
    return this.isPaused ? 1 : this.#limit
  }

  saw({ result }: AttemptResult, eventId: string): void {
    if (result === 'retry') {
      this.#failures++
      this.#first ??= eventId
      if (this.#first !== eventId) this.#areSeveral = true
      if (this.isPaused || (this.#failures >= FAILURES_BEFORE_PAUSE && this.#areSeveral)) this.#probes++
      return
    }
    // A webhook that refuses an event has responded, so it is available.
    this.#limit = this.isPaused ? 1 : Math.min(this.#concurrency, this.#limit * 2)
    this.#probes = 0
    this.#failures = 0
    this.#first = undefined
    this.#areSeveral = false
  }
}
