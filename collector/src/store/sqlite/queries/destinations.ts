import type { DestinationState } from '../../query-results.ts'
import { countsByState, FAILURES_SHOWN, RATE_MS, rateOf } from '../../results/delivery.ts'
import { summariesOf } from '../records.ts'
import { boundsOf } from '../slices.ts'
import type { Work } from '../work.ts'
import type { QueryContext } from './context.ts'

const RATE_ROWS = 100_000

export function* destinations(
  context: QueryContext,
  { names }: { names: string[] },
): Work<DestinationState[]> {
  const states: DestinationState[] = []
  for (const name of names) {
    states.push(stateOf(context, name))
    yield
  }
  return states
}

const isoTime = (timeMs: number | null | undefined) =>
  timeMs === null || timeMs === undefined ? null : new Date(timeMs).toISOString()

function stateOf(context: QueryContext, name: string): DestinationState {
  const { database, nowMs } = context
  const { first } = boundsOf(database)
  const rows = database.all<Parameters<typeof countsByState>[0][number]>(
    'SELECT state, sum(count) AS count FROM delivery_tally WHERE destination = ? GROUP BY state',
    name,
  )
  const pending = "destination = ? AND state = 'pending' AND seq >= ?"
  const next = database.value<number>(
    `SELECT due_at AS value FROM delivery WHERE ${pending} ORDER BY due_at, seq LIMIT 1`,
    name,
    first,
  )
  const oldest = database.value<number>(
    `SELECT min(seq) AS value FROM (SELECT seq FROM delivery WHERE ${pending} ORDER BY due_at, seq LIMIT 1000)`,
    name,
    first,
  )
  return {
    name,
    ...countsByState(rows),
    oldestPendingAt: isoTime(
      oldest === undefined || oldest === null
        ? null
        : database.value<number>('SELECT received_at AS value FROM event WHERE seq = ?', oldest),
    ),
    nextAttemptAt: next === undefined || next === null ? null : isoTime(Math.max(next, nowMs)),
    perSecond: rate(context, name),
    lastError: lastError(context, name, first),
    failures: failures(context, name, first),
  }
}

/** Deliveries of the last minute, a second; of the newest rows, as older ones were delivered before. */
function rate({ database, nowMs }: QueryContext, name: string): number {
  const newest = database.value<number>('SELECT max(seq) AS value FROM delivery') ?? 0
  const count = database.value<number>(
    `SELECT count(*) AS value FROM delivery WHERE seq > ? AND destination = ? AND state = 'delivered' AND last_at >= ?`,
    newest - RATE_ROWS,
    name,
    nowMs - RATE_MS,
  )
  return rateOf(count ?? 0)
}

function lastError({ database }: QueryContext, name: string, first: number): DestinationState['lastError'] {
  const row = database.get<{ seq: number; at: number; reason: string }>(
    `SELECT seq, last_at AS at, reason FROM (
       SELECT * FROM (SELECT seq, last_at, reason FROM delivery WHERE destination = ?1 AND state = 'failed' AND seq >= ?2 AND last_at IS NOT NULL ORDER BY seq DESC LIMIT 100)
       UNION ALL
       SELECT * FROM (SELECT seq, last_at, reason FROM delivery WHERE destination = ?1 AND state = 'pending' AND seq >= ?2 AND attempts > 0 AND last_at IS NOT NULL ORDER BY due_at DESC LIMIT 100)
     ) ORDER BY last_at DESC LIMIT 1`,
    name,
    first,
  )
  return row === undefined
    ? null
    : { at: new Date(row.at).toISOString(), reason: row.reason, eventId: String(row.seq) }
}

function failures({ database }: QueryContext, name: string, first: number): DestinationState['failures'] {
  const rows = database.all<{ seq: number; reason: string | null; attempts: number; last_at: number | null }>(
    `SELECT seq, reason, attempts, last_at FROM delivery
     WHERE destination = ? AND state = 'failed' AND seq >= ? ORDER BY seq DESC LIMIT ?`,
    name,
    first,
    FAILURES_SHOWN,
  )
  const events = new Map(
    summariesOf(
      database,
      rows.map(({ seq }) => seq),
    ).map((event) => [event.seq, event]),
  )
  return rows.map(({ seq, reason, attempts, last_at }) => ({
    id: String(seq),
    name: events.get(seq)?.name ?? null,
    type: events.get(seq)?.type ?? null,
    reason: reason ?? '',
    attempts,
    at: isoTime(last_at),
  }))
}
