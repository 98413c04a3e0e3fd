import type { NewRequest } from '../ports.ts'
import type { SqlValue } from './database.ts'

/** A request as a row, in the order of the columns that `Commit` names. */
export function requestRow(request: NewRequest): SqlValue[] {
  return [
    Number(request.id),
    request.atMs,
    request.method,
    request.path,
    request.status,
    request.problem?.code ?? null,
    request.source,
    request.address,
    request.userAgent,
    request.library,
    request.contentType,
    request.contentEncoding,
    request.bodyBytes,
    request.inflatedBytes,
    request.durationMs,
    request.retryCount,
    request.events,
    request.accepted,
    request.problem === null ? null : JSON.stringify(request.problem),
    request.fault,
    JSON.stringify(request.headers),
    request.body,
    request.bodyIsCut ? 1 : 0,
  ]
}
