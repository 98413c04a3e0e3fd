import { cursorOf } from './cursor.ts'
import type { StoreListener } from './event-store.ts'
import type { ChangeFeed, FeedState } from './ports.ts'

export type LogNumbers = Omit<FeedState, 'head'>

/** Called after writes of other processes, because counts in memory are then out of date. */
export type ForeignChanges = Pick<StoreListener, 'changed' | 'cleared'>

/**
 * The `FeedState` as this process knows it. Commits of this process update the state at once. For commits of other processes, a
 * `Follower` reads the new state from the database.
 */
export class Feed implements ChangeFeed {
  readonly #foreign: ForeignChanges
  readonly #subscribers = new Set<(state: FeedState) => void>()
  #numbers: LogNumbers

  constructor(numbers: LogNumbers, foreign: ForeignChanges) {
    this.#numbers = numbers
    this.#foreign = foreign
  }

  /** Reports that other processes have written. `numbers` were read from the database afterwards. */
  changedElsewhere(numbers: LogNumbers): void {
    const { lastSeq, epoch } = this.#numbers
    // If this process has committed during the read, the numbers that were read may be older than the known ones.
    this.#numbers = { ...numbers, lastSeq: Math.max(numbers.lastSeq, lastSeq) }
    if (numbers.epoch !== epoch) this.#foreign.cleared()
    this.#foreign.changed()
    this.#notify()
  }

  committed(firstSeq: number, events: number): void {
    const { lastSeq } = this.#numbers
    this.#numbers = { ...this.#numbers, lastSeq: Math.max(lastSeq, firstSeq + events - 1) }
    // Events between the last known one and this commit were written by other processes.
    if (firstSeq > lastSeq + 1) this.#foreign.changed()
    this.#notify()
  }

  /** Called when this process has deleted everything, or has stored results of deliveries. */
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
