import type { Written } from './commit.ts'

/** The state of the stored events, as pages and scripts see it. */
export interface ChangeState {
  head: string
  /** Sequence number of the newest event ever stored. */
  lastSeq: number
  /** Changes when all data are deleted, and differs from that of every earlier file. */
  epoch: number
  /** Grows when stored events change: results of deliveries, and deletions. */
  revision: number
}

export interface ChangeListener {
  /** Events and requests were committed. */
  committed?(events: readonly Written[]): void
  /** Stored events have changed or were deleted. */
  changed?(): void
  /** All data were deleted. */
  cleared?(): void
}

/** Tells the parts of the collector what is new in the store. */
export class Changes {
  readonly #listeners = new Set<ChangeListener>()
  #state: Omit<ChangeState, 'head'>

  constructor(lastSeq: number, epoch: number) {
    this.#state = { lastSeq, epoch, revision: 0 }
  }

  get state(): ChangeState {
    return { head: String(this.#state.lastSeq), ...this.#state }
  }

  /** Returns a function that removes the listener. */
  subscribe(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  committed(events: readonly Written[]): void {
    this.#state.lastSeq += events.length
    for (const listener of this.#listeners) listener.committed?.(events)
  }

  changed(): void {
    this.#state.revision++
    for (const listener of this.#listeners) listener.changed?.()
  }

  cleared(): void {
    this.#state.epoch++
    for (const listener of this.#listeners) listener.cleared?.()
  }
}
