import { systemClock } from '../clock.ts'

/** How long one query may go on before it gives back what it has. */
export class Budget {
  readonly #endMs: number

  constructor(limitMs: number) {
    this.#endMs = systemClock.monotonic() + limitMs
  }

  get isUsedUp(): boolean {
    return systemClock.monotonic() >= this.#endMs
  }
}

/** So long may one query look before it gives back what it has. */
export const QUERY_MS = 150
