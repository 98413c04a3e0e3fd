import type { RequestProblem } from '../record.ts'

/** The record of one request, made when its response has been sent or its connection has ended. */
export interface NewRequest {
  /** From `Store.nextRequestId`, taken when the request arrived. */
  id: string
  atMs: number
  method: string
  /** Without the query string, which may contain secrets. */
  path: string
  /** 0 = the connection ended without a response. */
  status: number
  source: string | null
  address: string
  userAgent: string | null
  /** `name/version` from `context.library` of the batch or of its first message. */
  library: string | null
  contentType: string | null
  contentEncoding: string | null
  /** Size of the body as received, possibly compressed. */
  bodyBytes: number
  inflatedBytes: number
  durationMs: number
  /** The header `X-Retry-Count`; null when the header is absent or not a whole number. */
  retryCount: number | null
  events: number
  accepted: number
  /** Events that were stored before. */
  repeated: number
  problem: RequestProblem | null
  /** Name of the fault that was simulated for the request. */
  fault: string | null
  /** Without credentials. */
  headers: Readonly<Record<string, string>>
  /** The decompressed body as text, with write keys replaced; at most `MAX_BODY_KEPT` bytes of it. */
  body: string | null
  bodyIsCut: boolean
  /** The body of the response, if it is a short text. */
  answer: string | null
}

/** The columns of the table `request`, with their values. */
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
    repeated: request.repeated,
    problem: request.problem === null ? null : JSON.stringify(request.problem),
    fault: request.fault,
    headers: JSON.stringify(request.headers),
    body: request.body,
    is_cut: request.bodyIsCut ? 1 : 0,
    answer: request.answer,
  }
}
