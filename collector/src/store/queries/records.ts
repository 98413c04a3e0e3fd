import { parseExact } from '../../json/exact-json.ts'
import type { DestinationOutcome, EventRecord, EventSummary } from '../../record.ts'
import type { Dialect } from '../dialect.ts'
import { merged } from '../inherited.ts'
import { all, first, type Query, raw, type Sql, sql } from '../sql.ts'
import { storedMessage } from '../stored-message.ts'
import { EVENT_ROW_COLUMNS, type EventRow, outcome, summaryOfRow } from '../summary.ts'
import type { PageRoom } from './page-room.ts'

const ROWS_PER_STATEMENT = 100

interface Reading {
  dialect: Dialect
  /** Whether messages are parsed with `parseExact`. */
  isExact?: boolean | undefined
}

/** In the order of `seqs`. Events that were deleted in the meantime, or do not fit into `room`, are left out. */
export function* recordsOf(
  { dialect, isExact = false }: Reading,
  seqs: readonly number[],
  room?: PageRoom,
): Query<EventRecord[]> {
  const records: EventRecord[] = []
  for (let start = 0; start < seqs.length && !room?.isFull; start += ROWS_PER_STATEMENT) {
    yield* readSome(dialect, seqs.slice(start, start + ROWS_PER_STATEMENT), records, room, isExact)
  }
  return records
}

export function* summariesOf(reading: Reading, seqs: readonly number[]): Query<EventSummary[]> {
  const summaries: EventSummary[] = []
  // The messages of a piece are let go before the next is read.
  for (let start = 0; start < seqs.length; start += ROWS_PER_STATEMENT) {
    const records = yield* recordsOf(
      { ...reading, isExact: true },
      seqs.slice(start, start + ROWS_PER_STATEMENT),
    )
    for (const { message: _, ...summary } of records) summaries.push(summary)
  }
  return summaries
}

function* readSome(
  dialect: Dialect,
  seqs: readonly number[],
  into: EventRecord[],
  room: PageRoom | undefined,
  isExact: boolean,
): Query<void> {
  const rows = yield* all<EventRow>(
    sql`SELECT ${raw(EVENT_ROW_COLUMNS)} FROM event JOIN source ON source.id = source_id WHERE ${dialect.among(seqs)}`,
  )
  const deliveries = yield* all<Parameters<typeof outcome>[0] & { seq: number }>(
    sql`SELECT seq, destination, state, reason, attempts FROM delivery
        WHERE ${dialect.among(seqs, 'delivery')} ORDER BY seq, destination`,
  )
  const outcomes = new Map<number, DestinationOutcome[]>()
  for (const row of deliveries) {
    const list = outcomes.get(row.seq)
    if (list === undefined) outcomes.set(row.seq, [outcome(row)])
    else list.push(outcome(row))
  }
  const bySeq = new Map(rows.map((row) => [row.seq, row]))
  const texts = yield* inheritedOf(
    dialect,
    rows.map((row) => row.inherited),
  )
  const parse = isExact ? parseExact : JSON.parse
  for (const seq of seqs) {
    const row = bySeq.get(seq)
    if (row === undefined) continue
    const inherited = texts.get(row.inherited ?? 0)
    if (room?.take(row.body, inherited) === false) return
    const own = storedMessage(row.body, parse)
    const message = own && merged(own, inherited, parse)
    into.push({ ...summaryOfRow(row, message, outcomes.get(seq) ?? []), message })
  }
}

/** The JSON texts in the table `inherited`, by `seq`. */
export function* inheritedOf(
  dialect: Pick<Dialect, 'among'>,
  seqs: ReadonlyArray<number | null>,
): Query<Map<number, string>> {
  const distinct = [...new Set(seqs)].filter((seq) => seq !== null)
  if (distinct.length === 0) return new Map()
  const rows = yield* all<{ seq: number; body: string }>(
    sql`SELECT seq, body FROM inherited WHERE ${dialect.among(distinct, 'inherited')}`,
  )
  return new Map(rows.map(({ seq, body }) => [seq, body]))
}

export function* receivedAtOf({ dialect }: Reading, seq: number): Query<number | undefined> {
  const row = yield* first<{ at: number }>(
    sql`SELECT received_at AS at FROM event WHERE ${dialect.within({ first: seq, last: seq })}`,
  )
  return row?.at
}

/**
 * The time of the record with this sequence number, or of the next record if that one was deleted.
 *
 * @param from A column `at` and its table.
 */
export function* timeAt(from: Sql, seq: number | undefined): Query<string | null> {
  if (seq === undefined) return null
  const row = yield* first<{ at: number }>(sql`SELECT ${from} WHERE seq >= ${seq} ORDER BY seq LIMIT 1`)
  return row === undefined ? null : new Date(row.at).toISOString()
}
