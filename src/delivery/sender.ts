import type { TokenCredentials } from '../auth/credentials.ts'
import { isConnectionLost, isUnreachable } from '../errors/cause.ts'
import type { DeliveryError } from '../errors/errors.ts'
import type { HTTPClient, HTTPHeaders } from '../http/client.ts'
import {
  EXCERPT_BYTES,
  type Exchange,
  type ExchangeResult,
  type ResponseHead,
  startExchange,
} from '../http/exchange.ts'
import type { Item } from '../line/item.ts'
import { isoTime } from '../message/build.ts'
import { read } from '../message/utf8.ts'
import { isSecretHeader, REDACTED, redactor } from '../policy/redact.ts'
import { isHtml, judge } from '../policy/response.ts'
import type { Clock } from '../runtime/clock.ts'
import { type Warn, warn } from '../runtime/warn.ts'
import type { EncodedBody, Encoder } from './compression.ts'
import type { Envelope } from './envelope.ts'
import type { OnEnd, RequestObserver, ResponseInfo, VerifyResponse } from './observer.ts'
import { explainEmpty, type SendResult, type ToError, toDeliveryError } from './send-result.ts'

export interface SenderOptions {
  readonly url: string
  readonly writeKey: string
  readonly userAgent: string
  /** Never contain a header that the sender sets itself. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly timeoutMs: number
  readonly client: HTTPClient
  /** Set when the client uses OAuth. */
  readonly tokens?: TokenCredentials | undefined
  readonly envelope: Envelope
  readonly observer: RequestObserver
  readonly clock: Clock
  /** Default: a process warning. */
  readonly warn?: Warn
  /** Never rejects. Default: bodies are sent unencoded. */
  readonly loadEncoder?: (() => Promise<Encoder>) | undefined
  /** Whether no request will follow, so that connections need not be kept alive. */
  readonly isLast?: () => boolean
}

/** The events of one request. */
export interface Sendable {
  readonly items: readonly Item[]
}

export type Ending = SendResult | { readonly action: 'unsent'; readonly error: DeliveryError | undefined }

/** The attempt was abandoned, or the gate stopped sending, before a request was sent. */
export const UNSENT: Ending = { action: 'unsent', error: undefined }

export interface Attempt {
  /** Resolves once the response headers are complete and, if the body is needed, the body too. Never rejects. */
  readonly result: Promise<Ending>
  /** Resolves when the socket is free. Never rejects. */
  readonly finished: Promise<void>
}

const SECRET_RESPONSE_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])

/** Makes single attempts to send a batch. Other code decides about retries. */
export class Sender {
  readonly #options: SenderOptions
  #encoder: Encoder | undefined
  readonly #open = new Set<Exchange>()
  #hasWarnedOfHtml = false
  /** Headers of the last request, used again because they rarely change. */
  #lastHeaders: Record<string, string> | undefined

  constructor(options: SenderOptions) {
    this.#options = options
  }

