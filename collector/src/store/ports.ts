import type { DestinationOutcome, EventSummary, Kind, Reason, Violation, Warning } from '../record.ts'

/**
 * The ports of the store. Only the folder of a store knows its implementation. Queries and their results are in `queries.ts`;
 * `event-store.ts` joins all ports.
 *
 * Every method that may need a database on another machine is asynchronous.
 */

/** Where a list of events or requests goes on. Opaque: only the store that gave it out can read it. */
export type Cursor = string

/** The plan for an event at one destination, decided before it is stored. */
export interface PlannedDelivery {
  destination: string
  /** Why it is not sent there; undefined = it is. */
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
  /** The same as ISO-8601. */
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
  /** Left out when it is not known. */
  sent?: SentDifference
  violations?: readonly Violation[]
  /** Stored with the event and shown in its summary. */
  warnings?: readonly Warning[]
}

/** A mistake in the body of a refused request. */
export interface RequestProblem {
  code: string
  message: string
  /** Byte offset in the inflated body, and the same as line and column from 1; undefined when no place is to blame. */
  offset?: number
  line?: number
  column?: number
}

/** One request as it is written down when its response has been sent, or its connection has ended. */
export interface NewRequest {
  /** From `RequestLog.nextId`, taken when the request arrived. */
  id: string
  atMs: number
  method: string
  /** Without the query: it may hold anything. */
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
  /** As they came over the wire. */
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
  /** Name of the fault on demand that was answered. */
  fault: string | null
  /** Without credentials. */
  headers: Readonly<Record<string, string>>
  /** Beginning of the inflated body as text, write keys replaced; at most `MAX_REQUEST_BODY_BYTES`. */
  body: string | null
  bodyIsCut: boolean
}

/** So much of a request's body is kept, bytes. */
export const MAX_REQUEST_BODY_BYTES = 2048

/** Events that are kept together under a key, which says that they were. */
export interface EventGroup {
  /** Unique among all groups, the same whenever this one comes again. */
  key: string
  events: readonly NewEvent[]
}

/** The store works, but will never accept these data: a retry is useless. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
}

/** Takes events in. */
export interface EventLog {
  /**
   * Resolves when the events are kept, with what became of each, in order: that is when the request may be answered 200.
   * Rejects when they could not be written; then none of them was.
   */
  append(events: readonly NewEvent[]): Promise<EventSummary[]>
  /**
   * Keeps groups that may come more than once, all of them in one transaction. A group whose key is known is left out, also one
   * that another process is about to keep, or that comes twice in the same call. Keys are remembered for some days at least,
   * also when everything else is forgotten.
   *
   * Rejects with `RefusedError` when the store refuses the data of one of the groups, with anything else when it cannot be
   * written to; in both cases nothing was kept.
   */
  appendOnce(groups: readonly EventGroup[]): Promise<void>
}

/** Takes requests in. What is written here may be lost by a crash, and is dropped when too much comes. */
export interface RequestLog {
  /** A new id, unique in the store. */
  nextId(): string
  /** Never throws and never waits. */
  append(request: NewRequest): void
}

/** A delivery whose time has come, held by the caller until it is settled or the lease ends. */
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
  /** Writes down what attempts came to, and ends the leases of the caller on them. */
  settle(destination: string, updates: readonly DeliveryUpdate[]): Promise<void>
  /** Gives deliveries back untried. */
  release(destination: string, eventIds: readonly string[]): Promise<void>
  /** When something is due next, milliseconds since the epoch; undefined = nothing waits. */
  nextDueMs(destination: string): Promise<number | undefined>
  /**
   * Makes deliveries due at once: of these events, or everything that failed or waits.
   * Returns how many.
   */
  retry(destination: string, eventIds?: readonly string[]): Promise<number>
  /**
   * Queues an event for another delivery under a new key, whatever its state. Returns whether it was ever meant for this
   * destination.
   */
  replay(destination: string, eventId: string): Promise<boolean>
  /** Announces to all processes that this one delivers to these destinations. Must be repeated as a heartbeat. */
  attend(destinations: readonly string[]): Promise<void>
  /** Destinations for which something waits, and to which no process was told to deliver within so long; by their names. */
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
   * Takes note of an assertion's `jti`; false when it was noted before and has not expired.
   * In one step: of two that come at the same time, wherever they come, one gets `true`.
   */
  use(jti: string, expiresAtMs: number, nowMs: number): Promise<boolean>
}

/** A text as it was found. */
export interface KeptText {
  text: string
  /** That of this text alone. Opaque: only what gave it out can read it. */
  version: string
}

/** Keeps one text for all processes: the keys that tokens are signed with. It is a secret. */
export interface TokenKeyStore {
  /** Undefined = nothing was kept yet. */
  read(): Promise<KeptText | undefined>
  /**
   * Keeps a text in place of the one with this version, or as the first one, and returns its version. Undefined when another one
   * is kept by now. In one step: of two that come at the same time, wherever they come, one succeeds.
   */
  replace(version: string | undefined, text: string): Promise<string | undefined>
}

/** The data that processes share, so that a client may turn to any of them. */
export interface TokenMemory {
  readonly assertions: AssertionMemory
  readonly tokenKeys: TokenKeyStore
}

/** Counts requests by source. */
export interface RateLimits {
  /**
   * Takes one request into account.
   *
   * @returns Milliseconds until there is room for one; undefined = the request is within the rate.
   */
  take(source: string, requestsPerSecond: number): Promise<number | undefined>
}

/** Where a log is to which other processes write too. */
export interface FeedState {
  /** End of the log. */
  head: Cursor
  /**
   * Number of the newest event. Numbers grow, and everything up to this one can be read: none comes to be seen later than
   * one with a greater number.
   */
  lastSeq: number
  /** Grows when everything was forgotten; that of a new log is greater than those of all before it at the same address. */
  epoch: number
  /** Grows when outcomes of deliveries were written, by this process or another. */
  revision: number
}

/** Follows the log, whichever process writes to it. */
export interface ChangeFeed {
  /** Calls back after something has changed, at most a few times a second; returns what ends it. */
  subscribe(onChange: (state: FeedState) => void): () => void
  state(): FeedState
}
