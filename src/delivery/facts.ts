import type { HTTPHeaders } from '../http/client.ts'
import type { ResponseHead } from '../http/exchange.ts'
import { REDACTED } from '../http/redact.ts'
import type { Verdict } from '../http/verdict.ts'

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
  /** Bytes of the body, before compression. */
  readonly bytes: number
}

/** The response to the request of `verify()`, which has no events. */
export interface VerifyResponse {
  readonly status: number | undefined
  /** The problem in words, without credentials; `undefined` when there is none. */
  readonly problem: string | undefined
}

/** The methods must not throw. */
export interface RequestObserver {
  /** Before a request is sent. `toInfo` makes the argument for listeners. */
  onRequest(request: RequestFacts, toInfo: () => RequestInfo): void
  /** `startedMs` is on the monotonic clock; `status` and `toInfo` are `undefined` when there was no response. */
  onResponse(
    request: RequestFacts,
    startedMs: number,
    verdict: Verdict,
    status: number | undefined,
    toInfo: (() => ResponseInfo) | undefined,
  ): void
  /** There was no access token to send the request with. */
  onUnsent(verdict: Verdict): void
  /** The service has responded with a web page, and a status that means success. */
  onWebPage(url: string, status: number): void
  /** Whether a listener needs the bodies of responses. */
  readonly wantsBodies: boolean
}

const SECRET_RESPONSE_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])

/** Credentials are redacted, because a server may quote the request. */
export function infoOf(response: ResponseHead, url: string, redact: (text: string) => string): ResponseInfo {
  const { status, statusText, headers, body } = response
  return {
    url,
    status,
    statusText: redact(statusText),
    headers: readableHeaders(headers, redact),
    body: redact(body),
  }
}

export function redactHeaders(
  headers: Record<string, string>,
  isSecret: (name: string) => boolean,
): Record<string, string> {
  const entries = Object.entries(headers)
  return Object.fromEntries(entries.map(([name, value]) => [name, isSecret(name) ? REDACTED : value]))
}

function readableHeaders(
  headers: HTTPHeaders | undefined,
  redact: (text: string) => string,
): Record<string, string> {
  const readable: Record<string, string> = {}
  try {
    if (typeof headers?.forEach === 'function') {
      headers.forEach((value: string, name: string) => {
        readable[name] = value
      })
    } else Object.assign(readable, headers)
  } catch {
    // The headers of a custom HTTP client throw when they are read. They are left out of the copy.
  }
  for (const [name, value] of Object.entries(readable)) {
    if (typeof value === 'string') readable[name] = redact(value)
  }
  return redactHeaders(readable, (name) => SECRET_RESPONSE_HEADERS.has(name.toLowerCase()))
}
