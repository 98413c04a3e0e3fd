import type { Search } from '../../../search/syntax.ts'
import { cursorOf, numberOf } from '../../place.ts'
import type { TimeRange } from '../../queries.ts'
import type { RequestDetail, RequestSummary, RequestsPage } from '../../query-results.ts'
import { EVENTS_SHOWN, type RequestRow, requestFacts, requestSummary } from '../../results/request.ts'
import { requestCondition } from '../../search/request-condition.ts'
import type { Database, SqlValue } from '../database.ts'
import { summariesOf } from '../records.ts'
import { SQLITE } from '../search/dialect.ts'
import type { Work } from '../work.ts'
import type { QueryContext } from './context.ts'

const ROWS_PER_SLICE = 2000

export interface RequestsQuery extends TimeRange {
  search: Search
  order: 'oldest' | 'newest'
  limit: number
  after?: number | undefined
  before?: number | undefined
}

export function* listRequests(context: QueryContext, query: RequestsQuery): Work<RequestsPage> {
  const { database, budget, nowMs } = context
  const isNewest = query.order === 'newest'
  const { sql, values } = requestCondition(SQLITE, query.search, nowMs)
  const first = Math.max(
    database.value<number>('SELECT min(seq) AS value FROM request') ?? 1,
    (query.after ?? 0) + 1,
  )
  const newest = database.value<number>('SELECT max(seq) AS value FROM request') ?? 0
  const last = Math.min(newest, (query.before ?? Number.MAX_SAFE_INTEGER) - 1)
  const rows: RequestRow[] = []
  let from = isNewest ? last : first
  let isComplete = true
  while (from >= first && from <= last && rows.length <= query.limit) {
    const to = isNewest
      ? Math.max(first, from - ROWS_PER_SLICE + 1)
      : Math.min(last, from + ROWS_PER_SLICE - 1)
    const found = database.all<RequestRow>(
      `SELECT * FROM request WHERE seq BETWEEN ? AND ? AND at >= ? AND at < ? AND ${sql}
       ORDER BY seq ${isNewest ? 'DESC' : 'ASC'} LIMIT ?`,
      Math.min(from, to),
      Math.max(from, to),
      query.fromMs ?? Number.MIN_SAFE_INTEGER,
      query.toMs ?? Number.MAX_SAFE_INTEGER,
      ...(values as SqlValue[]),
      query.limit + 1 - rows.length,
    )
    rows.push(...found)
    from = isNewest ? to - 1 : to + 1
    yield
    if (budget.isUsedUp && rows.length <= query.limit && from >= first && from <= last) {
      isComplete = false
      break
    }
  }
  const shown = rows.slice(0, query.limit)
  const end = isComplete ? shown.at(-1)?.seq : isNewest ? from + 1 : from - 1
  const hasNext = rows.length > query.limit || !isComplete
  const searchedTo = isComplete
    ? undefined
    : database.value<number>('SELECT at AS value FROM request WHERE seq >= ? LIMIT 1', end ?? 0)
  return {
    requests: shown.map(requestSummary),
    next: hasNext && end !== undefined ? cursorOf(end) : null,
    head: cursorOf(newest),
    isComplete,
    searchedTo: searchedTo === undefined ? null : new Date(searchedTo).toISOString(),
  }
}

function requestRow(database: Database, id: string): RequestRow | undefined {
  const number = numberOf(id)
  if (number === undefined) return undefined
  return database.get<RequestRow>('SELECT * FROM request WHERE id = ?', number)
}

/** The request of this id; null when it is not kept. */
export function requestById(database: Database, id: string): RequestSummary | null {
  const row = requestRow(database, id)
  return row === undefined ? null : requestSummary(row)
}

export function* requestDetail(
  { database }: QueryContext,
  { id }: { id: string },
): Work<RequestDetail | null> {
  const row = requestRow(database, id)
  if (row === undefined) return null
  yield
  const seqs = database
    .all<{ seq: number }>(
      'SELECT seq FROM event WHERE request_id = ? ORDER BY seq LIMIT ?',
      row.id,
      EVENTS_SHOWN + 1,
    )
    .map(({ seq }) => seq)
  const shown = seqs.slice(0, EVENTS_SHOWN)
  return {
    ...requestFacts(row),
    eventList: summariesOf(database, shown),
    next: seqs.length > EVENTS_SHOWN ? cursorOf(shown.at(-1) ?? 0) : null,
  }
}
