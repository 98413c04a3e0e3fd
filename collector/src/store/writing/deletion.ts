import { BUCKET_MS } from '../buckets.ts'
import type { Dialect, StepContext } from '../dialect.ts'
import { all, first, type Query, raw, type Sql, sql } from '../sql.ts'
import { countsOf } from './counts.ts'
import { numbersOf } from './delivery-steps.ts'

/** Events of one commit, which may share inherited fields, are at most this far apart. */
const COMMIT_SPAN = 100_000

/**
 * Deletes chosen events with their deliveries and the fields that no other event inherits, and subtracts them from the counts.
 * Their messageIds stay known: a repeat of a deleted event is a duplicate. Returns their number.
 */
export function* deleteEvents({ dialect }: StepContext, eventIds: readonly string[]): Query<number> {
  const seqs = numbersOf(eventIds)
  const there = yield* all<{ seq: number; inherited: number | null }>(
    sql`SELECT seq, inherited FROM event WHERE ${dialect.among(seqs)} AND seq >= ${dialect.first} ORDER BY seq ${dialect.lockEvents}`,
  )
  if (there.length === 0) return 0
  const found = there.map(({ seq }) => seq)
  const among = dialect.among(found)
  const counts = countsOf('event', 'delivery', `WHERE ${among.sql}`)
  const counted = (name: keyof typeof counts): Sql => ({ sql: counts[name], values: among.values })
  yield sql`UPDATE tally SET count = tally.count - gone.count FROM (${counted('tally')}) AS gone
    WHERE tally.bucket = gone.bucket AND tally.source_id = gone.source_id AND tally.kind = gone.kind
      AND tally.name = gone.name AND tally.reason = gone.reason`
  yield sql`UPDATE total SET count = total.count - gone.count FROM (${counted('total')}) AS gone
    WHERE total.source_id = gone.source_id AND total.kind = gone.kind AND total.reason = gone.reason`
  yield sql`UPDATE delivery_tally SET count = delivery_tally.count - gone.count FROM (${counted('delivery_tally')}) AS gone
    WHERE delivery_tally.bucket = gone.bucket AND delivery_tally.destination = gone.destination
      AND delivery_tally.state = gone.state AND delivery_tally.reason = gone.reason`
  const times = yield* first<{ first: number; last: number }>(
    sql`SELECT min(received_at) / ${raw(String(BUCKET_MS))} AS first, max(received_at) / ${raw(String(BUCKET_MS))} AS last
        FROM event WHERE ${among}`,
  )
  for (const table of ['attempt', 'delivery', 'event'] as const)
    yield sql`DELETE FROM ${raw(table)} WHERE ${dialect.among(found, table)}`
  yield* deleteInherited(dialect, [...new Set(there.flatMap(({ inherited }) => inherited ?? []))])
  // Counts of 0 would be listed as event names that never came.
  for (const table of ['tally', 'delivery_tally'])
    yield sql`DELETE FROM ${raw(table)} WHERE count = 0 AND bucket BETWEEN ${times?.first ?? 0} AND ${times?.last ?? 0}`
  yield sql`DELETE FROM total WHERE count = 0`
  yield dialect.notifyOutcomes
  return found.length
}

/** Deletes those of these rows to which no event refers any more. */
function* deleteInherited(dialect: Dialect, seqs: readonly number[]): Query<void> {
  if (seqs.length === 0) return
  const near = dialect.within({ first: Math.min(...seqs), last: Math.max(...seqs) + COMMIT_SPAN })
  // Events that refer to a row come before the next row. The order makes the databases read only these, by the primary key.
  yield sql`DELETE FROM inherited WHERE ${dialect.among(seqs, 'inherited')} AND (
    SELECT event.seq FROM event WHERE event.inherited = inherited.seq AND ${near}
      AND event.seq BETWEEN inherited.seq AND coalesce(
        (SELECT later.seq FROM inherited AS later WHERE later.seq > inherited.seq ORDER BY later.seq LIMIT 1),
        inherited.seq + ${raw(String(COMMIT_SPAN))})
    ORDER BY event.seq LIMIT 1) IS NULL`
}
