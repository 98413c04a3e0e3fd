import { hasName } from '../error-name.ts'
import type {
  DestinationOutcome,
  EventSummary,
  EventTexts,
  Kind,
  Reason,
  Violation,
  Warning,
} from '../record.ts'

/**
 * The ports (interfaces) of the store, which `EventStore` combines. Code outside the folders `sqlite` and `postgres` does not
 * depend on how a store is implemented.
 *
 * Every method that may need a database on another machine is asynchronous.
 */

/** The position at which a list of events or requests continues. Opaque: only the store that issued the cursor can read it. */
export type Cursor = string

/** Whether an event will be sent to one destination, decided before the event is stored. */
export interface PlannedDelivery {
  destination: string
  /** Undefined = the event is sent. */
  skippedBecause?: string
}

/** Differences between the stored message and the message that the client sent. Paths are dotted: `context.ip`. */
export interface SentDifference {
  added: readonly string[]
  /** The values that the client sent at paths that were changed. */
  changed: Readonly<Record<string, unknown>>
  /** Paths that were removed, mainly credentials; their values are not stored. */
  removed: readonly string[]
}

export interface NewEvent extends EventTexts {
  source: string
  /** Why the event is rejected. Null = it is accepted, unless the store finds that its messageId is known. */
  reason: Reason | null
  kind: Kind | 'batch' | null
  receivedAtMs: number
  /** `receivedAtMs` in ISO 8601. */
  receivedAt: string
  timestampMs: number
  /** JSON text of the message as it is stored, without inherited fields. */
  body: string | null
  /** JSON text of `InheritedFields`: the same text for a whole batch, stored once. */
  inherited?: string
  deliveries: readonly PlannedDelivery[]
  /** From `RequestLog.nextId`. */
  requestId?: string
  /** Undefined when the message that the client sent is not known. */
  sent?: SentDifference
  violations?: readonly Violation[]
  warnings?: readonly Warning[]
}

/** A mistake in the body of a refused request. */
export interface RequestProblem {
  code: string
  message: string
  /** The position in the decompressed body: a byte offset, and line and column from 1. Undefined when there is no position. */
  offset?: number
  line?: number
  column?: number
}

/** The record of one request, made when its response has been sent or its connection has ended. */
export interface NewRequest {
  /** From `RequestLog.nextId`, taken when the request arrived. */
  id: string
  atMs: number
  method: string
  /** Without the query string, which may contain secrets. */
  path: string
  /** 0 = the connection ended without a response. */
  status: number
  source: string | null
  address: string
  userAgent: string | null
  /** `name/version` from `context.library` of the batch or of its first message. */
  library: string | null
  contentType: string | null
  contentEncoding: string | null
  /** Size of the body as received, possibly compressed. */
  bodyBytes: number
  inflatedBytes: number
  durationMs: number
  /** The header `X-Retry-Count`; null when the header is absent or not a whole number. */
  retryCount: number | null
  events: number
  accepted: number
  problem: RequestProblem | null
  /** Name of the fault that was simulated for the request. */
  fault: string | null
  /** Without credentials. The body of the response is stored under `ANSWER`. */
  headers: Readonly<Record<string, string>>
  /** The beginning of the decompressed body as text, with write keys replaced; at most `MAX_REQUEST_BODY_BYTES`. */
  body: string | null
  bodyIsCut: boolean
}

/** A key that no header can have. */
export const ANSWER = ':answer'

export const MAX_REQUEST_BODY_BYTES = 2048

export interface EventGroup {
  /** An idempotency key: unique for each group, and the same when the group is sent again. */
  key: string
  events: readonly NewEvent[]
}

/** The store works, but refuses these data, and would refuse them again: a retry is useless. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasName(value, 'RefusedError')
  }
}

export interface EventLog {
  /**
   * Resolves with the result of each event, in order, once the events are stored. Only then may the request be answered with
   * 200. After a rejection, usually none of the events is stored; for the exceptions, see `Writer.append`.
   */
  append(events: readonly NewEvent[]): Promise<EventSummary[]>
  /**
   * Stores groups that may arrive more than once, all in one transaction. A group is left out if its key is known or occurs
   * earlier in the same call. Keys are remembered for three days, even after `clear`; only the newest 100,000 if `clear` had to
   * replace the file on a full disk.
   *
   * Rejects with `RefusedError` when the store refuses the data of a group, and with another error when the store cannot be
   * written to.
   */
  appendOnce(groups: readonly EventGroup[]): Promise<void>
}

