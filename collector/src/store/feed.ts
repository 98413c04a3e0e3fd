import { cursorOf } from './cursor.ts'
import type { StoreListener } from './event-store.ts'
import type { ChangeFeed, FeedState } from './ports.ts'

/** The state of a log without the cursor of its end. */
export type LogNumbers = Omit<FeedState, 'head'>

/** Listeners for writes of other processes, after which counts in memory are out of date. */
export type ForeignChanges = Pick<StoreListener, 'changed' | 'cleared'>

/**
 * The state of a log as this process knows it. Its own commits update the state at once, those of other processes when a
 * follower has read them from the database. Each update notifies the subscribers.
 */
export class Feed implements ChangeFeed {
  readonly #foreign: ForeignChanges
  readonly #subscribers = new Set<(state: FeedState) => void>()
  #numbers: LogNumbers

  constructor(numbers: LogNumbers, foreign: ForeignChanges) {
    this.#numbers = numbers
    this.#foreign = foreign
  }

  /** Reports that other processes have written, with the state read from the database afterwards. */
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
    // A gap in the sequence numbers before this commit: other processes have written those events.
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
