import type { SharedLog } from './ports.ts'

/** The state of the log in `/api/stats`. */
export interface LogState {
  isReady: boolean
  /** Why it is not ready, in one sentence; null when it is. */
  reason: string | null
  /** Messages that wait for a worker, each with one request or a part of it; null when unknown. */
  waiting: number | null
  /** How long the oldest has waited, milliseconds; null when nothing waits. */
  oldestMs: number | null
  /** Number of dead letters: messages that the store refused, or that could not be read; null when unknown. */
  deadLetters: number | null
  /** Whether there is no room for more dead letters. Further refused messages then wait in the log and are not lost. */
  areDeadLettersFull: boolean | null
}

/** Reads the state of the log. Never rejects. */
export async function logState(log: SharedLog): Promise<LogState> {
  const { isReady, reason, lag } = await log.health()
  const { waiting = null, oldestMs = null, deadLetters = null, areDeadLettersFull = null } = lag ?? {}
  return { isReady, reason, waiting, oldestMs, deadLetters, areDeadLettersFull }
}
