import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Authenticator, Caller } from '../auth/caller.ts'
import type { RateLimit } from '../auth/rate-limit.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import type { FaultInjector } from '../faults/injector.ts'
import { type RefusedBody, readBody, replyEarly, replyProblemEarly } from '../http/read-body.ts'
import { HttpProblem, replyJson, replyProblem } from '../http/reply.ts'
import type { RequestNotes } from '../http/request-notes.ts'
import type { NewEvent } from '../new-event.ts'
import { type Kind, REASONS, type Reason } from '../record.ts'
import { inheritanceOf } from './inheritance.ts'
import type { Envelope } from './message.ts'
import {
  type KnownCaller,
  newEvent,
  type PlanChecker,
  type RequestContext,
  refusedMessage,
  refusedRequest,
} from './new-events.ts'
import { type BadRequest, maxBodyBytes, readRequest, refusal, type TrackingRequest } from './read-request.ts'
import { readTime } from './timestamp.ts'

const STORAGE_RETRY_SECONDS = 5

/** Takes the judged events of a request. */
export interface EventSink {
  /**
   * Resolves when the events are kept, with the outcome of each. Only then is the request answered with 200; a rejection is
   * answered with 503.
   */
  append(events: readonly NewEvent[]): Promise<ReadonlyArray<{ reason: Reason | null }>>
  /** Takes the events of a request that was refused, for people to see. Undefined = they are not kept. */
  refused?(events: readonly NewEvent[]): Promise<unknown>
}

export interface TrackingApiParts {
  config: Config
  clock: Clock
  authenticator: Authenticator
  rateLimit: RateLimit
  sink: EventSink
  /** What the client and the log are told when events cannot be kept. */
  failure: string
  faults?: FaultInjector | undefined
  plan?: PlanChecker | undefined
  /** Called for internal faults, never for a mistake of a client. */
  onFault(what: string, cause: unknown): void
}

/** Handles `POST /v1/{kind}` and `/v1/batch`. */
export class TrackingApi {
  readonly #parts: TrackingApiParts

