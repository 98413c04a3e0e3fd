import type { RequestProblem } from '../../record.ts'
import type { Search } from '../../search/syntax.ts'
import { numberOf } from '../cursor.ts'
import type { NewRequest } from '../new-request.ts'
import { requestCondition } from '../request-condition.ts'
import { raw, sql, type TimeRange, within } from '../sql.ts'
import { storedJson } from '../stored-message.ts'
import type { QueryContext } from './context.ts'
import { type EventSearch, type Paging, summariesOf } from './events.ts'

const EVENTS_SHOWN = 100
const SUMMARY_COLUMNS = raw(
  'id, at, method, path, status, code, source, address, userAgent, library, contentType, contentEncoding, bodyBytes, inflatedBytes, durationMs, retryCount, events, accepted, repeated, problem, fault',
)

/** In the order of their receipt. */
export function listRequests(
  context: QueryContext,
  query: TimeRange & Paging & { search: Search; after?: EventSearch['after'] },
) {
  const { search, after, order, limit, cursor } = query
  const start =
    cursor === undefined ? raw('TRUE') : sql`id ${raw(order === 'newest' ? '<' : '>')} ${Number(cursor)}`
  const since = after === undefined ? raw('TRUE') : sql`id > ${Number(after)}`
  const rows = context.database.all<NewRequest>(
    sql`SELECT ${SUMMARY_COLUMNS} FROM request
        WHERE ${start} AND ${since} AND ${within('at', query)} AND ${requestCondition(search, context.nowMs)}
        ORDER BY id ${raw(order === 'newest' ? 'DESC' : 'ASC')} LIMIT ${limit + 1}`,
  )
  const shown = rows.slice(0, limit)
  return {
    requests: shown.map(requestSummary),
    next: rows.length > limit ? String(shown.at(-1)?.id) : null,
    head: String(context.database.number('SELECT max(id) AS value FROM request')),
  }
}

export function rowOfRequest({ database }: QueryContext, id: string): NewRequest | undefined {
  return database.get<NewRequest>(sql`SELECT * FROM request WHERE id = ${numberOf(id) ?? 0}`)
}

export function requestDetail(context: QueryContext, id: string) {
  const row = rowOfRequest(context, id)
  if (row === undefined) return null
  const found = context.database.all<{ seq: number }>(
    sql`SELECT seq FROM event WHERE request_id = ${row.id} ORDER BY seq LIMIT ${EVENTS_SHOWN + 1}`,
  )
  const shown = found.slice(0, EVENTS_SHOWN).map(({ seq }) => seq)
  return {
    ...requestSummary(row),
    headers: storedJson<Record<string, string>>(row.headers, {}),
    body: row.body,
    bodyIsCut: row.bodyIsCut === 1,
    answer: row.answer,
    eventList: summariesOf(context, shown),
    next: found.length > EVENTS_SHOWN ? String(shown.at(-1)) : null,
  }
}

export function requestSummary(row: NewRequest) {
  const { headers: _, body: __, bodyIsCut: ___, answer: ____, accepted, repeated, ...facts } = row
  const problem = storedJson<RequestProblem | null>(row.problem, null)
  return {
    ...facts,
    id: String(row.id),
    at: new Date(row.at).toISOString(),
    events: { total: row.events, accepted, rejected: row.events - accepted - repeated, repeated },
    problem: problem === null ? null : { offset: null, line: null, column: null, ...problem },
  }
}
