/** The messages in a log that no worker has written to the store yet. */
export interface LogLag {
  /** Number of waiting events, or of waiting messages if the log does not count events. */
  waiting: number
  /** How long the oldest message has waited, in milliseconds; null if nothing waits, or if it is not known. */
  oldestMs: number | null
  /** Number of dead letters: messages that the store refused because of their data, or that could not be read. */
  deadLetters: number
  /** Whether there is no room for more dead letters. A refused message then stays in the log, and is not lost. */
  areDeadLettersFull: boolean
}

/** The state of the store or of the log. */
export interface PartHealth {
  part: 'store' | 'log'
  /** Whether the part can store events now. */
  isReady: boolean
  /** Why the part is not ready, in one sentence without credentials; null if it is ready. */
  reason: string | null
  /** Number of events that this process has accepted but not written yet. */
  waiting: number
  /** Only for a log, and only if it is known. */
  lag?: LogLag
}
