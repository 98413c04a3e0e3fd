import { read } from '../message/utf8.ts'
import type { Clock } from '../runtime/clock.ts'
import type {
  ByteHTTPClient,
  HTTPClient,
  HTTPClientRequest,
  HTTPHeaders,
  HTTPResponse,
  OwnHTTPClient,
  OwnRequest,
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

export interface Exchange {
  /**
   * Resolves once the headers of the response are complete; if bytes of the body are wanted, when it has ended, but at the
   * latest 1 s after the headers. Never rejects.
   */
  readonly answer: Promise<Answer>
  /** Ends it at once: `answer` resolves to this cause. The HTTP client may ignore it. */
  abort(cause: Error): void
}

export interface ExchangeRequest {
  readonly url: string
  readonly headers: Record<string, string>
  /** Text, or bytes in UTF-8. For a client that does not take bytes, it is decoded. */
  readonly body: string | Uint8Array
  readonly timeoutMs: number
  /** How many bytes of the body are wanted. For an error status, at least 1,024. */
  readonly keptBytes: number
  /** `true` when no request will follow. */
  readonly closesConnection: boolean
  /** How long the body may take after the headers. Default: 1,000. */
  readonly bodyMs?: number
  /** Called when the connection is free again. */
  readonly onFree?: () => void
}

/** How many bytes of the body are kept for an error status. */
export const EXCERPT_BYTES = 1_024
/** A response body that takes longer is cancelled, because the status is already known and the socket is needed. */
const BODY_MS = 1_000

/** There is always an {@link Answer}, even if the HTTP client throws, ignores the signal or resolves with an invalid value. */
export function startExchange(client: HTTPClient, request: ExchangeRequest, clock: Clock): Exchange {
  let isOver = false
  let resolve: (answer: Answer) => void
  let endBody = (): void => {}
  const answer = new Promise<Answer>((resolver) => {
    resolve = resolver
  })
  const end = (cause: unknown): void => {
    isOver = true
    resolve({ status: undefined, cause })
    request.onFree?.()
  }
  const onResponse = (response: HTTPResponse): void => {
    if (isOver) return cancelBody(response)
    const head = readHead(response)
    if (typeof head === 'string') {
      cancelBody(response)
      return end(new TypeError(head))
    }
    isOver = true
    if ((client as OwnHTTPClient).startOwn !== undefined && (response as OwnResponse).isFree === true) {
      resolve(head)
      return request.onFree?.()
    }
    const isError = head.status < 200 || head.status >= 300
    const keptBytes = isError ? Math.max(request.keptBytes, EXCERPT_BYTES) : request.keptBytes
    if (keptBytes === 0) resolve(head)
    const body = new BodyReader(keptBytes)
    const finish = (): void => {
      cancelTimer()
      if (keptBytes > 0) resolve({ ...head, body: body.text })
      request.onFree?.()
    }
    endBody = () => {
      finish()
      body.cancel()
    }
    const cancelTimer = clock.setTimer(() => {
      endBody()
      stop(new Error('the response body did not end'))
    }, request.bodyMs ?? BODY_MS)
    void body.read(response).then(finish)
  }
  let given: Call | undefined
  const stop = (cause: Error): void => {
    try {
      given?.stop(cause)
    } catch {
      // On Cloudflare Workers, aborting throws if the incoming request in which the exchange began is over.
    }
  }
  try {
    given = call(client, request)
    settled(given.response).then(onResponse, (cause) => {
      if (!isOver) end(cause)
    })
  } catch (error) {
    end(error)
  }
  return {
    answer,
    abort(cause) {
      if (!isOver) end(cause)
      stop(cause)
      endBody()
    },
  }
}

/** The answer of an exchange that nobody else limits in time: after `timeoutMs` it is aborted. */
export async function answerWithin(exchange: Exchange, timeoutMs: number, clock: Clock): Promise<Answer> {
  const cancelTimer = clock.setTimer(() => exchange.abort(timeoutError(timeoutMs)), timeoutMs)
  const answer = await exchange.answer
  cancelTimer()
  return answer
}

export function timeoutError(timeoutMs: number): Error {
  return new Error(`no response within ${timeoutMs} ms`)
}

interface Call {
  readonly response: PromiseLike<HTTPResponse>
  stop(cause: Error): void
}

/** A client of this package needs no signal, which is costly to make. */
function call(client: OwnHTTPClient, given: ExchangeRequest): Call {
  const { url, headers, body, timeoutMs: httpRequestTimeout, closesConnection, keptBytes } = given
  const request = { url, method: 'POST' as const, headers, httpRequestTimeout, closesConnection }
  if (client.startOwn !== undefined) {
    const own: OwnRequest = { ...request, body, keptBytes, onStop: undefined }
    return { response: client.startOwn(own), stop: (cause) => own.onStop?.(cause) }
  }
  const abortion = new AbortController()
  const text = typeof body === 'string' || isByteClient(client) ? body : read(body)
  const { closesConnection: _, ...usual } = request
  const further = closesConnection ? { closesConnection } : {}
  // The cast is safe: only clients that take bytes get bytes.
  const whole = { ...usual, ...further, body: text, signal: abortion.signal } as HTTPClientRequest
  return { response: client.makeRequest(whole), stop: (cause) => abortion.abort(cause) }
}

/** A client may return any thenable, or throw. */
async function settled(response: PromiseLike<HTTPResponse>): Promise<HTTPResponse> {
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
