import { FAILURE_CODES, type FailureCode } from '../errors/errors.ts'

/**
 * Counts of a client's events. `accepted = delivered + failed + deferred + pending` at every instant; without a spool,
 * `deferred` and `recovered` are 0.
 */
export interface Stats {
  /** Calls, including those with bad arguments, plus `recovered`. */
  readonly accepted: number
  /** Events that the service has accepted. */
  readonly delivered: number
  /** Events that will not be delivered; each was reported. */
  readonly failed: number
  /** Events left in the spool, for the next start. */
  readonly deferred: number
  /** Calls and recovered events that have no outcome yet. */
  readonly pending: number
  /** Events that an earlier process left in the spool, as far as they have been read. */
  readonly recovered: number
  /** Failed events by reason; the values add up to `failed`. */
  readonly failures: Readonly<Record<FailureCode, number>>
}

/** Counts of the events that a `flush()` waited for, by outcome. */
export interface FlushSummary {
  /** Events that the service has accepted. */
  readonly delivered: number
  /** Events that will not be delivered; each was reported. */
  readonly failed: number
  /** Events without an outcome when the flush resolved. They stay queued. */
  readonly pending: number
  /** Events left in the spool, for the next start. Absent when there are none. */
  readonly deferred?: number
}

/** @param open How many events a flush waited for. */
export function summaryOf(
  { delivered, failed, deferred }: { delivered: number; failed: number; deferred: number },
  open: number,
): FlushSummary {
  const pending = open - delivered - failed - deferred
  return { delivered, failed, pending, ...(deferred > 0 && { deferred }) }
}

/** The counts of a client, as it changes them. */
export interface Counts {
  accepted: number
  /** `accepted - delivered - failed - deferred`. */
  pending: number
  delivered: number
  failed: number
  deferred: number
  recovered: number
  readonly failures: Record<FailureCode, number>
  /** Pending events that somebody waits for. */
  awaited: number
  /** Bytes of the messages of pending events. */
  bytes: number
}

export function createCounts(): Counts {
  const failures = Object.fromEntries(FAILURE_CODES.map((code) => [code, 0])) as Counts['failures']
  return {
    accepted: 0,
    pending: 0,
    delivered: 0,
    failed: 0,
    deferred: 0,
    recovered: 0,
    failures,
    awaited: 0,
    bytes: 0,
  }
}

export function statsOf(counts: Counts): Stats {
  const { accepted, delivered, failed, deferred, pending, recovered, failures } = counts
  return { accepted, delivered, failed, deferred, pending, recovered, failures: { ...failures } }
}
