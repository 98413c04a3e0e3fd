import type { DestinationState } from '../../query-results.ts'
import { countsByState, FAILURES_SHOWN, RATE_MS, rateOf } from '../../results/delivery.ts'
import { receivedAtOf, summariesOf } from '../records.ts'
import type { QueryContext } from './context.ts'

const RATE_ROWS = 100_000

export async function destinations(
  context: QueryContext,
  { names }: { names: string[] },
): Promise<DestinationState[]> {
  const states: DestinationState[] = []
  for (const name of names) states.push(await stateOf(context, name))
  return states
}

const isoTime = (timeMs: number | null | undefined) =>
  timeMs === null || timeMs === undefined ? null : new Date(timeMs).toISOString()

async function stateOf(context: QueryContext, name: string): Promise<DestinationState> {
  const { sql, nowMs, span } = context
  const counts = await sql.query<Parameters<typeof countsByState>[0][number]>(
    'SELECT state, sum(count) AS count FROM delivery_tally WHERE destination = $1 GROUP BY state',
    [name],
  )
  const [waiting] = await sql.query<{ next: number | null; oldest: number | null }>(
    `SELECT min(due_at) AS next, min(seq) AS oldest FROM (
       SELECT due_at, seq FROM delivery WHERE destination = $1 AND state = 'pending' AND seq >= $2
       ORDER BY due_at, seq LIMIT 1000) AS due`,
    [name, span.first],
  )
  const { next = null, oldest = null } = waiting ?? {}
  return {
    name,
    ...countsByState(counts),
    oldestPendingAt: oldest === null ? null : isoTime(await receivedAtOf(context, oldest)),
    nextAttemptAt: next === null ? null : isoTime(Math.max(next, nowMs)),
    perSecond: await rate(context, name),
    lastError: await lastError(context, name),
    failures: await failures(context, name),
  }
}

/** Deliveries of the last minute, a second; of the newest rows, as older ones were delivered before. */
async function rate({ sql, nowMs, span }: QueryContext, name: string): Promise<number> {
  const newest = { first: Math.max(span.first, span.last - RATE_ROWS + 1), last: span.last }
  const [row] = await sql.query<{ value: number }>(
    `SELECT count(*) AS value FROM delivery WHERE seq >= $1 AND day BETWEEN $2::date AND $3::date
       AND destination = $4 AND state = 'delivered' AND last_at >= $5`,
    [newest.first, ...span.daysOf(newest), name, nowMs - RATE_MS],
  )
  return rateOf(row?.value ?? 0)
}

async function lastError({ sql, span }: QueryContext, name: string): Promise<DestinationState['lastError']> {
  const which = 'FROM delivery WHERE destination = $1 AND seq >= $2 AND last_at IS NOT NULL'
  const [row] = await sql.query<{ seq: number; at: number; reason: string }>(
    `SELECT seq, last_at AS at, reason FROM (
       (SELECT seq, last_at, reason ${which} AND state = 'failed' ORDER BY seq DESC LIMIT 100)
       UNION ALL
       (SELECT seq, last_at, reason ${which} AND state = 'pending' AND attempts > 0 ORDER BY due_at DESC LIMIT 100)
     ) AS errors ORDER BY last_at DESC LIMIT 1`,
    [name, span.first],
  )
  return row === undefined
    ? null
    : { at: new Date(row.at).toISOString(), reason: row.reason, eventId: String(row.seq) }
}

async function failures(context: QueryContext, name: string): Promise<DestinationState['failures']> {
  const rows = await context.sql.query<{
    seq: number
    reason: string | null
    attempts: number
    last_at: number | null
  }>(
    `SELECT seq, reason, attempts, last_at FROM delivery
     WHERE destination = $1 AND state = 'failed' AND seq >= $2 ORDER BY seq DESC LIMIT $3`,
    [name, context.span.first, FAILURES_SHOWN],
  )
  const summaries = await summariesOf(
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
