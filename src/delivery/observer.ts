/** One request, as `http_request` listeners see it: credentials redacted. */
export interface RequestInfo {
  /** Absolute URL. */
  url: string
  /** Always `POST`. */
  method: string
  /** Headers; `Authorization` is `[redacted]`. */
  headers: Record<string, string>
  /** The body as text, even when it is sent compressed; its write key is `[redacted]`. */
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

/** The measurements of one request. */
export interface RequestFacts {
  /** Absolute URL. */
  readonly url: string
  /** 1 for the first attempt, 2 for the first retry, and so on. */
  readonly attempt: number
  /** How many events it carries. */
  readonly events: number
  /** Bytes of its body as sent. */
  readonly bytes: number
}

/**
 * Called when a request has ended. `describe` returns the failure; it is `undefined` when the events were delivered. `toInfo`
 * is `undefined` when there was no response.
 */
export type OnEnd = (
  status: number | undefined,
  describe: (() => string) | undefined,
  toInfo: (() => ResponseInfo) | undefined,
) => void

/** The response to the request of `verify()`, which has no events. */
export interface VerifyResponse {
  readonly status: number | undefined
  /** The problem in words, without credentials; `undefined` when there is none. */
  readonly problem: string | undefined
}

/** Called for each request and response. The info is made only when there is a listener. */
export interface RequestObserver {
  /** A request is sent. Returns the function to call when it has ended. Must not throw. */
  onStart(request: RequestFacts, toInfo: () => RequestInfo): OnEnd
  /** Whether a listener needs the bodies of responses. */
  readonly wantsBodies: boolean
}

/** Receives the start and the end of outages. */
export interface OutageObserver {
  /** The service has failed more than `maxRetries` times in a row. */
  onOutage(durationMs: number, problem: string): void
  /** The service refuses the settings, and events wait until it accepts them. Called once for each kind of refusal. */
  onRefusal(problem: string): void
  /** Requests are accepted again. */
  onRecovery(durationMs: number): void
}
