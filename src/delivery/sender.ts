import type { Credentials } from '../auth/credentials.ts'
import { type HTTPClient, type HTTPHeaders, isByteClient } from '../http/client.ts'
import { type Answer, type Exchange, startExchange } from '../http/exchange.ts'
import { read } from '../message/utf8.ts'
import { redactor } from '../policy/redact.ts'
import type { Clock } from '../runtime/clock.ts'
import { type Batch, Envelope } from './batch.ts'
import type { Stored } from './store.ts'

/** One attempt, as those who look on see it: without credentials. */
export interface RequestInfo {
  url: string
  method: string
  headers: Record<string, string>
  body: string
}

/** One answer, as those who look on see it. */
export interface ResponseInfo {
  url: string
  status: number
  statusText: string
  headers: Record<string, string>
}

/** Looks on. The info is only made when somebody wants it. */
export interface Observer {
  onRequest(info: () => RequestInfo): void
  onResponse(info: () => ResponseInfo): void
}

export interface SenderOptions {
  readonly url: string
  readonly writeKey: string
  readonly userAgent: string
  readonly timeoutMs: number
  readonly client: HTTPClient
  readonly credentials: Credentials
  readonly observer: Observer
  readonly clock: Clock
}

/** One attempt under way, and what its answer is to be read with. */
export interface Attempt {
  readonly answer: Promise<Answer>
  /** The socket is free again. */
  readonly finished: Promise<void>
  readonly authorization: string
  /** Takes the credentials of this attempt out of a text. */
  readonly redact: (text: string) => string
}

const REDACTED = '[redacted]'
const SECRET_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])

/** Makes one attempt to send a batch. Knows the wire; knows no retry. */
export class Sender {
  readonly envelope: Envelope
  readonly #options: SenderOptions
  readonly #open = new Set<Exchange>()

  constructor(options: SenderOptions) {
    this.#options = options
    this.envelope = new Envelope(options.writeKey)
  }

  send(batch: Batch<Stored>, authorization: string): Attempt {
    const { url, writeKey, userAgent, timeoutMs, client, observer, clock } = this.#options
    const headers: Record<string, string> = {
      'Content-Type': 'application/json',
      Authorization: authorization,
      'User-Agent': userAgent,
    }
    if (batch.attempts > 0) headers['X-Retry-Count'] = String(batch.attempts)
    batch.attempts++
    // Not the cached text of the call's time: a retry carries a new one.
    const sentAt = new Date(clock.now()).toISOString()
    observer.onRequest(() => ({
      url,
      method: 'POST',
      headers: redactHeaders(headers),
      body: read(this.envelope.writeRedacted(batch.entries, sentAt)),
    }))
    const bytes = this.envelope.write(batch.entries, sentAt)
    const body = isByteClient(client) && client.takesBytes() ? bytes : read(bytes)
    const exchange = startExchange(client, { url, headers, body, timeoutMs }, clock)
    this.#open.add(exchange)
    void exchange.finished.then(() => this.#open.delete(exchange))
    const redact = redactor([authorization, authorization.slice(authorization.indexOf(' ') + 1), writeKey])
    void exchange.answer.then((answer) => {
      if (answer.status === undefined) return
      const { status, headers } = answer
      observer.onResponse(() => ({
        url,
        status,
        // A server may quote the request, credentials included.
        statusText: redact(answer.statusText),
        headers: readableHeaders(headers, redact),
      }))
    })
    return { answer: exchange.answer, finished: exchange.finished, authorization, redact }
  }

  /** Aborts every request under way and every reply body that is still being read. */
  abort(): void {
    for (const exchange of this.#open) exchange.abort()
  }
}

function redactHeaders(headers: Record<string, string>): Record<string, string> {
  const entries = Object.entries(headers)
  return Object.fromEntries(
    entries.map(([name, value]) => [name, SECRET_HEADERS.has(name.toLowerCase()) ? REDACTED : value]),
  )
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
  return redactHeaders(readable)
}
