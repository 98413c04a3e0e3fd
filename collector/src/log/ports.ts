import type { LogLag, PartHealth } from '../part-health.ts'
import type { EventSummary } from '../record.ts'
import type { NewEvent, RequestLog, TokenMemory } from '../store/ports.ts'

/**
 * A log between the processes that accept events (fronts) and the consumers that write them to a store (workers). It delivers
 * at least once. Only the folder of a log knows its implementation.
 */

/** Accepts events: a store, or a log in front of one. */
export interface EventWriter {
  /**
   * Resolves when the events are stored, with the known result of each, in order. If it rejects, some of them may be stored
   * nevertheless.
   */
  append(events: readonly NewEvent[]): Promise<ReadonlyArray<Pick<EventSummary, 'status'>>>
}

/** One message of the log, which this process holds until it acknowledges or returns it. */
export interface LogMessage {
  readonly payload: Uint8Array
  /** Acknowledges the message: it is in the store, and the log may delete it. */
  done(): void
  /** Extends the time for acknowledgement: the message is still being processed. */
  working(): void
  /** Returns the message, which could not be written: the log redelivers it after this time. */
  retryAfter(ms: number): void
}

/** A consumer of the log. It fetches only as many messages as it is ready to hold. */
export interface LogSubscription {
  /**
   * The next messages: all that are available, at least one and at most `limit`. An empty list = the subscription was closed.
   */
  take(limit: number): Promise<LogMessage[]>
  /** Returns messages that were fetched but not processed: other consumers get them at once. */
  close(): Promise<void>
}

/** A dead letter: a message that the store refused, or that could not be read. */
export interface DeadLetter {
  id: string
  /** When it became a dead letter, ISO-8601. */
  at: string
  /** The error of the store, or of the decoder. */
  reason: string
  /** Name of the source, and of the event; null when it cannot be read. */
  source: string | null
  name: string | null
  messageId: string | null
  bytes: number
}

/** The dead letters. Each stays until it is retried or discarded. */
export interface DeadLetters {
  /**
   * Stores a dead letter; resolves when that is confirmed. Rejects when there is no room, or the log is unavailable.
   *
   * @param key The same for the same message, so that it is stored once. Undefined = unknown.
   */
  add(key: string | undefined, payload: Uint8Array, reason: string): Promise<void>
  /** The oldest dead letters. */
  list(limit: number): Promise<DeadLetter[]>
  /** Moves all or some dead letters back into the log; returns how many. */
  retry(ids?: readonly string[]): Promise<number>
  /** Deletes some dead letters permanently; returns how many. */
  discard(ids: readonly string[]): Promise<number>
}

/** A log that several processes share, with all its ports. */
export interface SharedLog extends EventWriter {
  readonly requests: RequestLog
  readonly deadLetters: DeadLetters
  /** Storage for tokens, shared by all processes with this log, so that they need no store for it. */
  readonly tokens: TokenMemory
  /** Its address, without credentials. */
  readonly address: string
  /** Whether an append would succeed now. Never rejects. */
  health(): Promise<PartHealth>
  /** Sets the listener for a lost connection: the log may be back before the next health check. */
  onUnavailable(listen: (reason: string) => void): void
  /** The waiting messages; null when that is not known. */
  lag(): Promise<LogLag | null>
  /** Fetches messages with events, for the store. */
  subscribe(): LogSubscription
  /** Sets the listener for requests that other processes recorded. */
  onRequests(take: (payload: Uint8Array) => void): void
  close(): Promise<void>
}
