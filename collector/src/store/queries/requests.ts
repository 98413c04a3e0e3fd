import { cursorOf, type InNumbers, numberOf } from '../cursor.ts'
import type { RequestProblem } from '../ports.ts'
import type { QueryParameters } from '../queries.ts'
import type { RequestDetail, RequestSummary, RequestsPage } from '../query-results.ts'
import type { requestRow } from '../request-row.ts'
import { requestCondition } from '../search/request-condition.ts'
import { all, first, type Query, raw, sql } from '../sql.ts'
import { namesOf, REQUEST_COLUMNS } from '../tables.ts'
import { closed, type QueryContext } from './context.ts'
import { summariesOf } from './records.ts'

type RequestRow = ReturnType<typeof requestRow> & { seq: number }

/** Events shown with a request. */
const EVENTS_SHOWN = 100

const COLUMNS = raw(['seq', ...namesOf(REQUEST_COLUMNS)].join(', '))

export function* listRequests(
  context: QueryContext,
  query: InNumbers<QueryParameters<'requests'>>,
): Query<RequestsPage> {
  const { dialect, budget } = context
  const isNewest = query.order === 'newest'
  const direction = raw(isNewest ? 'DESC' : 'ASC')
  const condition = requestCondition(dialect, query.search, context.nowMs)
  const { fromMs, toMs } = closed(query)
  const kept = yield* first<{ first: number | null; last: number | null }>(
    sql`SELECT min(seq) AS first, max(seq) AS last FROM request`,
  )
  const newest = kept?.last ?? 0
  const bounds = {
    first: Math.max(kept?.first ?? 1, (query.after ?? 0) + 1),
    last: Math.min(newest, (query.before ?? Number.MAX_SAFE_INTEGER) - 1),
  }
  const rows: RequestRow[] = []
  let end: number | undefined
  let isComplete = true
  for (const slice of dialect.slices(bounds, query.order, 'rows')) {
    const found = yield* all<RequestRow>(
      sql`SELECT ${COLUMNS} FROM request WHERE seq BETWEEN ${slice.first} AND ${slice.last}
            AND at >= ${fromMs} AND at < ${toMs} AND ${condition}
          ORDER BY seq ${direction} LIMIT ${query.limit + 1 - rows.length}`,
    )
    rows.push(...found)
    if (rows.length > query.limit) break
    end = isNewest ? slice.first : slice.last
    isComplete = end === (isNewest ? bounds.first : bounds.last) || !budget.isUsedUp
    if (!isComplete) break
  }
  const shown = rows.slice(0, query.limit)
  if (isComplete) end = shown.at(-1)?.seq
  const hasNext = rows.length > query.limit || !isComplete
  return {
    requests: shown.map(requestSummary),
    next: hasNext && end !== undefined ? cursorOf(end) : null,
    head: cursorOf(newest),
    isComplete,
    searchedTo: isComplete ? null : yield* timeAt(end ?? 0),
  }
}

function* timeAt(seq: number): Query<string | null> {
  const row = yield* first<{ at: number }>(
    sql`SELECT at FROM request WHERE seq >= ${seq} ORDER BY seq LIMIT 1`,
  )
  return row === undefined ? null : new Date(row.at).toISOString()
}

function* rowOf(id: string): Query<RequestRow | undefined> {
  const number = numberOf(id)
  if (number === undefined) return undefined
  return yield* first<RequestRow>(sql`SELECT ${COLUMNS} FROM request WHERE id = ${number} LIMIT 1`)
}

/** The request with this id; null when it is not stored. */
export function* requestById(id: string): Query<RequestSummary | null> {
  const row = yield* rowOf(id)
  return row === undefined ? null : requestSummary(row)
}

export function* requestDetail(context: QueryContext, { id }: { id: string }): Query<RequestDetail | null> {
  const row = yield* rowOf(id)
  if (row === undefined) return null
  const found = yield* all<{ seq: number }>(
    sql`SELECT seq FROM event WHERE request_id = ${row.id} ORDER BY seq LIMIT ${EVENTS_SHOWN + 1}`,
  )
  const shown = found.slice(0, EVENTS_SHOWN).map(({ seq }) => seq)
  return {
    ...requestSummary(row),
    headers: JSON.parse(row.headers) as Record<string, string>,
    body: row.body,
    bodyIsCut: row.is_cut === 1,
    eventList: yield* summariesOf(context, shown),
    next: found.length > EVENTS_SHOWN ? cursorOf(shown.at(-1) ?? 0) : null,
  }
}

/** The summary that a row holds. */
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