  constructor(parts: TrackingApiParts) {
    this.#parts = parts
  }

  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    path: Kind | 'batch',
    notes: RequestNotes,
  ): Promise<void> {
    const { config, faults, authenticator } = this.#parts
    const { authorization } = request.headers
    notes.source = authenticator.sourceName(authorization, undefined)
    // A wrong key is refused before its body takes up memory, unless the request is to get an injected fault.
    const early = authenticator.identifyByHeader(authorization)
    if (early !== undefined && !isKnown(early) && !faults?.isActive)
      return this.#refuseCaller(request, response, path, early, notes)
    if (early !== undefined && this.#slowsDown(request, response, early, notes)) return
    const isJson = isJsonType(request.headers['content-type'])
    if (!isJson && config.strictContentType) {
      return this.#refuse(request, response, path, refusal('bad_content_type'), notes)
    }
    const read = await readBody(request, maxBodyBytes(path))
    if (read === 'aborted') return
    notes.bodyBytes = read.sentBytes
    const body = 'body' in read ? read.body : undefined
    if (body !== undefined) notes.tookBody(body)
    const source = () => authenticator.sourceName(authorization, keyIn(body)) ?? undefined
    const fault = await faults?.inject(request, response, `/v1/${path}`, source)
    if (fault !== undefined) {
      notes.fault = fault.id
      return
    }
    if ('refused' in read && read.beginning !== undefined) notes.sawBeginning(request, read.beginning)
    if ('refused' in read) return this.#refuse(request, response, path, refusal(reasonOn(path, read)), notes)
    const parsed = readRequest(read.body, path)
    if ('refused' in parsed) return this.#refuse(request, response, path, parsed, notes)
    if (!isJson) parsed.warnings.unshift('content_type')
    await this.#take(request, response, path, parsed, early, notes)
  }

  async #take(
    request: IncomingMessage,
    response: ServerResponse,
    path: Kind | 'batch',
    parsed: TrackingRequest,
    early: Caller | undefined,
    notes: RequestNotes,
  ): Promise<void> {
    const { authenticator, sink, failure, onFault } = this.#parts
    notes.events = parsed.items.length
    notes.library = libraryOf(parsed)
    const { authorization } = request.headers
    const caller = early ?? authenticator.identify(authorization, parsed.writeKey)
    if (caller.outcome === 'source') notes.source = caller.source.name
    if (early === undefined && this.#slowsDown(request, response, caller, notes)) return
    if (!isKnown(caller)) return this.#refuseCaller(request, response, path, caller, notes)
    const events = this.#judge(parsed, path, caller, notes)
    try {
      for (const { reason } of await sink.append(events)) {
        if (reason === null) notes.accepted++
        else if (reason === 'duplicate') notes.repeated++
      }
    } catch (cause) {
      onFault(failure, cause)
      const wait = { 'retry-after': String(STORAGE_RETRY_SECONDS) }
      const problem = new HttpProblem(503, 'storage', failure, wait)
      notes.refused(problem)
      return replyProblem(response, problem)
    }
    replyJson(response, 200, { success: true })
  }

  #judge(
    parsed: TrackingRequest,
    path: Kind | 'batch',
    caller: KnownCaller,
    notes: RequestNotes,
  ): NewEvent[] {
    const { config, plan, clock } = this.#parts
    const receivedAtMs = clock.now()
    const envelope: Envelope = {
      inheritance: inheritanceOf(parsed, notes.inflatedBytes),
      sentAt: parsed.sentAt,
      sentAtMs: readTime(parsed.sentAt)?.ms,
      receivedAtMs,
      receivedAt: new Date(receivedAtMs).toISOString(),
      remoteAddress: notes.address,
      warnings: parsed.warnings,
    }
    const pathKind = path === 'batch' ? undefined : path
    const context: RequestContext = { pathKind, envelope, caller, config, plan, requestId: notes.id }
    return parsed.items.map((item, index) =>
      newEvent(item, parsed.sizes?.[index] ?? 0, context, parsed.rounded.has(index)),
    )
  }

  /** Records the reason for the 400, so that a developer can find out why the event is missing. */
  async #refuse(
    request: IncomingMessage,
    response: ServerResponse,
    path: Kind | 'batch',
    { refused, problem, items }: BadRequest,
    notes: RequestNotes,
  ): Promise<void> {
    const receivedAtMs = this.#parts.clock.now()
    const source = notes.source ?? ''
    notes.problem = problem
    notes.events = items?.length ?? 0
    const body = JSON.stringify({ success: false, ...problem })
    const keep = (bytes: Buffer) => notes.sawBeginning(request, bytes)
    replyEarly(request, response, { status: 400, body, headers: {} }, this.#parts.clock, keep)
    await this.#record(
      items === undefined
        ? [refusedRequest(refused, path, receivedAtMs, source, notes.id)]
        : items.map((item) => refusedMessage(item, receivedAtMs, source, notes.id)),
    )
  }

  #refuseCaller(
    request: IncomingMessage,
    response: ServerResponse,
    path: Kind | 'batch',
    caller: Exclude<Caller, KnownCaller>,
    notes: RequestNotes,
  ): void {
    const { reason, challenge } = caller
    const receivedAtMs = this.#parts.clock.now()
    void this.#record([refusedRequest(reason, path, receivedAtMs, notes.source ?? '', notes.id)])
    notes.problem = { code: reason, message: REASONS[reason] }
    // The record names the exact problem, for the developer. A 401 does not, since the caller may be guessing keys.
    const message = 'the credentials are missing, malformed, unknown or expired'
    const problem = new HttpProblem(401, 'bad_credentials', message, { 'www-authenticate': challenge })
    this.#reply(request, response, problem, notes)
  }

  #reply(
    request: IncomingMessage,
    response: ServerResponse,
    problem: HttpProblem,
    notes: RequestNotes,
  ): void {
    const keep = (bytes: Buffer) => notes.sawBeginning(request, bytes)
    replyProblemEarly(request, response, problem, this.#parts.clock, keep)
  }

  /** Never rejects. */
  async #record(rows: NewEvent[]): Promise<void> {
    const { sink, onFault } = this.#parts
    await sink
      .refused?.(rows)
      .catch((cause: unknown) => onFault('a refused request could not be recorded', cause))
  }

  /** Counts a request of a source with a rate. Returns whether it is over the rate, and has got a 429. */
  #slowsDown(
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
    notes: RequestNotes,
  ): boolean {
    if (caller.outcome !== 'source' || caller.source.rate === undefined) return false
    const waitMs = this.#parts.rateLimit.take(caller.source.name, caller.source.rate)
    if (waitMs === undefined) return false
    const seconds = String(Math.ceil(waitMs / 1000))
    const wait = { 'retry-after': seconds, 'x-ratelimit-reset': seconds }
    const problem = new HttpProblem(429, 'rate_limited', `over the rate, wait ${seconds} s`, wait)
    notes.refused(problem)
    this.#reply(request, response, problem, notes)
    return true
  }
}

function isKnown(caller: Caller): caller is KnownCaller {
  return caller.outcome === 'source' || caller.outcome === 'unknown'
}

/** Outside of batches, the body is a single event, so the event is too large, not the body. */
function reasonOn(path: Kind | 'batch', { refused }: RefusedBody): Reason {
  return refused === 'body_too_large' && path !== 'batch' ? 'event_too_large' : refused
}

function isJsonType(contentType: string | undefined): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}

function keyIn(body: Buffer | undefined): unknown {
  try {
    return (JSON.parse(body?.toString('utf8') ?? '') as { writeKey?: unknown } | null)?.writeKey
  } catch {
    return undefined
  }
}

const MAX_LIBRARY_CHARACTERS = 200

/** Returns `name/version` of the library that sent a request, from the batch or from its first message. */
function libraryOf({ context, items }: TrackingRequest): string | null {
  for (const where of [context, (items[0] as { context?: unknown } | null | undefined)?.context]) {
    const library = (where as { library?: { name?: unknown; version?: unknown } | null } | null | undefined)
      ?.library
    const { name, version } = library ?? {}
    if (typeof name === 'string') {
      return (typeof version === 'string' ? `${name}/${version}` : name).slice(0, MAX_LIBRARY_CHARACTERS)
    }
  }
  return null
}
