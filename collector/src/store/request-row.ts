import type { NewRequest } from './ports.ts'

/** The keys are in the order of `REQUEST_COLUMNS`. */
export function requestRow(request: NewRequest) {
  return {
    id: Number(request.id),
    at: request.atMs,
    method: request.method,
    path: request.path,
    status: request.status,
    code: request.problem?.code ?? null,
    source: request.source,
    address: request.address,
    agent: request.userAgent,
    library: request.library,
    content_type: request.contentType,
    encoding: request.contentEncoding,
    body_bytes: request.bodyBytes,
    inflated_bytes: request.inflatedBytes,
    duration: request.durationMs,
    retries: request.retryCount,
    events: request.events,
    accepted: request.accepted,
    problem: request.problem === null ? null : JSON.stringify(request.problem),
    fault: request.fault,
    headers: JSON.stringify(request.headers),
    body: request.body,
    is_cut: request.bodyIsCut ? 1 : 0,
  }
}
