import type { EventRecord } from '../../../record.ts'
import { numberOf } from '../../place.ts'
import type { Violation } from '../../ports.ts'
import type { EventDetail, ShownDelivery } from '../../query-results.ts'
import { type AttemptRow, type DeliveryRow, shownDelivery } from '../../results/delivery.ts'
import { clockSkewMs, REPEATS_SHOWN, sentFacts } from '../../results/event.ts'
import { recordsOf, summariesOf } from '../records.ts'
import type { QueryContext } from './context.ts'
import { requestById } from './requests.ts'

export async function eventDetail(
  context: QueryContext,
  { id }: { id: string },
): Promise<EventDetail | null> {
  const seq = numberOf(id) ?? 0
  const { sql, span } = context
  if (seq < span.first || seq > span.last) return null
  const [record] = await recordsOf(context, [seq])
  if (record === undefined) return null
  const [more] = await sql.query<{ sent: string | null; violations: string | null; sourceId: number }>(
    'SELECT sent, violations, source_id AS "sourceId" FROM event WHERE seq = $1 AND day BETWEEN $2::date AND $3::date',
    [seq, ...span.daysOf({ first: seq, last: seq })],
  )
  return {
    ...record,
    ...sentFacts(record, more?.sent ?? null),
    clockSkewMs: clockSkewMs(record),
    requestDetails: record.request === null ? null : await requestById(sql, record.request),
    destinations: await deliveriesOf(context, seq),
    ...(await repeatsOf(context, record, more?.sourceId ?? -1)),
    violations: more?.violations ? (JSON.parse(more.violations) as Violation[]) : [],
    previous: await neighbour(context, 'max(seq) AS seq FROM event WHERE seq < $1 AND seq >= $2', seq),
    following: await neighbour(context, 'min(seq) AS seq FROM event WHERE seq > $1 AND seq >= $2', seq),
  }
}

async function neighbour({ sql, span }: QueryContext, select: string, seq: number): Promise<string | null> {
  const [row] = await sql.query<{ seq: number | null }>(`SELECT ${select}`, [seq, span.first])
  return row === undefined || row.seq === null ? null : String(row.seq)
}

async function deliveriesOf({ sql, span }: QueryContext, seq: number): Promise<ShownDelivery[]> {
  const values = [seq, ...span.daysOf({ first: seq, last: seq })]
  const where = 'WHERE seq = $1 AND day BETWEEN $2::date AND $3::date'
  const rows = await sql.query<DeliveryRow>(
    `SELECT destination, state, reason, attempts, due_at, last_at, last_ms FROM delivery ${where} ORDER BY destination`,
    values,
  )
  const attempts = await sql.query<AttemptRow & { destination: string }>(
    `SELECT destination, at, attempt, ms, result, reason FROM attempt ${where} ORDER BY at, attempt`,
    values,
  )
  return rows.map((row) =>
    shownDelivery(
      row,
      attempts.filter(({ destination }) => destination === row.destination),
    ),
  )
}

/** The event whose messageId this one repeats, and those that repeat this one's. */
async function repeatsOf(
  context: QueryContext,
  record: EventRecord,
  sourceId: number,
): Promise<Pick<EventDetail, 'first' | 'repeats'>> {
  const { messageId } = record
  if (messageId === null) return { first: null, repeats: [] }
  const { sql, span } = context
  const isRepeat = record.reason === 'duplicate' || record.reason === 'dedup_conflict'
  const [known] = isRepeat
    ? await sql.query<{ seq: number }>('SELECT seq FROM seen WHERE source_id = $1 AND message_id = $2', [
        sourceId,
        messageId,
      ])
    : []
  const rows = await sql.query<{ seq: number }>(
    `SELECT seq FROM event WHERE brief(message_id) = brief($1) AND message_id = $1 AND seq >= $2 AND source_id = $3
     ORDER BY seq LIMIT $4`,
    [messageId, Math.max(known?.seq ?? record.seq, span.first), sourceId, REPEATS_SHOWN + 2],
  )
  const seqs = rows.map(({ seq }) => seq).filter((seq) => seq !== record.seq && seq !== known?.seq)
  const first = known === undefined || known.seq < span.first ? [] : await recordsOf(context, [known.seq])
  const repeats = await summariesOf(context, seqs.slice(0, REPEATS_SHOWN))
  return {
    first: first[0] ?? null,
    repeats: repeats.map(({ id, receivedAt, reason }) => ({ id, receivedAt, reason })),
  }
}
