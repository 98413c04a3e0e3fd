import { type Clock, nextTurn } from '../runtime/clock.ts'
import { BodyReader, cancelBody } from './body.ts'
import { carriedResponse } from './carried-response.ts'
import type { HTTPClient, HTTPHeaders, HTTPResponse } from './client.ts'

interface Head {
  readonly status: number
  readonly statusText: string
  readonly headers: HTTPHeaders | undefined
}

/** What one request came to. No retry and no policy here: every status is a `response`. */
export type Answer = Head | { readonly status: undefined; readonly cause: unknown }

/** One request under way. */
export interface Exchange {
  /** Settles once the response headers are complete, at the deadline, or when it is aborted. Never rejects. */
  readonly answer: Promise<Answer>
  /** Settles when the reply body has been read or given up: from then on the socket is free. Never rejects. */
  readonly finished: Promise<void>
  abort(): void
}

export interface ExchangeRequest {
  readonly url: string
  readonly headers: Record<string, string>
  /** Bytes only for a client that takes them. */
  readonly body: string | Uint8Array
  /** Bound on the whole exchange, in milliseconds. */
  readonly timeoutMs: number
}

/** A reply body that is not there by then is given up: its status is known, and a socket waits for it. */
const BODY_GRACE_MS = 1_000
/** A deadline that fires this much late was held up by a stalled host, not by the server. */
const STALL_MS = 1_000

/**
 * Sends one request under one deadline for headers and body, with any client: one that throws, never
 * settles, ignores the signal or answers with nonsense comes out as an {@link Answer} all the same.
 */
export function startExchange(client: HTTPClient, request: ExchangeRequest, clock: Clock): Exchange {
  const controller = new AbortController()
  let answered: (answer: Answer) => void = () => {}
  let finished: () => void = () => {}
  let isAnswered = false
  let cancelTimer = (): void => {}

  const finish = (): void => {
    cancelTimer()
    finished()
  }
  const answer = (result: Answer): boolean => {
    if (isAnswered) return false
    isAnswered = true
    answered(result)
    return true
  }
  const fail = (cause: unknown): void => {
    const response = isAnswered ? undefined : carriedResponse(cause)
    if (response !== undefined) return onResponse(response)
    if (answer({ status: undefined, cause })) finish()
  }
  const abort = (cause: Error): void => {
    cancelTimer()
    answer({ status: undefined, cause })
    controller.abort(cause)
    // The connection is gone when this turn is over, and not before.
    void nextTurn().then(finish)
  }

  const onResponse = (response: HTTPResponse): void => {
    if (isAnswered) return cancelBody(response)
    const head = readHead(response)
    if (typeof head === 'string') {
      cancelBody(response)
      return fail(new TypeError(head))
    }
    cancelTimer()
    const leftMs = deadlineMs - clock.monotonic()
    // Nothing is left after a stall only, and then the body has its time as well.
    const graceMs = leftMs > 0 ? Math.min(leftMs, BODY_GRACE_MS) : BODY_GRACE_MS
    cancelTimer = clock.setTimer(() => abort(new Error('the reply body did not end')), graceMs)
    void new BodyReader(0).read(response).then(finish)
    answer(head)
  }

  const deadlineMs = clock.monotonic() + request.timeoutMs
  let isStalled = false
  const onDeadline = (): void => {
    if (!isStalled && clock.monotonic() - deadlineMs > STALL_MS) {
      // The host was blocked or frozen, and the answer may lie in the socket's buffer: let it be read first.
      isStalled = true
      cancelTimer = clock.setTimer(onDeadline, STALL_MS)
      return
    }
    abort(new Error(`no answer within ${request.timeoutMs} ms`))
  }

  const exchange: Exchange = {
    answer: new Promise((resolve) => {
      answered = resolve
    }),
    finished: new Promise((resolve) => {
      finished = resolve
    }),
    abort: () => abort(new Error('the client was closed')),
  }
  cancelTimer = clock.setTimer(onDeadline, request.timeoutMs)
  try {
    const { url, headers, timeoutMs } = request
    const body = request.body as string
    const { signal } = controller
    Promise.resolve(
      client.makeRequest({ url, method: 'POST', headers, body, httpRequestTimeout: timeoutMs, signal }),
    ).then(onResponse, fail)
  } catch (error) {
    fail(error)
  }
  return exchange
}

/** What counts of a response, or what is wrong with it. */
function readHead(response: HTTPResponse | null | undefined): Head | string {
  try {
    const { status, statusText, headers } = response ?? ({} as HTTPResponse)
    if (!Number.isInteger(status)) return 'the HTTP client answered with no integer status'
    return { status, statusText: typeof statusText === 'string' ? statusText : '', headers }
  } catch {
    return 'the HTTP client answered with an object that throws'
  }
}
