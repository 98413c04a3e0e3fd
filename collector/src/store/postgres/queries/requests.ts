import type { Search } from '../../../search/syntax.ts'
import { cursorOf, numberOf } from '../../place.ts'
import type { TimeRange } from '../../queries.ts'
import type { RequestDetail, RequestSummary, RequestsPage } from '../../query-results.ts'
import { EVENTS_SHOWN, type RequestRow, requestFacts, requestSummary } from '../../results/request.ts'
import type { SqlValue } from '../../search/condition.ts'
import { requestCondition } from '../../search/request-condition.ts'
import type { Queryable } from '../database.ts'
import { summariesOf } from '../records.ts'
import { numbered, POSTGRES } from '../search/dialect.ts'
import { slices } from '../slices.ts'
import type { QueryContext } from './context.ts'

export interface RequestsQuery extends TimeRange {
  search: Search
  order: 'oldest' | 'newest'
  limit: number
  after?: number | undefined
  before?: number | undefined
}

const COLUMNS =
  'seq, id, at, method, path, status, code, source, address, agent, library, content_type, encoding, body_bytes, inflated_bytes, duration, retries, events, accepted, problem, fault, headers, body, is_cut'

export async function listRequests(context: QueryContext, query: RequestsQuery): Promise<RequestsPage> {
  const { sql, budget } = context
  const isNewest = query.order === 'newest'
  const condition = requestCondition(POSTGRES, query.search, context.nowMs)
  const [found] = await sql.query<{ first: number | null; last: number | null }>(
    'SELECT min(seq) AS first, max(seq) AS last FROM request',
  )
  const newest = found?.last ?? 0
  const bounds = {
    first: Math.max(found?.first ?? 1, (query.after ?? 0) + 1),
    last: Math.min(newest, (query.before ?? Number.MAX_SAFE_INTEGER) - 1),
  }
  const rows: RequestRow[] = []
  let end: number | undefined
  let isComplete = true
  for (const slice of slices(bounds, query.order)) {
    const some = await sql.query<RequestRow>(
      numbered(
        `SELECT ${COLUMNS} FROM request WHERE seq BETWEEN ? AND ? AND at >= ? AND at < ? AND ${condition.sql}
         ORDER BY seq ${isNewest ? 'DESC' : 'ASC'} LIMIT ?`,
      ),
      [
        slice.first,
        slice.last,
        query.fromMs ?? Number.MIN_SAFE_INTEGER,
        query.toMs ?? Number.MAX_SAFE_INTEGER,
        ...(condition.values as SqlValue[]),
        query.limit + 1 - rows.length,
      ],
    )
    rows.push(...some)
    if (rows.length > query.limit) break
    end = isNewest ? slice.first : slice.last
    isComplete = end === (isNewest ? bounds.first : bounds.last)
    if (!isComplete && budget.isUsedUp) break
    isComplete = true
  }
  const shown = rows.slice(0, query.limit)
  if (isComplete) end = shown.at(-1)?.seq
  const hasNext = rows.length > query.limit || !isComplete
  return {
    requests: shown.map(requestSummary),
    next: hasNext && end !== undefined ? cursorOf(end) : null,
    head: cursorOf(newest),
    isComplete,
    searchedTo: isComplete ? null : await timeOf(sql, end ?? 0),
  }
}

async function timeOf(sql: Queryable, seq: number): Promise<string | null> {
  const [row] = await sql.query<{ at: number }>(
    'SELECT at FROM request WHERE seq >= $1 ORDER BY seq LIMIT 1',
    [seq],
  )
  return row === undefined ? null : new Date(row.at).toISOString()
}

async function requestRow(sql: Queryable, id: string): Promise<RequestRow | undefined> {
  const number = numberOf(id)
  if (number === undefined) return undefined
  const [row] = await sql.query<RequestRow>(`SELECT ${COLUMNS} FROM request WHERE id = $1 LIMIT 1`, [number])
  return row
}

/** The request of this id; null when it is not kept. */
export async function requestById(sql: Queryable, id: string): Promise<RequestSummary | null> {
  const row = await requestRow(sql, id)
  return row === undefined ? null : requestSummary(row)
}

export async function requestDetail(
  context: QueryContext,
  { id }: { id: string },
): Promise<RequestDetail | null> {
  const { sql } = context
  const row = await requestRow(sql, id)
  if (row === undefined) return null
  const rows = await sql.query<{ seq: number }>(
    'SELECT seq FROM event WHERE request_id = $1 ORDER BY seq LIMIT $2',
    [row.id, EVENTS_SHOWN + 1],
  )
  const shown = rows.slice(0, EVENTS_SHOWN).map(({ seq }) => seq)
  return {
    ...requestFacts(row),
    eventList: await summariesOf(context, shown),
    next: rows.length > EVENTS_SHOWN ? cursorOf(shown.at(-1) ?? 0) : null,
  }
}
