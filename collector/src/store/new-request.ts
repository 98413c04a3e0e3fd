/**
 * The record of one request, made when its response has been sent or its connection has ended. Its fields are the columns of the
 * table `request`.
 */
export interface NewRequest {
  /** From `Store.nextRequestId`, taken when the request arrived. */
  id: number
  /** Milliseconds since the epoch. */
  at: number
  method: string
  /** Without the query string, which may contain secrets. */
  path: string
  /** 0 = the connection ended without a response. */
  status: number
  /** That of the problem. */
  code: string | null
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
  /** A `RequestProblem` as JSON. */
  problem: string | null
  /** Name of the fault that was simulated for the request. */
  fault: string | null
  /** As JSON, without credentials. */
  headers: string
  /** The decompressed body as text, with write keys replaced; at most `MAX_BODY_KEPT` bytes of it. */
  body: string | null
  /** 1 if there is more of the body than `body`, otherwise 0. */
  bodyIsCut: number
  /** The body of the response, if it is a short text. */
  answer: string | null
}
