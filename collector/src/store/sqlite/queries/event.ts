import type { EventRecord } from '../../../record.ts'
import { numberOf } from '../../place.ts'
import type { Violation } from '../../ports.ts'
import type { EventDetail, ShownDelivery } from '../../query-results.ts'
import { type AttemptRow, type DeliveryRow, shownDelivery } from '../../results/delivery.ts'
import { clockSkewMs, REPEATS_SHOWN, sentFacts } from '../../results/event.ts'
import { recordsOf, summariesOf } from '../records.ts'
import { SEGMENT_BITS } from '../schema.ts'
import { boundsOf } from '../slices.ts'
import type { Work } from '../work.ts'
import type { QueryContext } from './context.ts'
import { requestById } from './requests.ts'

export function* eventDetail(context: QueryContext, { id }: { id: string }): Work<EventDetail | null> {
  const seq = numberOf(id) ?? 0
  const { database } = context
  const bounds = boundsOf(database)
  if (seq < bounds.first || seq > bounds.last) return null
  const [record] = recordsOf(database, [seq])
  if (record === undefined) return null
  const more = database.get<{ sent: string | null; violations: string | null; source_id: number }>(
    'SELECT sent, violations, source_id FROM event WHERE seq = ?',
    seq,
  )
  const neighbour = (sql: string) => {
    const found = database.value<number>(`SELECT ${sql}`, seq, bounds.first)
    return found === undefined || found === null ? null : String(found)
  }
  yield
  return {
    ...record,
    ...sentFacts(record, more?.sent ?? null),
    clockSkewMs: clockSkewMs(record),
    requestDetails: record.request === null ? null : requestById(database, record.request),
    destinations: deliveriesOf(context, seq),
    ...repeatsOf(context, record, more?.source_id ?? -1),
    violations: more?.violations ? (JSON.parse(more.violations) as Violation[]) : [],
    previous: neighbour('max(seq) AS value FROM event WHERE seq < ? AND seq >= ?'),
    following: neighbour('min(seq) AS value FROM event WHERE seq > ? AND seq >= ?'),
  }
}

function deliveriesOf({ database }: QueryContext, seq: number): ShownDelivery[] {
  return database
    .all<DeliveryRow>('SELECT * FROM delivery WHERE seq = ? ORDER BY destination', seq)
    .map((row) => {
      const attempts = database.all<AttemptRow>(
        'SELECT at, attempt, ms, result, reason FROM attempt WHERE seq = ? AND destination = ? ORDER BY at, attempt',
        seq,
        row.destination,
      )
      return shownDelivery(row, attempts)
    })
}

/** The event whose messageId this one repeats, and those that repeat this one's. */
function repeatsOf(
  { database }: QueryContext,
  record: EventRecord,
  sourceId: number,
): Pick<EventDetail, 'first' | 'repeats'> {
  const { messageId } = record
  if (messageId === null) return { first: null, repeats: [] }
  const bounds = boundsOf(database)
  const seqs: number[] = []
  const isRepeat = record.reason === 'duplicate' || record.reason === 'dedup_conflict'
  const firstSeq = isRepeat
    ? database.value<number>(
        'SELECT seq AS value FROM seen WHERE source_id = ? AND message_id = ?',
        sourceId,
        messageId,
      )
    : undefined
  // The repeats come soon after as a rule; so many segments after the event itself are looked through.
  const start = firstSeq ?? record.seq
  const rows = database.all<{ seq: number }>(
    `WITH RECURSIVE segments(n) AS (SELECT ?1 >> ${SEGMENT_BITS} UNION ALL SELECT n + 1 FROM segments WHERE n < ?2 >> ${SEGMENT_BITS})
     SELECT seq FROM segments CROSS JOIN event INDEXED BY event_message_id
     ON seq >> ${SEGMENT_BITS} = n AND message_id = ?3 WHERE seq >= ?1 AND source_id = ?4 LIMIT ?5`,
    Math.max(start, bounds.first),
    bounds.last,
    messageId,
    sourceId,
    REPEATS_SHOWN + 2,
  )
  for (const { seq } of rows) if (seq !== record.seq && seq !== firstSeq) seqs.push(seq)
  const first = firstSeq === undefined || firstSeq < bounds.first ? [] : recordsOf(database, [firstSeq])
  return {
    first: first[0] ?? null,
    repeats: summariesOf(database, seqs.slice(0, REPEATS_SHOWN)).map(({ id, receivedAt, reason }) => ({
      id,
      receivedAt,
      reason,
    })),
  }
}
