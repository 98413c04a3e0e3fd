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

/** Told what is new in the store. */
export interface ChangeListener {
  /** Events and requests were committed. */
  committed(events: readonly Written[]): void
  /** Stored events have changed or were deleted. */
  changed(): void
  /** All data were deleted. */
  cleared(): void
}

export class Changes {
  listener: ChangeListener | undefined
  #state: Omit<ChangeState, 'head'>

  constructor(lastSeq: number, epoch: number) {
    this.#state = { lastSeq, epoch, revision: 0 }
  }

  get state(): ChangeState {
    return { head: String(this.#state.lastSeq), ...this.#state }
  }

  committed(events: readonly Written[]): void {
    this.#state.lastSeq += events.length
    this.listener?.committed(events)
  }

  changed(): void {
    this.#state.revision++
    this.listener?.changed()
  }

  cleared(): void {
    this.#state.epoch++
    this.listener?.cleared()
  }
}
