import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Authenticator, Caller } from '../auth/caller.ts'
import type { RateLimit } from '../auth/rate-limit.ts'
import type { Source } from '../auth/sources.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import { planDeliveries } from '../destinations/select.ts'
import { endEarly, readBody } from '../http/read-body.ts'
import { HttpProblem, problemBody, replyJson, replyProblem, SECURITY_HEADERS } from '../http/reply.ts'
import { isKind, type Kind, REASONS, type Reason } from '../record.ts'
import type { NewEvent } from '../store/store.ts'
import type { Writer } from '../store/writer.ts'
import { type Envelope, isoTimeMs, type ReadMessage, readMessage } from './message.ts'
import { type BadRequest, maxBodyBytes, readRequest } from './read-request.ts'

/** Seconds that a client is told to wait when the database cannot write. */
const STORAGE_RETRY_SECONDS = 5

/** The parts that the tracking API is made of. */
export interface TrackingApiParts {
  config: Config
  clock: Clock
  authenticator: Authenticator
  rateLimit: RateLimit
  writer: Writer
  /** Told of what went wrong inside; never of a caller's mistake. */
  onFault(what: string, cause: unknown): void
}

/** `POST /v1/{kind}` and `/v1/batch`, spec section 3: from a request to records and an answer. */
export class TrackingApi {
  readonly #parts: TrackingApiParts

  constructor(parts: TrackingApiParts) {
    this.#parts = parts
  }

  async handle(request: IncomingMessage, response: ServerResponse, path: Kind | 'batch'): Promise<void> {
    if (!isJson(request.headers['content-type'])) {
      return this.#refuse(request, response, path, { refused: 'bad_content_type' })
    }
    const read = await readBody(request, maxBodyBytes(path))
    if (read === 'aborted') return
    if ('refused' in read) return this.#refuse(request, response, path, read)
    const parsed = readRequest(read.body, path)
    if ('refused' in parsed) return this.#refuse(request, response, path, parsed)

    const { authenticator, rateLimit, clock } = this.#parts
    const address = remoteAddress(request)
    const caller = await authenticator.identify(request.headers.authorization, parsed.writeKey, address)
    if (caller.outcome === 'source' && caller.source.rate !== undefined) {
      const waitMs = rateLimit.take(caller.source.name, caller.source.rate)
      if (waitMs !== undefined) return this.#slowDown(response, Math.ceil(waitMs / 1000))
    }
    if (caller.outcome !== 'source' && caller.outcome !== 'unknown') {
      return this.#turnAway(request, response, path, caller)
    }

    const receivedAtMs = clock.now()
    const envelope: Envelope = {
      context: parsed.context,
      integrations: parsed.integrations,
      sentAt: parsed.sentAt,
      sentAtMs: isoTimeMs(parsed.sentAt),
      receivedAtMs,
      receivedAt: new Date(receivedAtMs).toISOString(),
      remoteAddress: address,
    }
    const pathKind = path === 'batch' ? undefined : path
    const events = parsed.items.map((item) => this.#newEvent(item, pathKind, envelope, caller))
    try {
      await this.#parts.writer.write(events)
    } catch (cause) {
      this.#parts.onFault('the database cannot write', cause)
      const wait = { 'retry-after': String(STORAGE_RETRY_SECONDS) }
      return replyProblem(response, new HttpProblem(503, 'storage', 'the database cannot write', wait))
    }
    replyJson(response, 200, { success: true })
  }

  #newEvent(
    item: unknown,
    pathKind: Kind | undefined,
    envelope: Envelope,
    caller: Extract<Caller, { outcome: 'source' | 'unknown' }>,
  ): NewEvent {
    const message = readMessage(item, pathKind, envelope)
    const { config } = this.#parts
    const source = caller.outcome === 'source' ? caller.source : undefined
    let reason: Reason | null = message.reason
    if (caller.outcome === 'unknown') reason = caller.reason
    else if (source !== undefined && source.region !== config.region) reason = 'wrong_region'
    return {
      ...recordFields(message),
      source: source?.name ?? '',
      reason,
      receivedAtMs: envelope.receivedAtMs,
      receivedAt: envelope.receivedAt,
      deliveries: reason === null ? this.#plan(source, message, envelope.receivedAtMs) : [],
    }
  }

