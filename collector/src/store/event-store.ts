import type { PartHealth } from '../part-health.ts'
import type { EventRecord, EventSummary, Reason } from '../record.ts'
import type { EventFilter, EventQuery } from '../search/filter.ts'
import type { EventReader } from './event-reader.ts'
import type {
  AssertionMemory,
  ChangeFeed,
  DeliveryQueue,
  EventLog,
  NewRequest,
  RateLimits,
  RequestLog,
  TokenKeyStore,
} from './ports.ts'

/** How many records there are of each source, kind and reason; absent values are ''. */
export interface Total {
  source: string
  kind: string
  reason: Reason | ''
  count: number
}

/** The size of the stored data. */
export interface Totals {
  events: Total[]
  requests: number
  /** Requests that were refused. */
  refused: number
}

/** Listeners of a store. */
export interface StoreListener {
  /** This process has committed these. Called after `append` has resolved, or in the same turn of the event loop. */
  committed(events: readonly EventSummary[], requests: readonly NewRequest[]): void
  /** This process or another has deleted everything. */
  cleared(): void
  /** Another process has written, or old events were deleted: counts in memory are out of date. */
  changed(): void
}

/** Synchronous reading of records, in a store inside this process. */
export interface LocalRecords {
  /** The records that match, with their messages; by default oldest first. */
  events(query?: EventQuery): EventRecord[]
  count(filter?: EventFilter): number
}

/** A store: the ports to everything that the collector stores. */
export interface EventStore {
  readonly log: EventLog
  readonly requests: RequestLog
  readonly deliveries: DeliveryQueue
  readonly reader: EventReader
  readonly changes: ChangeFeed
  readonly assertions: AssertionMemory
  readonly tokenKeys: TokenKeyStore
  /** Rate limits across all processes; undefined = each process counts for itself. */
  readonly rateLimits?: RateLimits
  /** Undefined for a store on another machine. */
  readonly local?: LocalRecords
  totals(): Promise<Totals>
  /**
   * Health of each part: whether an append would succeed now. Called every few seconds, so it must be cheap. Never rejects,
   * even after `close`. A store that could not write tries again here, so that it becomes ready without new events.
   */
  health(): Promise<PartHealth[]>
  /** Deletes events, requests, deliveries and known messageIds. Sequence numbers continue. */
  clear(): Promise<void>
  /** Starts to follow writes of other processes, and to delete old data. Called once. */
  start(listener: StoreListener): void
  /**
   * Cuts the connections to a store that may not respond: running and later calls fail. Appends that it has not confirmed by
   * then may or may not be stored.
   */
  cut?(): void
  /** Writes everything that is still waiting, and closes. */
  close(): Promise<void>
}
