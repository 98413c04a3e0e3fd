import { read } from '../message/utf8.ts'
import { type Clock, setDeadline } from '../runtime/clock.ts'
import type { ByteHTTPClient, HTTPClient, HTTPClientRequest, HTTPHeaders, HTTPResponse } from './client.ts'
import { BodyReader, cancelBody } from './response.ts'

export interface ResponseHead {
  readonly status: number
  readonly statusText: string
  readonly headers: HTTPHeaders | undefined
  /** The first bytes of the body as text, for an error status or when the request asked for them; otherwise empty. */
  readonly body: string
}

/** A response with any status, or the reason why there is none. */
export type ExchangeResult = ResponseHead | { readonly status: undefined; readonly cause: unknown }

export interface Exchange {
  /**
   * Resolves once the headers of the response are complete. If bytes of the body are wanted, it resolves when the body has
   * ended, but at the latest `bodyTimeoutMs` after the headers. It also resolves at the time limit, and when the exchange is
   * aborted. Never rejects.
   */
  readonly result: Promise<ExchangeResult>
  /** Resolves when the response body has been read or cancelled, so that the socket is free. Never rejects. */
  readonly finished: Promise<void>
  /** May be called without `this`. */
  readonly abort: () => void
}

export interface ExchangeRequest {
  readonly url: string
  readonly headers: Record<string, string>
  /** Text, or bytes in UTF-8 (or compressed). For a client that does not take bytes, UTF-8 is decoded to text. */
  readonly body: string | Uint8Array
  /** For the whole exchange. */
  readonly timeoutMs: number
  /** How many bytes of the body are wanted. Default: 0. For an error status, at least 1,024. */
  readonly keptBytes?: number
  /** How long the body may take after the headers, within `timeoutMs`. Default: 1,000. */
  readonly bodyTimeoutMs?: number
  /** `true` when no request will follow. */
  readonly closesConnection?: boolean
}

/** How many bytes of the body are kept for an error status. */
export const EXCERPT_BYTES = 1_024
/** A response body that takes longer is cancelled, because the status is already known and the socket is needed. */
const BODY_TIMEOUT_MS = 1_000

/**
 * There is always an {@link ExchangeResult}, even if the HTTP client throws, never settles, ignores the signal or resolves with
 * an invalid value.
 */
export function startExchange(client: HTTPClient, request: ExchangeRequest, clock: Clock): Exchange {
  return new ClientExchange(client, request, clock)
}

class ClientExchange implements Exchange {
  readonly result: Promise<ExchangeResult>
  readonly finished: Promise<void>
  readonly #request: ExchangeRequest
  readonly #clock: Clock
  readonly #abortion = new AbortController()
  readonly #deadlineMs: number
  #resolve: (result: ExchangeResult) => void = () => {}
  #finish: () => void = () => {}
  #cancelTimer: () => void
  /** Whether the response has arrived, or the exchange has failed or was aborted. */
  #isOver = false
  #reader: BodyReader | undefined
  /** Resolves `result` with the bytes that have arrived. */
  #conclude: () => void = () => {}

  constructor(client: HTTPClient, request: ExchangeRequest, clock: Clock) {
    this.#request = request
    this.#clock = clock
    this.result = new Promise((resolve) => {
      this.#resolve = resolve
    })
    this.finished = new Promise((resolve) => {
      this.#finish = resolve
    })
    this.#deadlineMs = clock.monotonic() + request.timeoutMs
    const onDeadline = (): void => this.#abort(new Error(`no response within ${request.timeoutMs} ms`))
    this.#cancelTimer = setDeadline(onDeadline, request.timeoutMs, clock)
    try {
      Promise.resolve(callClient(client, request, this.#abortion.signal)).then(
        (response) => this.#onResponse(response),
        (cause) => this.#onFailure(cause),
      )
    } catch (error) {
      this.#onFailure(error)
    }
  }

  readonly abort = (): void => this.#abort(new Error('the client was closed'))

  #onResponse(response: HTTPResponse): void {
    if (this.#isOver) return cancelBody(response)
    const head = readHead(response)
    this.#cancelTimer()
    if (typeof head === 'string') {
      cancelBody(response)
      return this.#end(new TypeError(head))
    }
    this.#isOver = true
    const leftMs = this.#deadlineMs - this.#clock.monotonic()
    const { keptBytes: wantedBytes = 0, bodyTimeoutMs = BODY_TIMEOUT_MS } = this.#request
    // If no time is left, the process was stalled: the body still gets `BODY_TIMEOUT_MS`.
    const graceMs = leftMs > 0 ? Math.min(leftMs, bodyTimeoutMs) : BODY_TIMEOUT_MS
    const giveUp = (): void => this.#abort(new Error('the response body did not end'))
    this.#cancelTimer = this.#clock.setTimer(giveUp, graceMs)
    const isError = head.status < 200 || head.status >= 300
    const keptBytes = isError ? Math.max(wantedBytes, EXCERPT_BYTES) : wantedBytes
    const reader = new BodyReader(keptBytes)
    this.#reader = reader
    if (keptBytes === 0) this.#resolve(head)
    else this.#conclude = () => this.#resolve({ ...head, body: reader.text })
    void reader.read(response).then(() => this.#close())
  }

  #onFailure(cause: unknown): void {
    if (!this.#isOver) this.#end(cause)
  }

  #abort(cause: Error): void {
    this.#cancelTimer()
    this.#isOver = true
    this.#conclude()
    this.#resolve({ status: undefined, cause })
    try {
      this.#abortion.abort(cause)
    } catch {
      // On Cloudflare Workers, aborting throws if the incoming request in which the exchange began is over.
    }
    this.#reader?.cancel()
    this.#finish()
  }

  #end(cause: unknown): void {
    this.#isOver = true
    this.#resolve({ status: undefined, cause })
    this.#close()
  }

  #close(): void {
    this.#cancelTimer()
    this.#conclude()
    this.#finish()
  }
}

function callClient(
  client: HTTPClient,
  { url, headers, body, timeoutMs, closesConnection }: ExchangeRequest,
  signal: AbortSignal,
): Promise<HTTPResponse> {
  // For a compressed body, `takesBytes(true)` was called before the compression.
  const isTaken =
    typeof body === 'string' ||
    (isByteClient(client) && (headers['Content-Encoding'] !== undefined || client.takesBytes()))
  const request: HTTPClientRequest<string | Uint8Array> = {
    url,
    method: 'POST',
    headers,
    body: isTaken ? body : read(body),
    httpRequestTimeout: timeoutMs,
    signal,
  }
  if (closesConnection === true) request.closesConnection = true
  // The cast is safe: only clients that take bytes get bytes.
  return client.makeRequest(request as HTTPClientRequest)
}

function isByteClient(client: HTTPClient): client is ByteHTTPClient {
  return typeof (client as Partial<ByteHTTPClient>).takesBytes === 'function'
}

/** Returns an error message if the response is invalid. */
function readHead(response: HTTPResponse | null | undefined): ResponseHead | string {
  try {
    const { status, statusText, headers } = response ?? ({} as HTTPResponse)
    if (!Number.isInteger(status)) return 'the HTTP client resolved without an integer status'
    return { status, statusText: typeof statusText === 'string' ? statusText : '', headers, body: '' }
  } catch {
    return 'the HTTP client resolved with an object that throws'
  }
}
