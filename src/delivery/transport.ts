import type { Authorization, TokenFailure } from '../auth/authorization.ts'
import type { FailureCode } from '../errors/errors.ts'
import type { HTTPClient } from '../http/client.ts'
import {
  type Abort,
  type Answer,
  answerWithin,
  EXCERPT_BYTES,
  exchange,
  type ResponseHead,
} from '../http/exchange.ts'
import { isSecretHeader, redactor } from '../http/redact.ts'
import { DELIVERED, judge, toDeliveryError, type Verdict, wordOf } from '../http/verdict.ts'
import { isHtml } from '../http/waits.ts'
import { isoTime } from '../message/build.ts'
import type { Holder } from '../message/store.ts'
import { read } from '../message/utf8.ts'
import { type Clock, soon } from '../runtime/clock.ts'
import type { Envelope } from './envelope.ts'
import {
  infoOf,
  type RequestFacts,
  type RequestObserver,
  redactHeaders,
  type VerifyResponse,
} from './facts.ts'

export interface TransportOptions {
  readonly url: string
  readonly writeKey: string
  readonly userAgent: string
  /** Never contain a header that the transport sets itself. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly timeoutMs: number
  readonly client: HTTPClient
  /** The `Authorization` header, or what makes it. */
  readonly credentials: string | Authorization
  readonly envelope: Envelope
  readonly observer: RequestObserver
  readonly clock: Clock
  /** Called when there is room again, see {@link Transport.isFull}. May be called within `send`. */
  readonly onRoom: () => void
}

/** An event, as a request needs it. */
export interface Sendable extends Holder {
  attempts: number
}

const CLOSED = 'the client was closed'

/** Writes requests, exchanges them for answers and judges these. Other code decides what becomes of the events. */
export class Transport {
  readonly #options: TransportOptions
  readonly #open = new Set<{ readonly abort: Abort }>()
  /** Whether somebody waits for one of them to end. */
  #isFull = false
  /** Headers of the last request, used again because they rarely change. */
  #lastHeaders: Record<string, string> | undefined

  constructor(options: TransportOptions) {
    this.#options = options
  }

  /**
   * Sends events in one request, again with a new access token where the token was refused. Never throws.
   *
   * @param done Called once, and never before this function, or the one that it returns, has returned.
   * @returns Ends the request: the verdict names this cause.
   */
  send(items: readonly Sendable[], nowMs: number, done: (verdict: Verdict) => void): Abort {
    const { credentials } = this.#options
    if (typeof credentials === 'string') return this.#attempt(items, credentials, nowMs, done)
    return this.#attemptWithToken(items, credentials, done)
  }

  /** Sends one request without events. Its answer affects no events. */
  async verify(authorization: string | undefined): Promise<VerifyResponse> {
    const { url, writeKey, clock, timeoutMs } = this.#options
    const body = JSON.stringify({ batch: [], writeKey, sentAt: new Date(clock.now()).toISOString() })
    const answer = await answerWithin(
      (done) => this.#exchange(this.#headers(authorization), body, 0, done),
      timeoutMs,
      clock,
    )
    const { status } = answer
    const isFine = status !== undefined && status >= 200 && status < 300 && !isHtml(answer.headers)
    const redact = this.#redactor(authorization ?? '')
    const problem = isFine ? undefined : toDeliveryError('rejected', answer, url, redact).message
    return { status, problem }
  }

  /** Whether so many requests, or bodies of responses, are under way. If so, `onRoom` is called when one of them has ended. */
  isFull(most: number): boolean {
    this.#isFull = this.#open.size >= most
    return this.#isFull
  }

