/** A request, as `http_request` listeners receive it: without credentials. */
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

/** A response, as `http_response` listeners receive it: without credentials. */
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

/** The URL and the measurements of one request. */
export interface RequestFacts {
  /** Absolute URL. */
  readonly url: string
  /** 1 for the first attempt, 2 for the first retry, and so on. */
  readonly attempt: number
  /** Number of events in the request. */
  readonly events: number
  /** Bytes of the body as sent, after compression. */
  readonly bytes: number
}

/**
 * `describe` returns the failure as text; `describe` is `undefined` when the events were delivered. `toInfo` is `undefined`
 * when there was no response.
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

export interface RequestObserver {
  /** Called before a request is sent. `toInfo` makes the argument for listeners. Must not throw. */
  onStart(request: RequestFacts, toInfo: () => RequestInfo): OnEnd
  /** Whether a listener needs the bodies of responses. */
  readonly wantsBodies: boolean
}

/** The methods must not throw. */
export interface OutageObserver {
  /** The service has failed more than `maxRetries` times in a row. */
  onOutage(durationMs: number, problem: string): void
  /**
   * The service refuses the address or the credentials, and events wait until it accepts them. Called once for each kind of
   * refusal.
   */
  onRefusal(problem: string): void
  /** Requests are accepted again. */
  onRecovery(durationMs: number): void
}
