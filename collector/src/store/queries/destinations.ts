import type { DestinationOutcome } from '../../record.ts'
import type { DestinationState } from '../query-results.ts'
import { all, first, type Query, sql } from '../sql.ts'
import type { QueryContext } from './context.ts'
import { receivedAtOf, summariesOf } from './records.ts'

const FAILURES_SHOWN = 50
const RATE_MS = 60_000
const RATE_ROWS = 100_000

export function* destinations(
  context: QueryContext,
  { names }: { names: string[] },
): Query<DestinationState[]> {
  const states: DestinationState[] = []
  for (const name of names) states.push(yield* stateOf(context, name))
  return states
}

const isoTime = (timeMs: number | null | undefined) =>
  timeMs === null || timeMs === undefined ? null : new Date(timeMs).toISOString()

function* stateOf(context: QueryContext, name: string): Query<DestinationState> {
  const counts = yield* all<{ state: DestinationOutcome['state']; count: number }>(
    sql`SELECT state, sum(count) AS count FROM delivery_tally WHERE destination = ${name} GROUP BY state`,
  )
  const byState = { pending: 0, delivered: 0, failed: 0, skipped: 0 }
  for (const { state, count } of counts) byState[state] = count
  const waiting = yield* first<{ next: number | null; oldest: number | null }>(
    sql`SELECT min(due_at) AS next, min(seq) AS oldest FROM (
          SELECT due_at, seq FROM delivery WHERE destination = ${name} AND state = 'pending' AND seq >= ${context.dialect.first}
          ORDER BY due_at, seq LIMIT 1000) AS due`,
  )
  const { next = null, oldest = null } = waiting ?? {}
  return {
    name,
    ...byState,
    oldestPendingAt: oldest === null ? null : isoTime(yield* receivedAtOf(context, oldest)),
    nextAttemptAt: next === null ? null : isoTime(Math.max(next, context.nowMs)),
    perSecond: yield* rate(context, name),
    lastError: yield* lastError(context, name),
    failures: yield* failures(context, name),
  }
}

/** Deliveries per second in the last minute. Reads only the newest events: older events were usually delivered earlier. */
function* rate({ dialect, nowMs }: QueryContext, name: string): Query<number> {
  const newest = { first: Math.max(dialect.first, dialect.last - RATE_ROWS + 1), last: dialect.last }
  const row = yield* first<{ value: number }>(
    sql`SELECT count(*) AS value FROM delivery WHERE ${dialect.within(newest, 'delivery')}
          AND destination = ${name} AND state = 'delivered' AND last_at >= ${nowMs - RATE_MS}`,
  )
  return Math.round(((row?.value ?? 0) / RATE_MS) * 1e5) / 100
}

function* lastError({ dialect }: QueryContext, name: string): Query<DestinationState['lastError']> {
  const which = sql`FROM delivery WHERE destination = ${name} AND seq >= ${dialect.first} AND last_at IS NOT NULL`
  const row = yield* first<{ seq: number; at: number; reason: string }>(
    sql`SELECT seq, last_at AS at, reason FROM (
          SELECT * FROM (SELECT seq, last_at, reason ${which} AND state = 'failed' ORDER BY seq DESC LIMIT 100) AS failed
          UNION ALL
          SELECT * FROM (SELECT seq, last_at, reason ${which} AND state = 'pending' AND attempts > 0 ORDER BY due_at DESC LIMIT 100) AS tried
        ) AS errors ORDER BY last_at DESC LIMIT 1`,
  )
  return row === undefined
    ? null
    : { at: new Date(row.at).toISOString(), reason: row.reason, eventId: String(row.seq) }
}

function* failures(context: QueryContext, name: string): Query<DestinationState['failures']> {
  const rows = yield* all<{ seq: number; reason: string | null; attempts: number; last_at: number | null }>(
    sql`SELECT seq, reason, attempts, last_at FROM delivery
        WHERE destination = ${name} AND state = 'failed' AND seq >= ${context.dialect.first} ORDER BY seq DESC LIMIT ${FAILURES_SHOWN}`,
  )
  const summaries = yield* summariesOf(
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
