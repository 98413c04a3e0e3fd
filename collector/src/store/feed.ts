import { cursorOf } from './cursor.ts'
import type { StoreListener } from './event-store.ts'
import type { ChangeFeed, FeedState } from './ports.ts'

/** The newest numbers of a log. */
export type LogNumbers = Omit<FeedState, 'head'>

/** Who hears of writes of other processes: after these, counts in memory are out of date. */
export type ForeignChanges = Pick<StoreListener, 'changed' | 'cleared'>

/**
 * The state of a log as this process knows it: from its own commits, which its subscribers hear of at once, and from what it reads
 * in the database from time to time.
 */
export class Feed implements ChangeFeed {
  readonly #foreign: ForeignChanges
  readonly #subscribers = new Set<(state: FeedState) => void>()
  #numbers: LogNumbers

  constructor(numbers: LogNumbers, foreign: ForeignChanges) {
    this.#numbers = numbers
    this.#foreign = foreign
  }

  /** Reports that other processes have written, and the numbers that were read after it. */
  changedElsewhere(numbers: LogNumbers): void {
    const { lastSeq, epoch } = this.#numbers
    // A query that was running while this process committed may return older numbers.
    this.#numbers = { ...numbers, lastSeq: Math.max(numbers.lastSeq, lastSeq) }
    if (numbers.epoch !== epoch) this.#foreign.cleared()
    this.#foreign.changed()
    this.#notify()
  }

  /** Reports a commit of this process. */
  committed(firstSeq: number, events: number): void {
    const { lastSeq } = this.#numbers
    this.#numbers = { ...this.#numbers, lastSeq: Math.max(lastSeq, firstSeq + events - 1) }
    // If numbers are missing before this commit, other processes have written them.
    if (firstSeq > lastSeq + 1) this.#foreign.changed()
    this.#notify()
  }

  /** Reports a change by this process: that it has deleted everything, or stored results of deliveries. */
  changed(numbers: Partial<LogNumbers>): void {
    this.#numbers = { ...this.#numbers, ...numbers }
    this.#notify()
  }

  subscribe(onChange: (state: FeedState) => void): () => void {
    this.#subscribers.add(onChange)
    return () => this.#subscribers.delete(onChange)
  }

  state(): FeedState {
    return { head: cursorOf(this.#numbers.lastSeq), ...this.#numbers }
  }

  #notify(): void {
    const state = this.state()
    for (const onChange of this.#subscribers) onChange(state)
  }

  close(): void {
    this.#subscribers.clear()
  }
}
