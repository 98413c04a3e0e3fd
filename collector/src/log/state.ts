import type { SharedLog } from './ports.ts'

/** The log, as `/api/stats` tells of it. */
export interface LogState {
  isReady: boolean
  /** Why not, in one sentence; null when it is ready. */
  reason: string | null
  /** Messages that wait for a worker, each of one request or a part of it; null when nobody can say. */
  waiting: number | null
  /** How long the oldest has waited, milliseconds; null when nothing waits. */
  oldestMs: number | null
  /** Dead letters: messages that the store refused. */
  deadLetters: number | null
  /** Whether there is no room for more of them: what is refused then waits in the log, and is not lost. */
  areDeadLettersFull: boolean | null
}

/** Asks the log how it is. Never rejects. */
export async function logState(log: SharedLog): Promise<LogState> {
  const { isReady, reason, lag } = await log.health()
  const { waiting = null, oldestMs = null, deadLetters = null, areDeadLettersFull = null } = lag ?? {}
  return { isReady, reason, waiting, oldestMs, deadLetters, areDeadLettersFull }
}
