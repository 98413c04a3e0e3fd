import type { NewRequest } from '../ports.ts'

/** A request as a row, in the order of the columns of the stores. */
export function requestRow(request: NewRequest): Array<string | number | null> {
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
