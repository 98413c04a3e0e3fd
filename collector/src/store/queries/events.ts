import type { DestinationOutcome, EventRecord, EventSummary } from '../../record.ts'
import type { Search } from '../../search/syntax.ts'
import type { Cursor } from '../cursor.ts'
import { eventCondition } from '../event-condition.ts'
import { allOf, among, raw, type Sql, sql, type TimeRange, within } from '../sql.ts'
import { storedMessage } from '../stored-message.ts'
import { EVENT_ROW_COLUMNS, type EventRow, summaryOfRow } from '../summary.ts'
import type { QueryContext } from './context.ts'

/** Characters of all messages on one page: messages may have 32 KB. */
const MAX_PAGE_CHARACTERS = 2 * 1024 * 1024

export interface EventSearch extends TimeRange {
  search: Search
  /** The limit itself is excluded. */
  after?: Cursor | number | undefined
}

export interface Paging {
  order: 'oldest' | 'newest'
  limit: number
  /** `next` of the previous page. */
  cursor?: Cursor | undefined
}

/** @throws SearchSyntaxError when the search has an invalid value for a field. */
export function conditionOfSearch({ nowMs }: QueryContext, query: EventSearch): Sql {
  const { search, after } = query
  return allOf([
    ...(after === undefined ? [] : [sql`seq > ${Number(after)}`]),
    within('received_at', query),
    eventCondition(search, nowMs),
  ])
}

export function listEvents(context: QueryContext, query: EventSearch & Paging & { isFull: boolean }) {
  const { limit, isFull } = query
  // Reads one more event than the page can have, to find out whether there is a next page.
  const seqs = seqsOf(context, query, limit + 1)
  const records = recordsOf(context, seqs.slice(0, limit), isFull ? MAX_PAGE_CHARACTERS : undefined)
  const last = records.at(-1)?.seq
  return {
    events: isFull ? records : records.map(withoutMessage),
    next: seqs.length > records.length && last !== undefined ? String(last) : null,
    head: String(context.database.number('SELECT max(seq) AS value FROM event')),
  }
}

/** All matching records, for callers inside the process. */
export function allEvents(
  context: QueryContext,
  query: EventSearch & { order: Paging['order']; limit?: number | undefined },
): EventRecord[] {
  return recordsOf(context, seqsOf(context, query, query.limit ?? -1))
}

function seqsOf(
  context: QueryContext,
  query: EventSearch & Pick<Paging, 'order' | 'cursor'>,
  limit: number,
): number[] {
  const { order, cursor } = query
  const start =
    cursor === undefined ? raw('TRUE') : sql`seq ${raw(order === 'newest' ? '<' : '>')} ${Number(cursor)}`
  return context.database
    .all<{ seq: number }>(
      sql`SELECT seq FROM event WHERE ${start} AND ${conditionOfSearch(context, query)}
          ORDER BY seq ${raw(order === 'newest' ? 'DESC' : 'ASC')} LIMIT ${limit}`,
    )
    .map(({ seq }) => seq)
}

export function countEvents(context: QueryContext, query: EventSearch): number {
  return context.database.number(
    sql`SELECT count(*) AS value FROM event WHERE ${conditionOfSearch(context, query)}`,
  )
}

const ROWS_PER_STATEMENT = 500

/**
 * In the order of `seqs`. Events that were deleted are left out.
 *
 * @param maxCharacters Of all messages; the first always fits.
 */
export function recordsOf(
  { database }: Pick<QueryContext, 'database'>,
  seqs: readonly number[],
  maxCharacters = Number.POSITIVE_INFINITY,
): EventRecord[] {
  const records: EventRecord[] = []
  let left = maxCharacters
  for (let start = 0; start < seqs.length && left > 0; start += ROWS_PER_STATEMENT) {
    const part = seqs.slice(start, start + ROWS_PER_STATEMENT)
    const rows = database.all<EventRow>(
      sql`SELECT ${raw(EVENT_ROW_COLUMNS)} FROM event WHERE ${among('seq', part)}`,
    )
    const bySeq = new Map(rows.map((row) => [row.seq, row]))
    const outcomes = outcomesOf(database, part)
    for (const seq of part) {
      const row = bySeq.get(seq)
      if (row === undefined) continue
      if (left <= 0) break
      left -= row.body?.length ?? 0
      const message = storedMessage(row.body)
      records.push({ ...summaryOfRow(row, message, outcomes.get(seq) ?? []), message })
    }
  }
  return records
}

function outcomesOf(
  database: QueryContext['database'],
  seqs: readonly number[],
): Map<number, DestinationOutcome[]> {
  const rows = database.all<Omit<DestinationOutcome, 'reason'> & { seq: number; reason: string | null }>(
    sql`SELECT seq, destination AS name, state, reason, attempts FROM delivery WHERE ${among('seq', seqs)} ORDER BY seq, destination`,
  )
  const outcomes = new Map<number, DestinationOutcome[]>()
  for (const { seq, reason, ...row } of rows) {
    const own = outcomes.get(seq) ?? []
    own.push(reason === null ? row : { ...row, reason })
    outcomes.set(seq, own)
  }
  return outcomes
}

export function summariesOf(
  context: Pick<QueryContext, 'database'>,
  seqs: readonly number[],
): EventSummary[] {
  return recordsOf(context, seqs).map(withoutMessage)
}

function withoutMessage({ message: _, ...summary }: EventRecord): EventSummary {
  return summary
}
