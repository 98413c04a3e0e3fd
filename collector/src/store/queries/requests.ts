import { comparisonsOf } from '../../search/meanings.ts'
import { cursorOf, type InNumbers, numberOf } from '../cursor.ts'
import type { QueryParameters } from '../event-reader.ts'
import { ANSWER, type RequestProblem } from '../ports.ts'
import type { RequestDetail, RequestSummary, RequestsPage } from '../query-results.ts'
import type { requestRow } from '../request-row.ts'
import { requestCondition } from '../search/request-condition.ts'
import { all, first, type Query, raw, sql } from '../sql.ts'
import { namesOf, REQUEST_COLUMNS } from '../tables.ts'
import { closed, type QueryContext } from './context.ts'
import { search } from './find.ts'
import { endOfPage } from './page-room.ts'
import { summariesOf, timeAt } from './records.ts'

type RequestRow = ReturnType<typeof requestRow> & { seq: number }

const EVENTS_SHOWN = 100

const COLUMNS = raw(['seq', ...namesOf(REQUEST_COLUMNS)].join(', '))

export function* listRequests(
  context: QueryContext,
  query: InNumbers<QueryParameters<'requests'>>,
): Query<RequestsPage> {
  const { dialect, budget } = context
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
  const found = yield* search<RequestRow>(
    dialect.slices(bounds, query.order, 'rows', comparisonsOf(query.search)),
    bounds,
    // Reads one more request than the page can have, to find out whether there is a next page.
    { order: query.order, limit: query.limit + 1 },
    budget,
    (slice) => sql`${COLUMNS} FROM request WHERE seq BETWEEN ${slice.first} AND ${slice.last}
        AND at >= ${fromMs} AND at < ${toMs} AND ${condition}`,
  )
  const { next, isComplete, searchedTo } = endOfPage(found, query.limit)
  return {
    requests: found.rows.slice(0, query.limit).map(requestSummary),
    next,
    head: cursorOf(newest),
    isComplete,
    searchedTo: yield* timeAt(sql`at FROM request`, searchedTo),
  }
}

function* rowOf(id: string): Query<RequestRow | undefined> {
  const number = numberOf(id)
  if (number === undefined) return undefined
  return yield* first<RequestRow>(sql`SELECT ${COLUMNS} FROM request WHERE id = ${number} LIMIT 1`)
}

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
  const { [ANSWER]: answer = null, ...headers } = JSON.parse(row.headers) as Record<string, string>
  const shown = found.slice(0, EVENTS_SHOWN).map(({ seq }) => seq)
  return {
    ...requestSummary(row),
    headers,
    body: row.body,
    bodyIsCut: row.is_cut === 1,
    answer,
    eventList: yield* summariesOf(context, shown),
    next: found.length > EVENTS_SHOWN ? cursorOf(shown.at(-1) ?? 0) : null,
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
