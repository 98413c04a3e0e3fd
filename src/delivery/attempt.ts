import type { Credentials } from '../auth/credentials.ts'
import type { HTTPClient, HTTPHeaders } from '../http/client.ts'
import { EXCERPT_BYTES, type Exchange, type ExchangeResult, startExchange } from '../http/exchange.ts'
import { read } from '../message/utf8.ts'
import { isSecretHeader, REDACTED, redactor } from '../policy/redact.ts'
import type { Clock } from '../runtime/clock.ts'
import { warn } from '../runtime/warn.ts'
import type { Batch } from './batch.ts'
import { type Encode, type EncodedBody, identity } from './encode.ts'
import type { Envelope } from './envelope.ts'
import { isHtml, toDeliveryError } from './failure.ts'
import { readResult, type SendResult } from './result.ts'
import type { Holder } from './store.ts'

/** One request, as `http_request` listeners see it: credentials redacted. */
export interface RequestInfo {
  /** Absolute URL. */
  url: string
  /** Always `POST`. */
  method: string
  /** Headers; `Authorization` is `[redacted]`. */
  headers: Record<string, string>
  /** The body as text; the write key in it is `[redacted]`. */
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

/** Told of each request and response. The info is made only when somebody wants it. */
export interface Observer {
  onRequest(info: () => RequestInfo): void
  onResponse(info: () => ResponseInfo): void
  /** Whether anybody looks at the bodies of responses. */
  readonly wantsBodies: boolean
}

export interface SenderOptions {
  readonly url: string
  readonly writeKey: string
  readonly userAgent: string
  /** Further headers of every request: none that is set here. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly timeoutMs: number
  readonly client: HTTPClient
  readonly credentials: Credentials
  readonly envelope: Envelope
  readonly observer: Observer
  readonly clock: Clock
  /** Default: the body goes as it is. */
  readonly encode?: Encode
  /** Whether the client takes nothing more: connections need not be kept alive. Default: it does. */
  readonly isClosing?: () => boolean
}

/** One attempt in flight. */
export interface Attempt {
  /** Settles once the response headers are complete, and the body where it is wanted. Never rejects. */
  readonly result: Promise<SendResult>
  /** Settles when the socket is free again. Never rejects. */
  readonly finished: Promise<void>
}

const SECRET_RESPONSE_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])

/** Makes one attempt to send a batch. Knows the wire; knows no retry. */
export class Sender {
  readonly #options: SenderOptions
  readonly #encode: Encode
  readonly #open = new Set<Exchange>()
  #hasWarnedOfHtml = false
  /** Grows with each abort: a body that was being encoded then is not sent. */
  #aborts = 0

  constructor(options: SenderOptions) {
    this.#options = options
    this.#encode = options.encode ?? identity
  }

  /**
   * Never throws: whatever fails before the request goes out is a result like a network error.
   *
   * @param authorization The value of that header.
   */
  send(batch: Batch<Holder>, authorization: string): Attempt {
    const onFailure = (error: unknown): Attempt => ({
      result: Promise.resolve(this.#failed(error, authorization)),
      finished: Promise.resolve(),
    })
    try {
      const attempt = this.#begin(batch, authorization)
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
    this.#aborts++
    for (const exchange of this.#open) exchange.abort()
  }

  #begin(batch: Batch<Holder>, authorization: string): Attempt | Promise<Attempt> {
    const { url, userAgent, envelope, observer, clock } = this.#options
    const headers: Record<string, string> = {
      ...this.#options.headers,
      'Content-Type': 'application/json',
      Authorization: authorization,
      'User-Agent': userAgent,
      // What is read of a response is too short to be worth compressing, and not every client could read it.
      'Accept-Encoding': 'identity',
    }
    if (batch.attempts > 0) headers['X-Retry-Count'] = String(batch.attempts)
    // Not the cached text of the call's time: a retry carries a new one.
    const sentAtMs = clock.now()
    const sentAt = new Date(sentAtMs).toISOString()
    const { entries } = batch
    const start = (encoded: EncodedBody): Attempt => {
      const attempt = this.#start(encoded, headers, authorization, sentAtMs)
      batch.attempts++
      return attempt
    }
    const encoded = this.#encode(envelope.write(entries, sentAt))
    observer.onRequest(() => ({
      url,
      method: 'POST',
      headers: redactHeaders(headers, isSecretHeader),
      body: read(envelope.writeRedacted(entries, sentAt)),
    }))
    if (!(encoded instanceof Promise)) return start(encoded)
    const aborts = this.#aborts
    return encoded.then((body) => {
      if (aborts !== this.#aborts) throw new Error('the client was closed')
      return start(body)
    })
  }

  #start(
    encoded: EncodedBody,
    headers: Record<string, string>,
    authorization: string,
    sentAtMs: number,
  ): Attempt {
    const { url, timeoutMs, client, observer, clock, isClosing } = this.#options
    const request = {
      url,
      headers: Object.assign(headers, encoded.headers),
      body: encoded.bytes,
      timeoutMs,
      keptBytes: observer.wantsBodies ? EXCERPT_BYTES : 0,
      closesConnection: isClosing?.() === true,
    }
    const exchange = startExchange(client, request, clock)
    this.#open.add(exchange)
    void exchange.finished.then(() => this.#open.delete(exchange))
    return {
      result: exchange.result.then((result) => this.#read(result, authorization, sentAtMs)),
      finished: exchange.finished,
    }
  }

  #read(response: ExchangeResult, authorization: string, sentAtMs: number): SendResult {
    const { url, credentials, observer } = this.#options
    const redact = this.#redactor(authorization)
    if (response.status !== undefined) {
      const { status, statusText, headers, body } = response
      observer.onResponse(() => ({
        url,
        status,
        // A server may quote the request, credentials included.
        statusText: redact(statusText),
        headers: readableHeaders(headers, redact),
        body: redact(body),
      }))
    }
    // Dates in headers are measured from the time of the request, which is known to be one.
    const result = readResult(response, credentials.isRenewable, sentAtMs, (code) =>
      toDeliveryError(code, response, url, redact),
    )
    if (result.status === 'delivered') {
      credentials.onAccepted(authorization)
      if (response.status !== undefined && isHtml(response)) this.#warnOfHtml(response.status)
    }
    if (result.status !== 'renew' || credentials.onUnauthorized(authorization)) return result
    return { status: 'failed', code: 'auth', toError: result.toError }
  }

  #failed(error: unknown, authorization: string): SendResult {
    const { url } = this.#options
    const redact = this.#redactor(authorization)
    return {
      status: 'retry',
      floorMs: undefined,
      isConnectionLost: false,
      toError: (code) => toDeliveryError(code, { status: undefined, cause: error }, url, redact),
    }
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
    const { url } = this.#options
    warn(
      'html_response',
      `${url} responded with status ${status} and a web page. The events count as delivered, but no tracking API ` +
        'responds like that; check the setting host.',
    )
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
    // Headers of a custom client that throw when read; the outcome does not depend on this copy.
  }
  for (const [name, value] of Object.entries(readable)) {
    if (typeof value === 'string') readable[name] = redact(value)
  }
  return redactHeaders(readable, (name) => SECRET_RESPONSE_HEADERS.has(name.toLowerCase()))
}
