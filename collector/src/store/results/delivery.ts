import type { DestinationOutcome } from '../../record.ts'
import type { DestinationState, ShownAttempt, ShownDelivery } from '../query-results.ts'

/** A row of `delivery`. */
export interface DeliveryRow {
  destination: string
  state: DestinationOutcome['state']
  reason: string | null
  attempts: number
  due_at: number
  last_at: number | null
  last_ms: number | null
}

/** A row of `attempt`. */
export interface AttemptRow {
  at: number
  attempt: number
  ms: number
  result: ShownAttempt['result']
  reason: string | null
}

/** A delivery with its attempts: those before the last have rows of their own. */
export function shownDelivery(row: DeliveryRow, before: readonly AttemptRow[]): ShownDelivery {
  const history = before.map(shownAttempt)
  if (row.last_at !== null) {
    const result = row.state === 'delivered' || row.state === 'failed' ? row.state : 'retry'
    const { attempts: attempt, last_at: at, last_ms: ms, reason } = row
    history.push(shownAttempt({ at, attempt, ms: ms ?? 0, result, reason }))
  }
  const isWaiting = row.state === 'pending'
  return {
    name: row.destination,
    state: row.state,
    ...(row.reason === null ? {} : { reason: row.reason }),
    attempts: row.attempts,
    dueAt: isWaiting && row.due_at > 0 ? new Date(row.due_at).toISOString() : null,
    history,
  }
}

function shownAttempt(row: AttemptRow): ShownAttempt {
  const { at, attempt, ms: durationMs, result, reason } = row
  const shown = { at: new Date(at).toISOString(), durationMs, attempt, result }
  return reason === null ? shown : { ...shown, reason }
}

/** So many failures of a destination are listed. */
export const FAILURES_SHOWN = 50
/** The time over which the rate of a destination is taken, milliseconds. */
export const RATE_MS = 60_000

/** Deliveries a second, of the count over `RATE_MS`. */
export function rateOf(count: number): number {
  return Math.round((count / RATE_MS) * 1e5) / 100
}

/** Counts of deliveries by their state. */
export function countsByState(
  rows: ReadonlyArray<{ state: DestinationOutcome['state']; count: number }>,
): Pick<DestinationState, DestinationOutcome['state']> {
  const counts = { pending: 0, delivered: 0, failed: 0, skipped: 0 }
  for (const { state, count } of rows) counts[state] = count
  return counts
}
