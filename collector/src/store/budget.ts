import { systemClock } from '../system-clock.ts'

/** The time limit of one query. A query whose time is used up returns the results that it has found so far. */
export class Budget {
  readonly #endMs: number

  constructor(limitMs: number) {
    this.#endMs = systemClock.monotonic() + limitMs
  }

  get isUsedUp(): boolean {
    return systemClock.monotonic() >= this.#endMs
  }
}

/** Default time limit of one query. */
export const QUERY_MS = 150
