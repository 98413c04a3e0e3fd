import type { EventRecord, Violation } from '../../record.ts'
import { numberOf } from '../cursor.ts'
import type { EventDetail, ShownDelivery } from '../query-results.ts'
import { type AttemptRow, type DeliveryRow, shownDelivery } from '../results/delivery.ts'
import { clockSkewMs, REPEATS_SHOWN, type SentRow, sentFacts } from '../results/event.ts'
import { all, first, type Query, raw, sql } from '../sql.ts'
import type { QueryContext } from './context.ts'
import { inheritedOf, recordsOf, summariesOf } from './records.ts'
import { requestById } from './requests.ts'

export function* eventDetail(given: QueryContext, { id }: { id: string }): Query<EventDetail | null> {
  const context = { ...given, isExact: true }
  const seq = numberOf(id) ?? 0
  const { dialect } = context
  if (seq < dialect.first || seq > dialect.last) return null
  const [record] = yield* recordsOf(context, [seq])
  if (record === undefined) return null
  const more = yield* first<
    SentRow & { violations: string | null; source_id: number; inherited: number | null }
  >(
    sql`SELECT body, sent, violations, source_id, inherited FROM event WHERE ${dialect.within({ first: seq, last: seq })}`,
  )
  const inherited = yield* inheritedOf(dialect, [more?.inherited ?? null])
  return {
    ...record,
    ...sentFacts(record, more, inherited.get(more?.inherited ?? 0)),
    clockSkewMs: clockSkewMs(record),
    requestDetails: record.request === null ? null : yield* requestById(record.request),
    destinations: yield* deliveriesOf(context, seq),
    ...(yield* repeatsOf(context, record, more?.source_id ?? -1)),
    violations: more?.violations ? (JSON.parse(more.violations) as Violation[]) : [],
    previous: yield* neighbour(context, 'max', '<', seq),
    following: yield* neighbour(context, 'min', '>', seq),
  }
}

function* neighbour(
  { dialect }: QueryContext,
  which: 'max' | 'min',
  side: '<' | '>',
  seq: number,
): Query<string | null> {
  const row = yield* first<{ seq: number | null }>(
    sql`SELECT ${raw(which)}(seq) AS seq FROM event WHERE seq ${raw(side)} ${seq} AND seq >= ${dialect.first}`,
  )
  return row === undefined || row.seq === null ? null : String(row.seq)
}

function* deliveriesOf({ dialect }: QueryContext, seq: number): Query<ShownDelivery[]> {
  const one = { first: seq, last: seq }
  const rows = yield* all<DeliveryRow>(
    sql`SELECT destination, state, reason, attempts, due_at, last_at, last_ms FROM delivery
        WHERE ${dialect.within(one, 'delivery')} ORDER BY destination`,
  )
  const attempts = yield* all<AttemptRow & { destination: string }>(
    sql`SELECT destination, at, attempt, ms, result, reason FROM attempt
        WHERE ${dialect.within(one, 'attempt')} ORDER BY at, attempt`,
  )
  return rows.map((row) =>
    shownDelivery(
      row,
      attempts.filter(({ destination }) => destination === row.destination),
    ),
  )
}

/** The event whose messageId this one repeats, and those that repeat this one's. */
function* repeatsOf(
  context: QueryContext,
  record: EventRecord,
  sourceId: number,
): Query<Pick<EventDetail, 'first' | 'repeats'>> {
  const { messageId } = record
  if (messageId === null) return { first: null, repeats: [] }
  const { dialect } = context
  const isRepeat = record.reason === 'duplicate' || record.reason === 'dedup_conflict'
  const known = isRepeat
    ? yield* first<{ seq: number }>(
        sql`SELECT seq FROM seen WHERE source_id = ${sourceId} AND message_id = ${messageId}`,
      )
    : undefined
  // The repeats come after the event itself.
  const bounds = { first: Math.max(known?.seq ?? record.seq, dialect.first), last: dialect.last }
  const same = dialect.has('message_id', sql`${messageId}`)
  const rows = yield* all<{ seq: number }>(
    sql`SELECT seq FROM ${dialect.lookup('message_id', same, bounds)} AND source_id = ${sourceId}
        ORDER BY seq LIMIT ${REPEATS_SHOWN + 2}`,
  )
  const seqs = rows.map(({ seq }) => seq).filter((seq) => seq !== record.seq && seq !== known?.seq)
  const original =
    known === undefined || known.seq < dialect.first ? [] : yield* recordsOf(context, [known.seq])
  const repeats = yield* summariesOf(context, seqs.slice(0, REPEATS_SHOWN))
  return {
    first: original[0] ?? null,
    repeats: repeats.map(({ id, receivedAt, reason }) => ({ id, receivedAt, reason })),
  }
}
