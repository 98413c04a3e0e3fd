import type { SharedLog } from './ports.ts'

/** The state of the log in `/api/stats`. */
export interface LogState {
  isReady: boolean
  /** Why the log is not ready, in one sentence; null when it is ready. */
  reason: string | null
  /** Number of messages that wait for a worker. Each message has the events of a request, or some of them. Null = unknown. */
  waiting: number | null
  /** How long the oldest message has waited, milliseconds; null when nothing waits, or when unknown. */
  oldestMs: number | null
  /** Number of dead letters: messages that the store refused, or that could not be decoded. Null = unknown. */
  deadLetters: number | null
  /** Whether there is no room for more dead letters. Then further refused messages wait in the log. Null = unknown. */
  areDeadLettersFull: boolean | null
}

/** Reads the state of the log. Never rejects. */
export async function logState(log: SharedLog): Promise<LogState> {
  const { isReady, reason, lag } = await log.health()
  const { waiting = null, oldestMs = null, deadLetters = null, areDeadLettersFull = null } = lag ?? {}
  return { isReady, reason, waiting, oldestMs, deadLetters, areDeadLettersFull }
}
