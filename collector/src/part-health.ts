/** The messages in a log that no worker has written to the store yet. */
export interface LogLag {
  /** Number of waiting events, or of waiting messages if the log does not count events. */
  waiting: number
  /** Waiting time of the oldest message; null if nothing waits, or if the time is not known. */
  oldestMs: number | null
  /** Messages that the store refused because of their data, or that could not be read. */
  deadLetters: number
  /** If true, further refused messages stay in the log, and are not lost. */
  areDeadLettersFull: boolean
  /** How full the log is, from 0 to 1. When it is full, fronts respond with 503. Undefined if it has no limit. */
  fill?: number
}

export interface PartHealth {
  part: 'store' | 'log'
  /** Whether the part can store events now. */
  isReady: boolean
  /** Why the part is not ready, in one sentence without credentials; null if it is ready. */
  reason: string | null
  /** Number of events that this process has accepted but not written yet. */
  waiting: number
  /** How full its disk is, or the file against its limit, whichever is more, from 0 to 1. Only for a store in a file. */
  fill?: number | undefined
  /** Only for a log whose lag is known. */
  lag?: LogLag
}
