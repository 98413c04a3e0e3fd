import type { RequestProblem } from '../ports.ts'
import type { RequestDetail, RequestSummary } from '../query-results.ts'

/** A row of `request`. */
export interface RequestRow {
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

/** So many of a request's events are shown with it. */
export const EVENTS_SHOWN = 100

/** The summary that a row holds. */
export function requestSummary(row: RequestRow): RequestSummary {
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

/** Everything that a row holds. */
export function requestFacts(row: RequestRow): Omit<RequestDetail, 'eventList' | 'next'> {
  return {
    ...requestSummary(row),
    headers: JSON.parse(row.headers) as Record<string, string>,
    body: row.body,
    bodyIsCut: row.is_cut === 1,
  }
}
