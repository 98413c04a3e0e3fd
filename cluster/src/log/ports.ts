import type { DeadLetters } from 'trackpost-collector/ports'

/** One message of the log, which this process holds until it acknowledges or returns it. */
export interface LogMessage {
  readonly payload: Uint8Array
  /** Acknowledges the message: the log may delete it. */
  done(): void
  /** Extends the time for acknowledgement. */
  working(): void
  /** Returns the message. The log delivers the message again after this time. */
  retryAfter(ms: number): void
}

export interface LogSubscription {
  /** Resolves with at least one message, or with an empty list when the subscription is closed. */
  take(limit: number): Promise<LogMessage[]>
  /** Ends the subscription. Fetched messages that were not taken go back to the log, and other processes get them at once. */
  close(): Promise<void>
}

/** A log from which a worker can read. */
export interface ReadableLog {
  readonly deadLetters: DeadLetters
  /** Subscribes to messages with events. */
  subscribe(): LogSubscription
  /** Subscribes to messages with records of requests; see `decodeRequests`. */
  onRequests(take: (payload: Uint8Array) => void): void
}
