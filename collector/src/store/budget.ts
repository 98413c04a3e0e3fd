import { systemClock } from '../system-clock.ts'

/** The time limit of one query. A query whose time is used up returns the results that it has found so far. */
export class Budget {
  readonly #limitMs: number
  readonly #endMs: number

  constructor(limitMs: number) {
    this.#limitMs = limitMs
    this.#endMs = systemClock.monotonic() + limitMs
  }

  /** A limit for a part of this query, from now on: `ms` if the query has the default limit, else longer or shorter in proportion. */
  part(ms: number): Budget {
    return new Budget((ms * this.#limitMs) / QUERY_MS)
  }

  get isUsedUp(): boolean {
    return systemClock.monotonic() >= this.#endMs
  }
}

/** Default time limit of one query. */
export const QUERY_MS = 150