  #plan(source: Source | undefined, message: ReadMessage, receivedAtMs: number): NewEvent['deliveries'] {
    const { destinations } = this.#parts.config
    if (source === undefined || destinations.length === 0) return []
    return planDeliveries(destinations, source, message, receivedAtMs)
  }

  /** Answers 400, and records that and why: a developer who misses an event looks here. */
  #refuse(
    request: IncomingMessage,
    response: ServerResponse,
    path: Kind | 'batch',
    { refused, items }: BadRequest,
  ): void {
    const receivedAtMs = this.#parts.clock.now()
    const rows = (items ?? [{ value: undefined, reason: refused }]).map(({ value, reason }) =>
      refusedEvent(value, reason, path, receivedAtMs),
    )
    this.#recordRefusal(rows)
    const problem = { code: refused, message: REASONS[refused] }
    if (request.complete) return replyJson(response, 400, problemBody(problem))
    const body = JSON.stringify(problemBody(problem))
    response.writeHead(400, {
      ...SECURITY_HEADERS,
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    })
    response.write(body)
    endEarly(request, response, this.#parts.clock)
  }

  #turnAway(
    _request: IncomingMessage,
    response: ServerResponse,
    path: Kind | 'batch',
    caller: Exclude<Caller, { outcome: 'source' | 'unknown' }>,
  ): void {
    if (caller.outcome === 'wait') return this.#slowDown(response, caller.seconds)
    const reason = caller.outcome === 'unauthorized' ? 'bad_credentials' : 'source_not_allowed'
    this.#recordRefusal([refusedEvent(undefined, reason, path, this.#parts.clock.now())])
    const status = caller.outcome === 'unauthorized' ? 401 : 403
    const challenge = { 'www-authenticate': caller.challenge }
    replyProblem(response, new HttpProblem(status, reason, REASONS[reason], challenge))
  }

  #recordRefusal(rows: NewEvent[]): void {
    this.#parts.writer
      .write(rows)
      .catch((cause: unknown) => this.#parts.onFault('a refused request could not be recorded', cause))
  }

  #slowDown(response: ServerResponse, seconds: number): void {
    const { config, clock } = this.#parts
    const asDate = config.retryAfter === 'date'
    replyProblem(
      response,
      new HttpProblem(429, 'rate_limited', `over the rate, wait ${seconds} s`, {
        // An HTTP-date has whole seconds; rounded up, so that who waits for it has waited long enough.
        'retry-after': asDate
          ? new Date(Math.ceil(clock.now() / 1000) * 1000 + seconds * 1000).toUTCString()
          : String(seconds),
        'x-ratelimit-reset': String(seconds),
      }),
    )
  }
}

function isJson(contentType: string | undefined): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}

/** Address of the caller; an IPv4 address in IPv6 clothing is written as what it is. */
function remoteAddress(request: IncomingMessage): string {
  const address = request.socket.remoteAddress ?? ''
  return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
}

function recordFields({ kind, name, userId, anonymousId, messageId, timestampMs, body }: ReadMessage) {
  return { kind, name, userId, anonymousId, messageId, timestampMs, body }
}

// So much of an event over the limit is kept for people to recognise it by.
const PREVIEW_CHARACTERS = 2000

function refusedEvent(value: unknown, reason: Reason, path: Kind | 'batch', receivedAtMs: number): NewEvent {
  const receivedAt = new Date(receivedAtMs).toISOString()
  const event: NewEvent = {
    source: '',
    reason,
    kind: path,
    name: null,
    userId: null,
    anonymousId: null,
    messageId: null,
    receivedAtMs,
    receivedAt,
    timestampMs: receivedAtMs,
    body: null,
    deliveries: [],
  }
  if (value === undefined) return event
  const type = (value as { type?: unknown } | null)?.type
  const message = readMessage(value, isKind(type) ? type : undefined, {
    context: undefined,
    integrations: undefined,
    sentAt: undefined,
    sentAtMs: undefined,
    receivedAtMs,
    receivedAt,
    remoteAddress: '',
  })
  const preview = (text: string | null) => text?.slice(0, 200) ?? null
  return {
    ...event,
    kind: message.kind,
    name: preview(message.name),
    userId: preview(message.userId),
    anonymousId: preview(message.anonymousId),
    messageId: preview(message.messageId),
    body:
      reason === 'event_too_large'
        ? JSON.stringify({ refused: reason, beginning: message.body.slice(0, PREVIEW_CHARACTERS) })
        : message.body,
  }
}
