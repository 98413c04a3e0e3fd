import { read } from '../message/utf8.ts'
import { type Clock, soon } from '../runtime/clock.ts'
import type {
  ByteHTTPClient,
  HTTPClient,
  HTTPClientRequest,
  HTTPHeaders,
  HTTPResponse,
  OwnHTTPClient,
  OwnResponse,
} from './client.ts'
import { BodyReader, cancelBody } from './response.ts'

export interface ResponseHead {
  readonly status: number
  readonly statusText: string
  readonly headers: HTTPHeaders | undefined
  /** The first bytes of the body as text, for an error status or when the request asked for them; otherwise empty. */
  readonly body: string
}

/** A response with any status, or the reason why there is none. */
export type Answer = ResponseHead | { readonly status: undefined; readonly cause: unknown }

/** Ends an exchange at once: its answer is this cause. The HTTP client may ignore it. */
export type Abort = (cause: Error) => void

export interface ExchangeRequest {
  readonly url: string
  readonly headers: Record<string, string>
  /** Text, or bytes in UTF-8. For a client that does not take bytes, it is decoded. */
  readonly body: string | Uint8Array
  readonly timeoutMs: number
  /** How many bytes of the body are wanted. For an error status, at least 1,024. */
  readonly keptBytes: number
  /** How long the body may take after the headers, at most until `timeoutMs` is over. Default: 1,000. */
  readonly bodyMs?: number
  /** Called when the connection is free again. */
  readonly onFree?: () => void
}

/** How many bytes of the body are kept for an error status. */
export const EXCERPT_BYTES = 1_024
/** A response body that takes longer is cancelled, because the status is already known and the socket is needed. */
const BODY_MS = 1_000

/**
 * Sends one request. There is always an {@link Answer}, even if the HTTP client throws, ignores the signal or resolves with an
 * invalid value.
 *
 * @param done Called once, and never before this function, or the one that it returns, has returned: once the headers of the
 * response are complete; if bytes of the body are wanted, when it has ended, but at the latest 1 s after the headers.
 */
export function exchange(
  client: OwnHTTPClient,
  request: ExchangeRequest,
  clock: Clock,
  done: (answer: Answer) => void,
): Abort {
  const endMs = clock.monotonic() + request.timeoutMs
  let isOver = false
  let stop: Abort = () => {}
  let endBody = (): void => {}
  const fail = (cause: unknown): void => {
    if (isOver) return
    isOver = true
    request.onFree?.()
    soon(() => done({ status: undefined, cause }))
  }
  const onResponse = (response: HTTPResponse): void => {
    if (isOver) return cancelBody(response)
    const head = readHead(response)
    if (typeof head === 'string') {
      cancelBody(response)
      return fail(new TypeError(head))
    }
    isOver = true
    if (client.startOwn === undefined || (response as OwnResponse).isFree !== true) {
      // The deadline covers the whole exchange.
      const bodyMs = Math.min(request.bodyMs ?? BODY_MS, Math.max(0, endMs - clock.monotonic()))
      endBody = readBody(response, head, { ...request, bodyMs }, clock, stop, done)
    } else {
      request.onFree?.()
      done(head)
    }
  }
  try {
    stop = call(client, request, onResponse, fail)
  } catch (error) {
    fail(error)
  }
  return (cause) => {
    fail(cause)
    stop(cause)
    endBody()
  }
}

/** Reads the body, so that the connection is free again. Returns a function that ends this. */
function readBody(
  response: HTTPResponse,
  head: ResponseHead,
  { keptBytes, bodyMs, onFree }: ExchangeRequest & { readonly bodyMs: number },
  clock: Clock,
  stop: Abort,
  done: (answer: Answer) => void,
): () => void {
  const isError = head.status < 200 || head.status >= 300
  const wantedBytes = isError ? Math.max(keptBytes, EXCERPT_BYTES) : keptBytes
  const body = new BodyReader(wantedBytes)
  let isRead = false
  const finish = (): void => {
    if (isRead) return
    isRead = true
    cancelTimer()
    onFree?.()
    if (wantedBytes > 0) soon(() => done({ ...head, body: body.text }))
  }
  const end = (): void => {
    finish()
    body.cancel()
  }
  const cancelTimer = clock.setTimer(() => {
    end()
    stop(new Error('the response body did not end'))
  }, bodyMs)
  void body.read(response).then(finish)
  if (wantedBytes === 0) done(head)
  return end
}

/** The answer of an exchange that nobody else limits in time: after `timeoutMs` it is aborted. */
export function answerWithin(
  start: (done: (answer: Answer) => void) => Abort,
  timeoutMs: number,
  clock: Clock,
): Promise<Answer> {
  return new Promise((resolve) => {
    const abort = start((answer) => {
      cancelTimer()
      resolve(answer)
    })
    const cancelTimer = clock.setTimer(() => abort(timeoutError(timeoutMs)), timeoutMs)
  })
}

export function timeoutError(timeoutMs: number): Error {
  return new Error(`no response within ${timeoutMs} ms`)
}

/** Calls a client. One of this package needs no signal, which is costly to make. Returns a function that never throws. */
function call(
  client: OwnHTTPClient,
  request: ExchangeRequest,
  onResponse: (response: HTTPResponse) => void,
  onError: (cause: unknown) => void,
): Abort {
  if (client.startOwn !== undefined) return client.startOwn(request, onResponse, onError)
  const { url, headers, body, timeoutMs: httpRequestTimeout } = request
  const abortion = new AbortController()
  const text = typeof body === 'string' || isByteClient(client) ? body : read(body)
  // The cast is safe: only clients that take bytes get bytes.
  const given = {
    ...{ url, method: 'POST', headers: { ...headers }, body: text, httpRequestTimeout },
    signal: abortion.signal,
  } as HTTPClientRequest
  settled(client.makeRequest(given)).then(onResponse, onError)
  return (cause) => abortWith(abortion, cause)
}

/** On Cloudflare Workers, aborting throws if the incoming request in which the exchange began is over. */
export function abortWith(abortion: AbortController, cause: Error): void {
  try {
    abortion.abort(cause)
  } catch {
    // Nothing is left to be aborted.
  }
}

/** A client may return any thenable, or throw. */
export async function settled(response: PromiseLike<HTTPResponse>): Promise<HTTPResponse> {
  return response
}

function isByteClient(client: HTTPClient): client is ByteHTTPClient {
  const { takesBytes } = client as Partial<ByteHTTPClient>
  return typeof takesBytes === 'function' && takesBytes.call(client)
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
