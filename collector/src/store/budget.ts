import { systemClock } from '../clock.ts'

/** The time that one query may use before it returns the results so far. */
export class Budget {
  readonly #endMs: number

  constructor(limitMs: number) {
    this.#endMs = systemClock.monotonic() + limitMs
  }

  get isUsedUp(): boolean {
    return systemClock.monotonic() >= this.#endMs
  }
}

/** Default time of one query, milliseconds. */
export const QUERY_MS = 150
