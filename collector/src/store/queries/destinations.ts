import type { DestinationOutcome } from '../../record.ts'
import { sql } from '../sql.ts'
import type { QueryContext } from './context.ts'
import { summariesOf } from './events.ts'

const FAILURES_SHOWN = 50
const RATE_MS = 60_000

export function destinations(context: QueryContext, names: readonly string[]) {
  return names.map((name) => stateOf(context, name))
}

const isoTime = (timeMs: number | null | undefined) =>
  timeMs === null || timeMs === undefined ? null : new Date(timeMs).toISOString()

function stateOf(context: QueryContext, name: string) {
  const { database, nowMs } = context
  const counts = database.all<{ state: DestinationOutcome['state']; count: number }>(
    sql`SELECT state, count(*) AS count FROM delivery WHERE destination = ${name} GROUP BY state`,
  )
  const byState = { pending: 0, delivered: 0, failed: 0, skipped: 0 }
  for (const { state, count } of counts) byState[state] = count
  const waiting = database.get<{ next: number | null; oldest: number | null }>(
    sql`SELECT min(due_at) AS next, min(received_at) AS oldest FROM delivery WHERE destination = ${name} AND state = 'pending'`,
  )
  const inLastMinute = database.number(
    sql`SELECT count(*) AS value FROM attempt WHERE destination = ${name} AND result = 'delivered' AND at >= ${nowMs - RATE_MS}`,
  )
  const next = waiting?.next ?? null
  return {
    name,
    ...byState,
    oldestPendingAt: isoTime(waiting?.oldest),
    nextAttemptAt: next === null ? null : isoTime(Math.max(next, nowMs)),
    perSecond: Math.round((inLastMinute / RATE_MS) * 1e5) / 100,
    lastError: lastError(context, name),
    failures: failures(context, name),
  }
}

function lastError({ database }: QueryContext, name: string) {
  const row = database.get<{ seq: number; at: number; reason: string | null }>(
    sql`SELECT seq, at, reason FROM attempt WHERE destination = ${name} AND result <> 'delivered' ORDER BY at DESC LIMIT 1`,
  )
  return row === undefined
    ? null
    : { at: new Date(row.at).toISOString(), reason: row.reason ?? '', eventId: String(row.seq) }
}

function failures(context: QueryContext, name: string) {
  const rows = context.database.all<{
    seq: number
    reason: string | null
    attempts: number
    last_at: number | null
  }>(
    sql`SELECT seq, reason, attempts, last_at FROM delivery
        WHERE destination = ${name} AND state = 'failed' ORDER BY seq DESC LIMIT ${FAILURES_SHOWN}`,
  )
  const summaries = summariesOf(
    context,
    rows.map(({ seq }) => seq),
  )
  const events = new Map(summaries.map((event) => [event.seq, event]))
  return rows.map(({ seq, reason, attempts, last_at }) => ({
    id: String(seq),
    name: events.get(seq)?.name ?? null,
    type: events.get(seq)?.type ?? null,
    reason: reason ?? '',
    attempts,
    at: isoTime(last_at),
  }))
}
