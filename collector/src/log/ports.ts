import type { EventSummary } from '../record.ts'
import type { LogLag, PartHealth } from '../store/part-health.ts'
import type { NewEvent, RequestLog, TokenMemory } from '../store/ports.ts'

/**
 * A log that lies between the processes that take events in and those that carry them to a store. It delivers at least once;
 * nothing outside of the folder of a log knows what it is made of.
 */

/** Takes events in: a store, or a log in front of one. */
export interface EventSink {
  /**
   * Resolves when the events are kept, with what is known of each by then, in order. Rejects when they could not be; then some of
   * them may have been.
   */
  append(events: readonly NewEvent[]): Promise<ReadonlyArray<Pick<EventSummary, 'status'>>>
}

/** One message of the log, held by this process until it says what became of it. */
export interface LogMessage {
  readonly payload: Uint8Array
  /** It is in the store: the log may forget it. */
  done(): void
  /** It could not be written: let somebody try again after so long. */
  retryAfter(ms: number): void
}

/** Carries messages from the log until it is closed; takes no more from the log than it is ready to hold. */
export interface LogSubscription {
  /** The next messages: at least one, as many as are there, at most `limit`. An empty list = it was closed. */
  take(limit: number): Promise<LogMessage[]>
  /** Lets go of what was not taken: others get it at once. */
  close(): Promise<void>
}

/** Something that could not be written into the store, and was laid aside. */
export interface DeadLetter {
  id: string
  /** ISO-8601, when it was laid aside. */
  at: string
  /** The error of the store, or of the reader. */
  reason: string
  /** Name of the source, and of the event; null when it cannot be read. */
  source: string | null
  name: string | null
  messageId: string | null
  bytes: number
}

/** A dead letter. It stays until it is retried or discarded. */
export interface DeadLetters {
  /**
   * Lays a message aside; resolves when that is certain. Rejects when there is no room, or the log is away.
   *
   * @param key The same whenever the same is laid aside again: it is kept once. Undefined = nobody can tell.
   */
  add(key: string | undefined, payload: Uint8Array, reason: string): Promise<void>
  /** The oldest ones. */
  list(limit: number): Promise<DeadLetter[]>
  /** Puts them into the log again, all or some; returns how many there were. */
  retry(ids?: readonly string[]): Promise<number>
  /** Deletes some of them for good; returns how many there were. */
  discard(ids: readonly string[]): Promise<number>
}

/** A log by its ports. */
export interface SharedLog extends EventSink {
  readonly requests: RequestLog
  readonly deadLetters: DeadLetters
  /** The memory for tokens that all processes beside the log share: none of them needs the store for it. */
  readonly tokens: TokenMemory
  /** Where it lies, without credentials. */
  readonly address: string
  /** Whether what is appended now would be kept. Never rejects. */
  health(): Promise<PartHealth>
  /** Is told when it goes away, from now on: it may be back before anybody asks. */
  onAway(listen: (reason: string) => void): void
  /** The messages that wait in it; null when that is not known. */
  lag(): Promise<LogLag | null>
  /** Takes messages with events from it, for the store. */
  subscribe(): LogSubscription
  /** Is called with the requests that others have noted, from now on. */
  onRequests(take: (payload: Uint8Array) => void): void
  close(): Promise<void>
}
