import type { Authorization, TokenFailure } from '../auth/authorization.ts'
import type { FailureCode } from '../errors/errors.ts'
import type { HTTPClient } from '../http/client.ts'
import { type Answer, answerWithin, EXCERPT_BYTES, type Exchange, startExchange } from '../http/exchange.ts'
import { isSecretHeader, redactor } from '../http/redact.ts'
import { DELIVERED, explainEmpty, judge, type Verdict, wordOf } from '../http/verdict.ts'
import { isHtml } from '../http/waits.ts'
import { isoTime } from '../message/build.ts'
import { read } from '../message/utf8.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Envelope, Enveloped } from './envelope.ts'
import { infoOf, type RequestObserver, redactHeaders, type VerifyResponse } from './facts.ts'

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
  /** Whether no request will follow, so that connections need not be kept alive. */
  readonly isLast: () => boolean
  /** Called when there is room again, see {@link Transport.isFull}. May be called within `send`. */
  readonly onRoom: () => void
}

/** A request under way. */
export interface Sending {
  /** Never rejects. */
  readonly verdict: Promise<Verdict>
  /** Ends it: the verdict names this cause. */
  abort(cause: Error): void
}

/** An event, as a request needs it. */
export interface Sendable extends Enveloped {
  attempts: number
}

const CLOSED = 'the client was closed'

/** Writes requests, exchanges them for answers and judges these. Other code decides what becomes of the events. */
export class Transport {
  readonly #options: TransportOptions
  readonly #open = new Set<Exchange>()
  /** Whether somebody waits for one of them to end. */
  #isFull = false
  /** Headers of the last request, used again because they rarely change. */
  #lastHeaders: Record<string, string> | undefined

  constructor(options: TransportOptions) {
    this.#options = options
  }

  /** Sends events in one request, again with a new access token where the token was refused. Never throws. */
  send(items: readonly Sendable[]): Sending {
    const { credentials } = this.#options
    let exchange: Exchange | undefined
    let isOver = false
    let resolve: (verdict: Verdict) => void
    const verdict = new Promise<Verdict>((resolver) => {
      resolve = resolver
    })
    const end = (given: Verdict): void => {
      isOver = true
      resolve(given)
    }
    const fail = (cause: unknown): void => end(this.#noAnswer(cause))
    const exchangeWith = (authorization: string): void => {
      const started = this.#begin(items, authorization)
      exchange = started.exchange
      exchange.answer
        .then((answer) => {
          const given = started.conclude(answer)
          const isRefused = answer.status === 401 || answer.status === 511
          if (isOver || typeof credentials === 'string') return end(given)
          if (isRefused && credentials.renew(authorization)) return authorize()
          if (given === DELIVERED) credentials.accepted(authorization)
          return end(given)
        })
        .catch(fail)
    }
    const authorize = (): void => {
      const given = typeof credentials === 'string' ? credentials : credentials.authorization()
      if (typeof given === 'string') return exchangeWith(given)
      if (!(given instanceof Promise)) return end(this.#unsent(given))
      given
        .then((made) => {
          if (isOver) return
          if (typeof made === 'string') exchangeWith(made)
          else end(this.#unsent(made))
        })
        .catch(fail)
    }
    try {
      authorize()
    } catch (error) {
      fail(error)
    }
    return {
      verdict,
      abort: (cause) => {
        fail(cause)
        exchange?.abort(cause)
      },
    }
  }

  /** Sends one request without events. Its answer affects no events. */
  async verify(authorization: string | undefined): Promise<VerifyResponse> {
    const { url, writeKey, clock, timeoutMs } = this.#options
    const body = JSON.stringify({ batch: [], writeKey, sentAt: new Date(clock.now()).toISOString() })
    const exchange = this.#exchange(this.#headers(authorization), body, 0)
    const answer = await answerWithin(exchange, timeoutMs, clock)
    const { status } = answer
    const isFine = status !== undefined && status >= 200 && status < 300 && !isHtml(answer.headers)
    const problem = isFine ? undefined : explainEmpty(answer, url, this.#redactor(authorization ?? ''))
    return { status, problem }
  }

  /** Whether so many requests, or bodies of responses, are under way. If so, `onRoom` is called when one of them has ended. */
  isFull(most: number): boolean {
    this.#isFull = this.#open.size >= most
    return this.#isFull
  }

  /** Aborts what is under way, bodies of responses too. */
  abort(): void {
    for (const exchange of this.#open) exchange.abort(new Error(CLOSED))
  }

  #begin(
    items: readonly Sendable[],
    authorization: string,
  ): { exchange: Exchange; conclude: (answer: Answer) => Verdict } {
    const { url, envelope, observer, clock } = this.#options
    const sentAtMs = clock.now()
    const bytes = envelope.write(items, isoTime(sentAtMs))
    const headers = this.#headers(authorization)
    let attempts = 0
    for (const item of items) if (item.attempts > attempts) attempts = item.attempts
    if (attempts > 0) headers['X-Retry-Count'] = String(attempts)
    for (const item of items) item.attempts++
    const facts = { url, attempt: attempts + 1, events: items.length, bytes: bytes.length }
    observer.onRequest(facts, () => ({
      url,
      method: 'POST',
      headers: redactHeaders(headers, isSecretHeader),
      body: read(envelope.writeRedacted(items, new Date(sentAtMs).toISOString())),
    }))
    const startedMs = clock.monotonic()
    const exchange = this.#exchange(headers, bytes, observer.wantsBodies ? EXCERPT_BYTES : 0)
    const conclude = (answer: Answer): Verdict => {
      const { status } = answer
      // Most requests are accepted: nothing is made for what may have to be told.
      const isAccepted = status !== undefined && wordOf(status) === 'delivered'
      // Dates in headers are compared with the time of the request, because this time is known to be valid.
      const verdict = isAccepted
        ? DELIVERED
        : judge(answer, { url, redact: this.#redactor(authorization), sentAtMs })
      const durationMs = clock.monotonic() - startedMs
      if (answer.status === undefined) observer.onResponse(facts, durationMs, verdict, undefined, undefined)
      else {
        const isPage = verdict === DELIVERED && isHtml(answer.headers)
        observer.onResponse(facts, durationMs, verdict, answer.status, () =>
          infoOf(answer, url, this.#redactor(authorization)),
        )
        if (isPage) observer.onWebPage(url, answer.status)
      }
      return verdict
    }
    return { exchange, conclude }
  }

  /** The headers of every request, in an object that the caller may change. */
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
    return { ...this.#lastHeaders }
  }

  #exchange(headers: Record<string, string>, body: string | Uint8Array, keptBytes: number): Exchange {
    const { url, timeoutMs, client, clock, isLast } = this.#options
    const onFree = (): void => {
      this.#open.delete(exchange)
      if (!this.#isFull) return
      this.#isFull = false
      this.#options.onRoom()
    }
    const request = { url, headers, body, timeoutMs, keptBytes, closesConnection: isLast(), onFree }
    const exchange = startExchange(client, request, clock)
    this.#open.add(exchange)
    return exchange
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
