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

/** A missing kind or reason is ''. */
export interface Total {
  source: string
  kind: string
  reason: Reason | ''
  count: number
}

export interface Totals {
  events: Total[]
  requests: number
  /** Requests with a status of 400 or above. */
  refused: number
}

export interface StoreListener {
  /** This process has committed these events and requests. Called in the turn of the event loop in which `append` resolves. */
  committed(events: readonly EventSummary[], requests: readonly NewRequest[]): void
  /** This process or another one has deleted all data. */
  cleared(): void
  /** Another process has written data, or old events were deleted. Counts that the listener keeps in memory are out of date. */
  changed(): void
}

/** Reads records synchronously from a store inside this process. */
export interface LocalRecords {
  /** Oldest first by default. */
  events(query?: EventQuery): EventRecord[]
  count(filter?: EventFilter): number
}

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
  /** Undefined in a PostgreSQL store, which cannot be read synchronously. */
  readonly local?: LocalRecords
  totals(): Promise<Totals>
  /**
   * Whether an append would succeed now, for each part of the store. Called every few seconds, so this method must be cheap.
   * Never rejects, even after `close`. If the last write failed, this method tries a small write, so that the store becomes
   * ready again without new events.
   */
  health(): Promise<PartHealth[]>
  /** Deletes events, requests, deliveries and known messageIds. Sequence numbers continue. */
  clear(): Promise<void>
  /**
   * Deletes these events and their deliveries, and returns how many of them there were. Their requests stay, and so do their
   * messageIds: a repeat of a deleted event is a duplicate.
   */
  delete(eventIds: readonly string[]): Promise<number>
  /** Starts to watch for writes of other processes, and to delete old data. Called once. */
  start(listener: StoreListener): void
  /**
   * Cuts the connections to a database server that may not respond: running and later calls fail. Events of appends that are
   * still running may or may not be stored.
   */
  cut?(): void
  /** Writes all waiting events and requests first. */
  close(): Promise<void>
}
