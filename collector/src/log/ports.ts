import type { Clock } from '../clock.ts'
import type { LogLag, PartHealth } from '../part-health.ts'
import type { EventSummary } from '../record.ts'
import type { EventLog, NewEvent, RequestLog, TokenMemory } from '../store/ports.ts'

/**
 * The ports (interfaces) of a log. A log is a queue between the processes that accept events (fronts) and those that write the
 * events to a store (workers). It delivers each event at least once.
 */

/** Accepts events: a store, or a log in front of one. */
export interface EventWriter {
  /**
   * Resolves when the events are stored, with the status of each event, in order. A log does not know yet whether an accepted
   * event is a duplicate. If the promise rejects, some of the events may be stored nevertheless.
   */
  append(events: readonly NewEvent[]): Promise<ReadonlyArray<Pick<EventSummary, 'status'>>>
}

export interface LogWorkerParts {
  store: { readonly log: EventLog; readonly requests: RequestLog }
  clock: Clock
  /** Called before the events of a message are written. */
  onRead?(events: readonly NewEvent[]): void
  onFault(what: string, cause: unknown): void
}

/** Moves events and records of requests from the log to a store. */
export interface LogWorker {
  start(): void
  /** Resolves when the current write has finished. */
  close(): Promise<void>
}

/** A dead letter: a message that the store refused, or that could not be decoded. */
export interface DeadLetter {
  id: string
  /** When the message became a dead letter, ISO-8601. */
  at: string
  /** The error of the store, or of the decoder. */
  reason: string
  /** Name of the source, and name or kind of the event; null when the message cannot be decoded. */
  source: string | null
  name: string | null
  messageId: string | null
  bytes: number
}

/** Each dead letter is kept until it is retried or discarded. */
export interface DeadLetters {
  /**
   * Resolves when the log has confirmed the dead letter. Rejects when there is no room, or the log is unavailable.
   *
   * @param key The key of the message, so that a message that is added twice is stored once. Undefined = unknown.
   */
  add(key: string | undefined, payload: Uint8Array, reason: string): Promise<void>
  /** The oldest dead letters. */
  list(limit: number): Promise<DeadLetter[]>
  /** Moves dead letters back into the log: those with these ids, or up to 10,000 without `ids`. Returns how many were moved. */
  retry(ids?: readonly string[]): Promise<number>
  /** Returns how many were deleted. */
  discard(ids: readonly string[]): Promise<number>
}

export interface SharedLog extends EventWriter {
  readonly requests: RequestLog
  readonly deadLetters: DeadLetters
  /** All processes that use the log share these data, so they need no database for tokens. */
  readonly tokens: TokenMemory
  /** Without credentials. */
  readonly address: string
  /** Whether an append would succeed now. Never rejects. */
  health(): Promise<PartHealth>
  /** Sets a listener that is called when the log becomes unavailable. A health check might miss a short outage. */
  onUnavailable(listen: (reason: string) => void): void
  /** Null when unknown. */
  lag(): Promise<LogLag | null>
  /** Called once, in a process that works. */
  newWorker(parts: LogWorkerParts): LogWorker
  close(): Promise<void>
}
