import type { EventRecord, EventSummary, Reason } from '../record.ts'
import type { EventFilter, EventQuery } from '../search/filter.ts'
import type { PartHealth } from './part-health.ts'
import type {
  AssertionMemory,
  DeliveryQueue,
  EventLog,
  EventTail,
  NewRequest,
  RateLimits,
  RequestLog,
  TokenKeyStore,
} from './ports.ts'
import type { EventReader } from './queries.ts'

/** How many records there are of each source, kind and reason; absent values are ''. */
export interface Total {
  source: string
  kind: string
  reason: Reason | ''
  count: number
}

/** The size of what is kept. */
export interface Totals {
  events: Total[]
  requests: number
  /** Requests that were refused. */
  refused: number
}

/** Told of what happens in a store. */
export interface StoreListener {
  /** This process has written; called after `append` has resolved, or in the same turn. */
  committed(events: readonly EventSummary[], requests: readonly NewRequest[]): void
  /** Everything was forgotten, by this process or another. */
  cleared(): void
  /** Others have written, or old events were deleted: counts that are kept in memory cannot be relied on. */
  changed(): void
}

/** Records where they can be had at once: in a store of this process. */
export interface LocalRecords {
  /** Records that match, message included, oldest first unless asked otherwise. */
  events(query?: EventQuery): EventRecord[]
  count(filter?: EventFilter): number
}

/** A store by its ports: everything that the collector keeps. */
export interface EventStore {
  readonly log: EventLog
  readonly requests: RequestLog
  readonly deliveries: DeliveryQueue
  readonly reader: EventReader
  readonly tail: EventTail
  readonly assertions: AssertionMemory
  readonly tokenKeys: TokenKeyStore
  /** The rates of all processes together; undefined = each process counts for itself. */
  readonly rateLimits?: RateLimits
  /** Undefined for a store that lies elsewhere. */
  readonly local?: LocalRecords
  totals(): Promise<Totals>
  /**
   * Whether what is appended now would be kept, part by part. Never rejects, also after `close`, and costs next to nothing:
   * it is asked every few seconds. A store that could not write tries it again here, so that one which gets no events
   * meanwhile becomes ready by itself.
   */
  health(): Promise<PartHealth[]>
  /** Forgets events, requests, deliveries and the memory of messageIds. Numbers go on counting. */
  clear(): Promise<void>
  /** Begins to look for what others write, and to delete what is too old. Called once. */
  start(listener: StoreListener): void
  /**
   * Waits for nothing any more: what is under way fails, what is asked later as well. For a store that may be silent; what it had not
   * confirmed by then is not known to be kept.
   */
  cut?(): void
  /** Keeps what still waits, and lets go of everything. */
  close(): Promise<void>
}