  /**
   * Never throws: an error before the request is sent gives the same result as a network error.
   *
   * @param authorization The `Authorization` header.
   * @param mayGo Called after each wait: returns whether the request may still be sent. Must not throw.
   */
  send(range: Sendable, authorization: string, mayGo: () => boolean = () => true): Attempt {
    const onFailure = (error: unknown): Attempt => ({
      result: Promise.resolve(this.#failed(error, authorization)),
      finished: Promise.resolve(),
    })
    try {
      const attempt = this.#begin(range, authorization, mayGo)
      if (!(attempt instanceof Promise)) return attempt
      const begun = attempt.catch(onFailure)
      return {
        result: begun.then(({ result }) => result),
        finished: begun.then(({ finished }) => finished),
      }
    } catch (error) {
      return onFailure(error)
    }
  }

  /** Aborts every request in flight and every response body that is still being read. */
  abort(): void {
    this.#encoder?.abort()
    for (const exchange of [...this.#open]) exchange.abort()
  }

  /** Sends one request without events. Its result affects no events. */
  async verify(authorization: string | undefined): Promise<VerifyResponse> {
    const { url, writeKey, clock } = this.#options
    const body = JSON.stringify({ batch: [], writeKey, sentAt: new Date(clock.now()).toISOString() })
    const response = await this.#exchange(this.#headers(authorization), body, 0).result
    const { status } = response
    const isFine = status !== undefined && status >= 200 && status < 300 && !isHtml(response.headers)
    const problem = isFine ? undefined : explainEmpty(response, url, this.#redactor(authorization ?? ''))
    return { status, problem }
  }

  #begin(range: Sendable, authorization: string, mayGo: () => boolean): Attempt | Promise<Attempt> {
    const { envelope, clock, loadEncoder } = this.#options
    const sentAtMs = clock.now()
    const bytes = envelope.write(range.items, isoTime(sentAtMs))
    const plain = { bytes, encoding: undefined }
    // No `await` when nothing has to be loaded, so that the request is sent within this turn.
    if (loadEncoder === undefined) return this.#start(range, plain, authorization, sentAtMs)
    const encode = async (): Promise<Attempt> => {
      this.#encoder ??= await loadEncoder()
      const encoded = mayGo() ? await this.#encoder.encode(bytes, range) : plain
      if (mayGo()) return this.#start(range, encoded, authorization, sentAtMs)
      return { result: Promise.resolve(UNSENT), finished: Promise.resolve() }
    }
    return encode()
  }

  #start(range: Sendable, body: EncodedBody, authorization: string, sentAtMs: number): Attempt {
    const { url, envelope, observer } = this.#options
    const headers = this.#headers(authorization)
    const { items } = range
    const attempts = items.reduce((most, item) => Math.max(most, item.attempts), 0)
    if (attempts > 0) headers['X-Retry-Count'] = String(attempts)
    if (body.encoding !== undefined) headers['Content-Encoding'] = body.encoding
    const facts = { url, attempt: attempts + 1, events: items.length, bytes: body.bytes.length }
    const onEnd = observer.onStart(facts, () => ({
      url,
      method: 'POST',
      headers: redactHeaders(headers, isSecretHeader),
      body: read(envelope.writeRedacted(items, new Date(sentAtMs).toISOString())),
    }))
    const keptBytes = observer.wantsBodies ? EXCERPT_BYTES : 0
    const exchange = this.#exchange(headers, body.bytes, keptBytes)
    for (const item of items) item.attempts++
    return {
      result: exchange.result.then((response) => {
        const result = this.#read(response, authorization, sentAtMs, onEnd)
        if (this.#encoder === undefined || response.status === undefined) return result
        const mustResend = this.#encoder.mustResend(body, range, response.status)
        return mustResend && result.action !== 'delivered' ? { ...result, action: 'resend' } : result
      }),
      finished: exchange.finished,
    }
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
    const closesConnection = isLast?.() === true
    const request = { url, headers, body, timeoutMs, keptBytes, closesConnection }
    const exchange = startExchange(client, request, clock)
    this.#open.add(exchange)
    void exchange.finished.then(() => this.#open.delete(exchange))
    return exchange
  }

  #read(response: ExchangeResult, authorization: string, sentAtMs: number, onEnd: OnEnd): SendResult {
    const { url, tokens } = this.#options
    const redact = this.#redactor(authorization)
    // Dates in headers are compared with the time of the request, because this time is known to be valid.
    const result = this.#judge(response, sentAtMs, redact)
    const isDelivered = result.action === 'delivered'
    const isPage = isDelivered && response.status !== undefined && isHtml(response.headers)
    onEnd(
      response.status,
      isDelivered ? undefined : () => result.toError('rejected').message,
      response.status === undefined ? undefined : () => infoOf(response, url, redact),
    )
    if (isDelivered) tokens?.onAccepted(authorization)
    if (isPage) this.#warnOfHtml(response.status)
    if (result.action !== 'renew' || tokens?.onUnauthorized(authorization)) return result
    return { ...result, action: 'auth' }
  }

  #judge(response: ExchangeResult, sentAtMs: number, redact: (text: string) => string): SendResult {
    const { url, tokens } = this.#options
    const { status } = response
    const toError: ToError = (code) => toDeliveryError(code, response, url, redact)
    if (status === undefined) {
      const isLost = isConnectionLost(response.cause)
      const facts = { isConnectionLost: isLost, isUnreachable: isUnreachable(response.cause) }
      return { action: 'retry', waitMs: undefined, status, text: '', ...facts, toError }
    }
    const { action, waitMs } = judge(response, tokens !== undefined, sentAtMs)
    const text = `${status} ${response.body}`
    return { action, waitMs, status, text, isConnectionLost: false, isUnreachable: false, toError }
  }

  #failed(cause: unknown, authorization: string): SendResult {
    const result = this.#judge({ status: undefined, cause }, 0, this.#redactor(authorization))
    return { ...result, isConnectionLost: false }
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

  #warnOfHtml(status: number): void {
    if (this.#hasWarnedOfHtml) return
    this.#hasWarnedOfHtml = true
    const { url, warn: report = warn } = this.#options
    report(
      'html_response',
      `${url} responded with status ${status} and a web page. The events count as delivered, but no tracking API ` +
        'responds like that; check the setting host.',
    )
  }
}

/** Credentials are redacted, because a server may quote the request. */
function infoOf(response: ResponseHead, url: string, redact: (text: string) => string): ResponseInfo {
  const { status, statusText, headers, body } = response
  return {
    url,
    status,
    statusText: redact(statusText),
    headers: readableHeaders(headers, redact),
    body: redact(body),
  }
}

function redactHeaders(
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