/** Stores records of requests. The records may be lost in a crash, and are dropped when too many requests arrive. */
export interface RequestLog {
  /** A new id, unique in the store. */
  nextId(): string
  /** Never throws and never waits. */
  append(request: NewRequest): void
}

/** A due delivery, leased to the caller until it is settled or the lease ends. */
export interface ClaimedDelivery {
  eventId: string
  attempts: number
  source: string
  messageId: string | null
  receivedAtMs: number
  /** JSON text of the message, including inherited fields. */
  body: string
  /** The `Idempotency-Key` of the delivery: unique, and the same on every attempt. */
  key: string
}

export interface DeliveryUpdate {
  eventId: string
  state: DestinationOutcome['state']
  reason: string | null
  attempts: number
  /** Used only if `state` is `pending`. */
  dueAtMs: number
  /** Left out when there was no attempt. `atMs` is the time when the attempt began. */
  attempt?: { atMs: number; durationMs: number; result: 'delivered' | 'retry' | 'failed' }
}

export interface DeliveryQueue {
  /**
   * Leases due deliveries of one destination for `leaseMs`, oldest first. No other process gets these deliveries until `settle`
   * or `release` is called, or the lease ends.
   */
  claim(destination: string, limit: number, leaseMs: number): Promise<ClaimedDelivery[]>
  /** Stores the results of attempts, and ends the caller's leases on these deliveries. */
  settle(destination: string, updates: readonly DeliveryUpdate[]): Promise<void>
  /** Ends the leases on deliveries that were not tried. */
  release(destination: string, eventIds: readonly string[]): Promise<void>
  /** When the next delivery is due, milliseconds since the epoch; undefined = none is pending. */
  nextDueMs(destination: string): Promise<number | undefined>
  /**
   * Makes deliveries due at once, and returns their number. With ids: the failed and pending deliveries of these events.
   * Without ids: all failed deliveries, and pending ones with at least one attempt; one call takes a few thousand of them.
   */
  retry(destination: string, eventIds?: readonly string[]): Promise<number>
  /**
   * Queues a finished delivery again, under a new key. Returns false when the event has no delivered or failed delivery to this
   * destination.
   */
  replay(destination: string, eventId: string): Promise<boolean>
  /** Records that this process delivers to these destinations. Must be called regularly, as a heartbeat. */
  attend(destinations: readonly string[]): Promise<void>
  /**
   * Destinations with pending deliveries for which no process has called `attend` within this time: the first 50, sorted by
   * name.
   */
  unattended(withinMs: number): Promise<UnattendedDestination[]>
}

/** A destination with pending deliveries and no process that delivers them. */
export interface UnattendedDestination {
  destination: string
  pending: number
}

/** Remembers client assertions (JWTs with which clients ask for access tokens), so that each can be used only once. */
export interface AssertionMemory {
  /**
   * Resolves with false if the `jti` is already recorded and has not expired. Atomic: of two simultaneous calls, in any
   * processes, only one gets `true`.
   */
  use(jti: string, expiresAtMs: number, nowMs: number): Promise<boolean>
}

export interface KeptText {
  text: string
  /** Different for each text. Opaque: only the store that issued the version can interpret it. */
  version: string
}

/** Stores one secret text for all processes: the keys that sign access tokens. */
export interface TokenKeyStore {
  /** Undefined = nothing has been stored yet. */
  read(): Promise<KeptText | undefined>
  /**
   * Replaces the text if its version is `version`, or stores the first text if `version` is undefined. Resolves with the new
   * version, or with undefined when another call was first. Atomic across all processes.
   */
  replace(version: string | undefined, text: string): Promise<string | undefined>
}

/** All processes share these data, so that a client may call any process. */
export interface TokenMemory {
  readonly assertions: AssertionMemory
  readonly tokenKeys: TokenKeyStore
}

export interface RateLimits {
  /** Counts one request. Undefined = the rate allows the request; otherwise the milliseconds until the rate allows one. */
  take(source: string, requestsPerSecond: number): Promise<number | undefined>
}

/** The state of the stored events, to which several processes may write. */
export interface FeedState {
  head: Cursor
  /**
   * Sequence number of the newest event. Events become visible in the order of their sequence numbers, so all events up to this
   * one can be read.
   */
  lastSeq: number
  /** Grows when all data are deleted. A new database has a greater epoch than all earlier databases at the same address. */
  epoch: number
  /** Grows when any process stores results of deliveries. */
  revision: number
}

/** Reports changes by this process and by others. */
export interface ChangeFeed {
  subscribe(onChange: (state: FeedState) => void): () => void
  state(): FeedState
}
