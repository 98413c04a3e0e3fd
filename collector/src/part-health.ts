/** The messages in a log that no consumer has written into the store yet. */
export interface LogLag {
  /** Events, or messages where a log does not count events. */
  waiting: number
  /** How long the oldest has waited, milliseconds; null = nothing waits, or it is unknown. */
  oldestMs: number | null
  /** Number of dead letters: messages that the store refused for their data, or that could not be read. */
  deadLetters: number
  /** Whether there is no room for more dead letters: a refused message then waits in the log, and is not lost. */
  areDeadLettersFull: boolean
}

/** The state of the store or of the log. */
export interface PartHealth {
  part: 'store' | 'log'
  /** Whether it can store events now. */
  isReady: boolean
  /** Why not, in one sentence without credentials; null when it is ready. */
  reason: string | null
  /** Events that this process has accepted and not written yet. */
  waiting: number
  /** Only for a log; left out while unknown. */
  lag?: LogLag
}
