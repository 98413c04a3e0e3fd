import type { DestinationOutcome, EventRecord, Violation } from '../../record.ts'
import { numberOf } from '../cursor.ts'
import { differenceWith } from '../inherited.ts'
import type { SentDifference } from '../ports.ts'
import type { EventDetail, ShownAttempt, ShownDelivery } from '../query-results.ts'
import { all, first, type Query, raw, sql } from '../sql.ts'
import { storedMessage } from '../stored-message.ts'
import type { QueryContext } from './context.ts'
import { inheritedOf, recordsOf, summariesOf } from './records.ts'
import { requestById } from './requests.ts'
import { asSent, differenceOf } from './sent-message.ts'

const REPEATS_SHOWN = 20

interface DetailRow {
  body: string | null
  sent: string | null
  violations: string | null
  source_id: number
  inherited: number | null
}

export function* eventDetail(given: QueryContext, { id }: { id: string }): Query<EventDetail | null> {
  const context = { ...given, isExact: true }
  const seq = numberOf(id) ?? 0
  const { dialect } = context
  if (seq < dialect.first || seq > dialect.last) return null
  const [record] = yield* recordsOf(context, [seq])
  if (record === undefined) return null
  const more = yield* first<DetailRow>(
    sql`SELECT body, sent, violations, source_id, inherited FROM event WHERE ${dialect.within({ first: seq, last: seq })}`,
  )
  const inherited = yield* inheritedOf(dialect, [more?.inherited ?? null])
  return {
    ...record,
    ...sentOf(record, more, inherited.get(more?.inherited ?? 0)),
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

/** Other events with the same messageId: the first event, if `record` is a repeat, and the repeats. */
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
  // Repeats are newer than the first event.
  const bounds = { first: Math.max(known?.seq ?? record.seq, dialect.first), last: dialect.last }
  const same = dialect.equals('message_id', sql`${messageId}`)
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

/** Null if the message that the client sent is not known. */
function sentOf(
  { message }: EventRecord,
  row: DetailRow | undefined,
  inherited: string | undefined,
): Pick<EventDetail, 'sent' | 'difference'> {
  const own = storedMessage(row?.body ?? null)
  if (!row?.sent || own === null || message === null) return { sent: null, difference: null }
  const noted = JSON.parse(row.sent) as SentDifference
  const difference = differenceWith(own, inherited, noted)
  return { sent: asSent(own, noted), difference: differenceOf(message, difference) }
}

/** How far the clock of the client was behind: the time of receipt minus `sentAt`. */
function clockSkewMs({ message, receivedAt }: EventRecord): number | null {
  const sentAtMs = typeof message?.sentAt === 'string' ? Date.parse(message.sentAt) : Number.NaN
  return Number.isNaN(sentAtMs) ? null : Date.parse(receivedAt) - sentAtMs
}

interface DeliveryRow {
  destination: string
  state: DestinationOutcome['state']
  reason: string | null
  attempts: number
  due_at: number
  last_at: number | null
  last_ms: number | null
}

interface AttemptRow {
  at: number
  attempt: number
  ms: number
  result: ShownAttempt['result']
  reason: string | null
}

/** The last attempt is in `row`, and `before` has the earlier attempts. */
function shownDelivery(row: DeliveryRow, before: readonly AttemptRow[]): ShownDelivery {
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
