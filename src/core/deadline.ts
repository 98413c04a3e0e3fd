interface Mark {
  upTo: number
  readonly sinceMs: number
}

/**
 * Limits how long events wait for the end of an outage or a rate limit. The wait of an event begins with the first failed
 * request after the event was ready to be sent.
 */
export class Deadline {
  readonly #durationMs: number
  /** One mark for each group of waiting events: events up to the place `upTo` in the line have waited since `sinceMs`. */
  readonly #marks: Mark[] = []
  /** Events up to this place in the line have waited too long. */
  #expiredUpTo = 0

  constructor(durationMs: number) {
    this.#durationMs = durationMs
  }

  /** Begins the wait of each event up to the place `upTo`, unless the event already waits. */
  begin(upTo: number, nowMs: number): void {
    const last = this.#marks[this.#marks.length - 1]
    if (upTo <= (last?.upTo ?? this.#expiredUpTo)) return
    // Waits that begin within a thousandth of the limit share a mark, which limits the number of marks.
    if (last !== undefined && nowMs - last.sinceMs < this.#durationMs / 1_000) last.upTo = upTo
    else this.#marks.push({ upTo, sinceMs: nowMs })
  }

  end(): void {
    this.#marks.length = 0
    this.#expiredUpTo = 0
  }

  /** The time at which the next events have waited too long; `Infinity` if no event waits. */
  get nextMs(): number {
    return (this.#marks[0]?.sinceMs ?? Number.POSITIVE_INFINITY) + this.#durationMs
  }

  /**
   * The place in the line up to which events have waited too long; 0 for none. Also applies to events that are in flight now
   * and come back later.
   */
  expiredUpTo(nowMs: number): number {
    while (this.nextMs <= nowMs) this.#expiredUpTo = (this.#marks.shift() as Mark).upTo
    return this.#expiredUpTo
  }
}
