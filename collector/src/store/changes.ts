import type { Written } from './commit.ts'

/** The state of the stored events, as pages and scripts see it. */
export interface ChangeState {
  /** Sequence number of the newest event ever stored. */
  head: string
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
  readonly state: ChangeState

  constructor(lastSeq: number, epoch: number) {
    this.state = { head: String(lastSeq), epoch, revision: 0 }
  }

  committed(events: readonly Written[]): void {
    this.state.head = String(events.at(-1)?.seq ?? this.state.head)
    this.listener?.committed(events)
  }

  changed(): void {
    this.state.revision++
    this.listener?.changed()
  }

  cleared(): void {
    this.state.epoch++
    this.listener?.cleared()
  }
}
