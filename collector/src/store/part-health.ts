/** The messages in a log that the workers have not carried to the store yet. */
export interface LogLag {
  /** Events, or messages where a log does not count events. */
  waiting: number
  /** How long the oldest has waited, milliseconds; null = nothing waits, or nobody knows. */
  oldestMs: number | null
  /** The dead letters: messages that the store refused for their data. */
  deadLetters: number
  /** Whether there is no room for more of them: what is refused then waits in the log, and is not lost. */
  areDeadLettersFull: boolean
}

/** The state of one part that this process cannot work without. */
export interface PartHealth {
  part: 'store' | 'log'
  /** Whether what comes in now can be kept. */
  isReady: boolean
  /** Why not, in one sentence without credentials; null when it is ready. */
  reason: string | null
  /** Events that this process has taken in and that are not written yet. */
  waiting: number
  /** Left out by everything that is no log, and while nobody knows it. */
  lag?: LogLag
}
