/** One request, as `http_request` listeners see it: credentials redacted. */
export interface RequestInfo {
  /** Absolute URL. */
  url: string
  /** Always `POST`. */
  method: string
  /** Headers; `Authorization` is `[redacted]`. */
  headers: Record<string, string>
  /** The body as text, also where it is sent compressed; the write key in it is `[redacted]`. */
  body: string
}

/** One response, as `http_response` listeners see it: credentials redacted. */
export interface ResponseInfo {
  /** Absolute URL of the request. */
  url: string
  /** The HTTP status. */
  status: number
  /** The reason phrase; may be empty. */
  statusText: string
  /** Headers; credentials in them are `[redacted]`. */
  headers: Record<string, string>
  /** The first 1,024 bytes of the body, as text. */
  body: string
}

/** One request, in figures. */
export interface RequestFacts {
  /** Absolute URL. */
  readonly url: string
  /** 1 for the first attempt, 2 for the first retry, and so on. */
  readonly attempt: number
  /** How many events it carries. */
  readonly events: number
  /** Bytes of its body as they are sent. */
  readonly bytes: number
}

/**
 * Told how a request ended. `describe` says what went wrong; it is left out when the events were delivered. The info is left
 * out when there was no response.
 */
export type OnEnd = (
  status: number | undefined,
  describe: (() => string) | undefined,
  toInfo: (() => ResponseInfo) | undefined,
) => void

/** The result of a request without events. */
export interface Probe {
  readonly status: number | undefined
  /** The fault in words, without credentials; `undefined` when there is none. */
  readonly problem: string | undefined
}

/** Told of each request and response. The info is made only when somebody wants it. */
export interface Observer {
  /** A request goes out. Returns what is told how it ended. Must not throw. */
  onStart(request: RequestFacts, toInfo: () => RequestInfo): OnEnd
  /** Whether anybody looks at the bodies of responses. */
  readonly wantsBodies: boolean
}
