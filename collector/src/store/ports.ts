import type { DestinationOutcome, EventSummary, Kind, Reason, Violation, Warning } from '../record.ts'

/**
 * The ports of the store. Only the folder of a store knows its implementation. The port for queries is in `event-reader.ts`,
 * their results are in `query-results.ts`; `event-store.ts` joins all ports.
 *
 * Every method that may need a database on another machine is asynchronous.
 */

/** The position where a list of events or requests continues. Opaque: only the store that issued it can read it. */
export type Cursor = string

/** The plan for an event at one destination, decided before it is stored. */
export interface PlannedDelivery {
  destination: string
  /** Why it is not sent there; undefined = it is sent. */
  skippedBecause?: string
}

/** Differences between the stored message and the message that the client sent. Paths are dotted: `context.ip`. */
export interface SentDifference {
  /** Paths that the service added. */
  added: readonly string[]
  /** The values that the client sent at paths that were changed. */
  changed: Readonly<Record<string, unknown>>
  /** Paths that were removed, mainly credentials; their values are not stored. */
  removed: readonly string[]
}

/** One message on its way into the store. */
export interface NewEvent {
  source: string
  /** Null = accepted, unless its messageId turns out to be known. */
  reason: Reason | null
  kind: Kind | 'batch' | null
  name: string | null
  userId: string | null
  anonymousId: string | null
  messageId: string | null
  receivedAtMs: number
  /** The same time in ISO 8601. */
  receivedAt: string
  timestampMs: number
  /** JSON text of the message as stored, without the fields that it inherits from its batch. */
  body: string | null
  /**
   * JSON text of the fields that it inherits from its batch, `InheritedFields`: the same text for the whole batch, stored once.
   */
  inherited?: string
  deliveries: readonly PlannedDelivery[]
  /** Id of the request that brought it, from `RequestLog.nextId`. */
  requestId?: string
  /** Undefined when the message that the client sent is not known. */
  sent?: SentDifference
  violations?: readonly Violation[]
  /** Stored with the event and shown in its summary. */
  warnings?: readonly Warning[]
}

/** A mistake in the body of a refused request. */
export interface RequestProblem {
  code: string
  message: string
  /** Position in the inflated body: byte offset, and line and column from 1; undefined when the mistake has no position. */
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
  /** `name/version` of `context.library`, of the batch or of its first item. */
  library: string | null
  contentType: string | null
  contentEncoding: string | null
  /** Size on the wire. */
  bodyBytes: number
  /** After inflating. */
  inflatedBytes: number
  durationMs: number
  /** `X-Retry-Count`; null when the header is absent or no whole number. */
  retryCount: number | null
  /** Events that it brought, and how many of them were accepted. */
  events: number
  accepted: number
  problem: RequestProblem | null
  /** Name of the fault on demand that the request got. */
  fault: string | null
  /** Without credentials. */
  headers: Readonly<Record<string, string>>
  /** Beginning of the inflated body as text, write keys replaced; at most `MAX_REQUEST_BODY_BYTES`. */
  body: string | null
  bodyIsCut: boolean
}

/** The part of a request's body that is stored, in bytes. */
export const MAX_REQUEST_BODY_BYTES = 2048

/** Events that are stored together under a key. The key tells later whether they have been stored. */
export interface EventGroup {
  /** Unique for each group, and the same when the group is sent again. */
  key: string
  events: readonly NewEvent[]
}

/** The store works, but will never accept these data: a retry is useless. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
}

/** Stores events. */
export interface EventLog {
  /**
   * Resolves once the events are stored, with the result of each, in order; only then may the request be answered with 200.
   * Rejects when they could not be written; then none of them was.
   */
  append(events: readonly NewEvent[]): Promise<EventSummary[]>
  /**
   * Stores groups that may arrive more than once, all in one transaction. A group is left out if its key is known, if another
   * process is about to store it, or if it occurs twice in one call. Keys are remembered for a few days at least, even after
   * `clear`.
   *
   * Rejects with `RefusedError` when the store refuses the data of a group, and with any other error when it cannot be written
   * to. In both cases nothing was stored.
   */
  appendOnce(groups: readonly EventGroup[]): Promise<void>
}

/** Stores requests. They may be lost in a crash, and are dropped when too many arrive. */
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
  /** The whole message. */
  body: string
  /** Unique in this store and the same on every attempt: an `Idempotency-Key`. */
  key: string
}

