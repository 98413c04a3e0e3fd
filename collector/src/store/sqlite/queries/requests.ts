import type { Search } from '../../../search/syntax.ts'
import type { RequestProblem } from '../../ports.ts'
import type { TimeRange } from '../../queries.ts'
import type { RequestDetail, RequestSummary, RequestsPage } from '../../query-results.ts'
import type { Database, SqlValue } from '../database.ts'
import { cursorOf, numberOf } from '../place.ts'
import { summariesOf } from '../records.ts'
import { requestCondition } from '../search/request-condition.ts'
import type { Work } from '../work.ts'
import type { QueryContext } from './context.ts'

const ROWS_PER_SLICE = 2000
const EVENTS_SHOWN = 100

export interface RequestsQuery extends TimeRange {
  search: Search
  order: 'oldest' | 'newest'
  limit: number
  after?: number | undefined
  before?: number | undefined
}

interface RequestRow {
  seq: number
  id: number
  at: number
  method: string
  path: string
  status: number
  code: string | null
  source: string | null
  address: string
  agent: string | null
  library: string | null
  content_type: string | null
  encoding: string | null
  body_bytes: number
  inflated_bytes: number
  duration: number
  retries: number | null
  events: number
  accepted: number
  problem: string | null
  fault: string | null
  headers: string
  body: string | null
  is_cut: number
}

export function* listRequests(context: QueryContext, query: RequestsQuery): Work<RequestsPage> {
  const { database, budget, nowMs } = context
  const isNewest = query.order === 'newest'
  const { sql, values } = requestCondition(query.search, nowMs)
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
    ...requestSummary(row),
    headers: JSON.parse(row.headers) as Record<string, string>,
    body: row.body,
    bodyIsCut: row.is_cut === 1,
    eventList: summariesOf(database, shown),
    next: seqs.length > EVENTS_SHOWN ? cursorOf(shown.at(-1) ?? 0) : null,
  }
}

function requestSummary(row: RequestRow): RequestSummary {
  const problem = row.problem === null ? null : (JSON.parse(row.problem) as RequestProblem)
  return {
    id: String(row.id),
    at: new Date(row.at).toISOString(),
    method: row.method,
    path: row.path,
    status: row.status,
    code: row.code,
    source: row.source,
    address: row.address,
    userAgent: row.agent,
    library: row.library,
    contentType: row.content_type,
    contentEncoding: row.encoding,
    bodyBytes: row.body_bytes,
    inflatedBytes: row.inflated_bytes,
    durationMs: row.duration,
    retryCount: row.retries,
    events: { total: row.events, accepted: row.accepted, rejected: row.events - row.accepted },
    problem: problem === null ? null : { offset: null, line: null, column: null, ...problem },
    fault: row.fault,
  }
}