  /** Aborts what is under way, bodies of responses too. */
  abort(): void {
    for (const { abort } of this.#open) abort(new Error(CLOSED))
  }

  #attempt(
    items: readonly Sendable[],
    authorization: string,
    startedMs: number,
    done: (verdict: Verdict, status: number | undefined) => void,
  ): Abort {
    try {
      const { url, envelope, observer, clock } = this.#options
      const sentAtMs = clock.now()
      const bytes = envelope.write(items, isoTime(sentAtMs))
      let attempts = 0
      for (const item of items) if (item.attempts > attempts) attempts = item.attempts
      for (const item of items) item.attempts++
      const usual = this.#headers(authorization)
      const headers = attempts === 0 ? usual : { ...usual, 'X-Retry-Count': String(attempts) }
      const facts = { url, attempt: attempts + 1, events: items.length, bytes: bytes.length }
      observer.onRequest(facts, () => ({
        url,
        method: 'POST',
        headers: redactHeaders(headers, isSecretHeader),
        body: read(envelope.writeRedacted(items, new Date(sentAtMs).toISOString())),
      }))
      const keptBytes = observer.wantsBodies ? EXCERPT_BYTES : 0
      return this.#exchange(headers, bytes, keptBytes, (answer) =>
        done(this.#judge(answer, facts, authorization, sentAtMs, startedMs), answer.status),
      )
    } catch (error) {
      soon(() => done(this.#noAnswer(error), undefined))
      return () => {}
    }
  }

  #attemptWithToken(
    items: readonly Sendable[],
    credentials: Authorization,
    done: (verdict: Verdict) => void,
  ): Abort {
    let isOver = false
    const finish = (verdict: Verdict): void => {
      if (isOver) return
      isOver = true
      soon(() => done(verdict))
    }
    const fail = (cause: unknown): void => finish(this.#noAnswer(cause))
    let abort: Abort = fail
    const attempt = (authorization: string): void => {
      if (isOver) return
      abort = this.#attempt(items, authorization, this.#options.clock.monotonic(), (verdict, status) => {
        const isRefused = status === 401 || status === 511
        if (isRefused && credentials.renew(authorization)) return authorize()
        if (verdict === DELIVERED) credentials.accepted(authorization)
        finish(verdict)
      })
    }
    const proceed = (given: string | TokenFailure): void => {
      if (typeof given === 'string') attempt(given)
      else if (!isOver) finish(this.#unsent(given))
    }
    const authorize = (): void => {
      abort = fail
      try {
        const given = credentials.authorization()
        if (given instanceof Promise) given.then(proceed).catch(fail)
        else proceed(given)
      } catch (error) {
        fail(error)
      }
    }
    authorize()
    return (cause) => abort(cause)
  }

  /** Must not throw: nobody would catch it. */
  #judge(
    answer: Answer,
    facts: RequestFacts,
    authorization: string,
    sentAtMs: number,
    startedMs: number,
  ): Verdict {
    const { url, observer } = this.#options
    const { status } = answer
    try {
      // Most requests are accepted: nothing is made for what may have to be told.
      const isAccepted = status !== undefined && wordOf(status) === 'delivered'
      // Dates in headers are compared with the time of the request, because this time is known to be valid.
      const verdict = isAccepted
        ? DELIVERED
        : judge(answer, { url, redact: this.#redactor(authorization), sentAtMs })
      const toInfo =
        answer.status === undefined ? undefined : () => infoOf(answer, url, this.#redactor(authorization))
      observer.onResponse(facts, startedMs, verdict, status, toInfo)
      if (isAccepted && isHtml((answer as ResponseHead).headers)) observer.onWebPage(url, status)
      return verdict
    } catch (error) {
      return this.#noAnswer(error)
    }
  }

  /** The headers of every request, which nobody may change. */
  #headers(authorization: string | undefined): Record<string, string> {
    if (this.#lastHeaders === undefined || this.#lastHeaders['Authorization'] !== authorization) {
      const { headers, userAgent } = this.#options
      this.#lastHeaders = {
        ...headers,
        'Content-Type': 'application/json',
        ...(authorization !== undefined && { Authorization: authorization }),
        'User-Agent': userAgent,
        // Only a short part of a response is read, so compressing it is no use, and some HTTP clients cannot decode it.
        'Accept-Encoding': 'identity',
      }
    }
    return this.#lastHeaders
  }

  #exchange(
    headers: Record<string, string>,
    body: string | Uint8Array,
    keptBytes: number,
    done: (answer: Answer) => void,
  ): Abort {
    const { url, timeoutMs, client, clock } = this.#options
    const open = { abort: (() => {}) as Abort }
    const onFree = (): void => {
      this.#open.delete(open)
      if (!this.#isFull) return
      this.#isFull = false
      this.#options.onRoom()
    }
    this.#open.add(open)
    const request = { url, headers, body, timeoutMs, keptBytes, onFree }
    open.abort = exchange(client, request, clock, done)
    return open.abort
  }

  /** There is no access token: what the token server said counts as the answer. */
  #unsent({ word, error, waitMs }: TokenFailure): Verdict {
    const code = error.code as FailureCode
    const verdict = { word, error, waitMs, code, isConnectionLost: false, isOfToken: true }
    this.#options.observer.onUnsent(verdict)
    return verdict
  }

  #noAnswer(cause: unknown): Verdict {
    const { url } = this.#options
    const verdict = judge({ status: undefined, cause }, { url, redact: this.#redactor(''), sentAtMs: 0 })
    // A request that could not be written, or was aborted, has lost no connection.
    return { ...verdict, isConnectionLost: false }
  }

  #redactor(authorization: string): (text: string) => string {
    const { writeKey, headers = {} } = this.#options
    return (text) => {
      const further = Object.keys(headers).filter(isSecretHeader)
      return redactor([
        ...[authorization, authorization.slice(authorization.indexOf(' ') + 1), writeKey],
        ...further.map((name) => headers[name] as string),
      ])(text)
    }
  }
}