/** The result of one attempt at a destination. */
export interface DeliveryUpdate {
  eventId: string
  state: DestinationOutcome['state']
  reason: string | null
  attempts: number
  /** When the next attempt is due, for `pending`. */
  dueAtMs: number
  /** When the attempt began, and how long it took; left out when there was none. */
  attempt?: { atMs: number; durationMs: number; result: 'delivered' | 'retry' | 'failed' }
}

/** The pending deliveries to destinations. */
export interface DeliveryQueue {
  /**
   * Leases due deliveries of one destination, oldest first: no other process gets them until the lease ends.
   * @param leaseMs After this time without `settle`, other processes may take them.
   */
  claim(destination: string, limit: number, leaseMs: number): Promise<ClaimedDelivery[]>
  /** Stores the results of attempts, and ends the caller's leases on these deliveries. */
  settle(destination: string, updates: readonly DeliveryUpdate[]): Promise<void>
  /** Ends the leases on deliveries that were not tried. */
  release(destination: string, eventIds: readonly string[]): Promise<void>
  /** When the next delivery is due, milliseconds since the epoch; undefined = none is pending. */
  nextDueMs(destination: string): Promise<number | undefined>
  /**
   * Makes deliveries due at once, and returns how many: failed and pending ones of these events, or without ids, those that
   * failed or wait for another attempt.
   */
  retry(destination: string, eventIds?: readonly string[]): Promise<number>
  /**
   * Queues an event that was delivered, or failed, for another delivery under a new key. Returns false when there is no such
   * delivery; a pending one is sent anyway.
   */
  replay(destination: string, eventId: string): Promise<boolean>
  /** Announces to all processes that this one delivers to these destinations. Must be repeated as a heartbeat. */
  attend(destinations: readonly string[]): Promise<void>
  /** Destinations with pending deliveries for which no process has called `attend` within this time, by name. */
  unattended(withinMs: number): Promise<UnattendedDestination[]>
}

/** A destination with pending deliveries and no process that delivers them. */
export interface UnattendedDestination {
  destination: string
  /** How many deliveries wait. */
  pending: number
}

/** Remembers client assertions, so that each is used once. */
export interface AssertionMemory {
  /**
   * Records an assertion's `jti`; false when it was recorded before and has not expired. This is atomic: of two simultaneous
   * calls, in any processes, only one gets `true`.
   */
  use(jti: string, expiresAtMs: number, nowMs: number): Promise<boolean>
}

/** A stored text. */
export interface KeptText {
  text: string
  /** Different for each text. Opaque: only the store that issued it can read it. */
  version: string
}

/** Stores one text for all processes: the keys that sign tokens. It is a secret. */
export interface TokenKeyStore {
  /** Undefined = nothing has been stored yet. */
  read(): Promise<KeptText | undefined>
  /**
   * Replaces the text that has this version, or stores the first one, and returns the new version; undefined when the version
   * is outdated. This is atomic: of two simultaneous calls, in any processes, only one succeeds.
   */
  replace(version: string | undefined, text: string): Promise<string | undefined>
}

/** Data shared by all processes, so that a client may call any of them. */
export interface TokenMemory {
  readonly assertions: AssertionMemory
  readonly tokenKeys: TokenKeyStore
}

/** Counts requests by source. */
export interface RateLimits {
  /**
   * Counts one request.
   *
   * @returns Milliseconds until the rate allows a request; undefined = it allows this one.
   */
  take(source: string, requestsPerSecond: number): Promise<number | undefined>
}

/** The state of a log to which several processes write. */
export interface FeedState {
  /** End of the log. */
  head: Cursor
  /**
   * Sequence number of the newest event. Sequence numbers grow, and all events up to this one can be read: an event never
   * becomes visible after one with a greater sequence number.
   */
  lastSeq: number
  /** Grows when everything is deleted. A new log has a greater epoch than all earlier logs at the same address. */
  epoch: number
  /** Grows when any process stores results of deliveries. */
  revision: number
}

/** Follows the log, whichever process writes to it. */
export interface ChangeFeed {
  /** Calls back after a change, at most a few times a second. Returns a function that ends the subscription. */
  subscribe(onChange: (state: FeedState) => void): () => void
  state(): FeedState
}
