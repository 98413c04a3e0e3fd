import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Authenticator, Caller } from '../auth/caller.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import type { FaultInjector } from '../faults/injector.ts'
import { PerSecond } from '../http/per-second.ts'
import { endEarly, ReceivedBody, type RefusedBody, receiveBody, replyEarly } from '../http/read-body.ts'
import { HttpProblem, jsonHeaders, replyJson, replyProblem } from '../http/reply.ts'
import type { RequestNotes } from '../http/request-notes.ts'
import type { Turns } from '../http/turns.ts'
import { parseInexact } from '../json/exact-json.ts'
import type { Slice } from '../json/scan-json.ts'
import type { EventWriter } from '../log/ports.ts'
import { networkOf } from '../network-address.ts'
import { type Kind, REASONS, type Reason } from '../record.ts'
import type { NewEvent, RateLimits } from '../store/ports.ts'
import { inheritanceOf } from './inheritance.ts'
import type { Envelope } from './message.ts'
import { type KnownCaller, newEvent, type PlanChecker, refusedMessage, refusedRequest } from './new-events.ts'
import { type BadRequest, maxBodyBytes, readRequest, refusal, type TrackingRequest } from './read-request.ts'
import { readTime } from './timestamp.ts'

const STORAGE_RETRY_SECONDS = 5
const SHORT_BODY_BYTES = 65_536

/** The events of requests without a known write key, and the refusals of such requests, are recorded up to these limits. */
const UNKNOWN_REQUESTS_PER_SECOND = 200
const UNKNOWN_BYTES_PER_SECOND = 2_000_000
/** What an event counts beside its own bytes: the smallest one is two bytes in a batch, but a row of the database. */
const ROW_BYTES = 400

/** Number of messages that are checked before other requests get a turn of the event loop. */
const ITEMS_PER_STEP = 250

export interface TrackingApiParts {
  config: Config
  clock: Clock
  authenticator: Authenticator
  rateLimit: RateLimits
  log: EventWriter
  /** For the error message to a client. */
  writesTo: 'database' | 'log'
  turns: Turns
  faults: FaultInjector
  plan?: PlanChecker | undefined
  /** Called for internal faults, never for a mistake of a client. */
  onFault(what: string, cause: unknown): void
}

/** Handles `POST /v1/{kind}` and `/v1/batch`. */
export class TrackingApi {
  readonly #parts: TrackingApiParts
  readonly #unknownRequests: PerSecond
  readonly #unknownBytes: PerSecond

  constructor(parts: TrackingApiParts) {
    this.#parts = parts
    this.#unknownRequests = new PerSecond(UNKNOWN_REQUESTS_PER_SECOND, parts.clock)
    this.#unknownBytes = new PerSecond(UNKNOWN_BYTES_PER_SECOND, parts.clock)
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
    const early = await authenticator.identifyByHeader(authorization, notes.address)
    if (early !== undefined && !isKnown(early) && !faults.isActive)
      return this.#refuseCaller(request, response, path, early, notes)
    if (early !== undefined && (await this.#slowsDown(request, response, early, notes))) return
    const isJson = isJsonType(request.headers['content-type'])
    if (!isJson && config.strictContentType) {
      return this.#refuse(request, response, path, refusal('bad_content_type'), notes)
    }
    const sender = senderOf(early, notes.address)
    const received = await receiveBody(request, maxBodyBytes(path), sender)
    if (received === 'aborted') return
    if (!(received instanceof ReceivedBody))
      return this.#read(request, response, path, received, early, notes)
    try {
      const { turns } = this.#parts
      await received.turn()
      await turns.enter(sender, received.likelyBytes)
      if (!response.destroyed) await this.#read(request, response, path, received.decode(), early, notes)
    } finally {
      received.release()
    }
  }

  /** @param early The caller, if the header names it. */
  async #read(
    request: IncomingMessage,
    response: ServerResponse,
    path: Kind | 'batch',
    read: RefusedBody | { body: Buffer; sentBytes: number },
    early: Caller | undefined,
    notes: RequestNotes,
  ): Promise<void> {
    const { faults, authenticator } = this.#parts
    const { authorization } = request.headers
    notes.bodyBytes = read.sentBytes
    const body = 'body' in read ? read.body : undefined
    if (body !== undefined) notes.tookBody(body)
    const fault = await faults.inject(
      request,
      response,
      `/v1/${path}`,
      () => authenticator.sourceName(authorization, keyIn(body)) ?? undefined,
    )
    if (fault !== undefined) {
      notes.fault = fault.id
      return
    }
    if ('refused' in read) return this.#refuse(request, response, path, refusal(reasonOn(path, read)), notes)
    const parsed = readRequest(read.body, path)
    const { turns } = this.#parts
    const messages = parsed.items?.length ?? 0
    turns.opened(messages)
    try {
      if ('refused' in parsed) return await this.#refuse(request, response, path, parsed, notes)
      if (!isJsonType(request.headers['content-type'])) parsed.warnings.unshift('content_type')
      await this.#take(request, response, path, parsed, early, notes)
    } finally {
      turns.closed(messages)
    }
  }

  async #take(
    request: IncomingMessage,
    response: ServerResponse,
    path: Kind | 'batch',
    parsed: TrackingRequest,
    early: Caller | undefined,
    notes: RequestNotes,
  ): Promise<void> {
    const { authenticator, clock, log, writesTo, onFault } = this.#parts
    notes.events = parsed.items.length
    notes.library = libraryOf(parsed)
    const { authorization } = request.headers
    const caller = early ?? (await authenticator.identify(authorization, parsed.writeKey, notes.address))
    if (caller.outcome === 'source') notes.source = caller.source.name
    if (early === undefined && (await this.#slowsDown(request, response, caller, notes))) return
    if (!isKnown(caller)) return this.#refuseCaller(request, response, path, caller, notes)
    if (caller.outcome === 'unknown' && !this.#recordsUnknown(notes)) {
      // As for every request without a known key, the 200 does not mean that the events are accepted.
      return replyJson(response, 200, { success: true })
    }
    const events = await this.#judge(parsed, path, clock.now(), caller, notes)
    try {
      const kept = await log.append(events)
      notes.accepted = kept.filter(({ status }) => status === 'accepted').length
    } catch (cause) {
      const what = writesTo === 'log' ? 'the log accepts no events' : 'the database cannot write'
      onFault(what, cause)
      const wait = { 'retry-after': String(STORAGE_RETRY_SECONDS) }
      const problem = new HttpProblem(503, 'storage', what, wait)
      notes.refused(problem)
      return replyProblem(response, problem)
    }
    replyJson(response, 200, { success: true })
  }

  /** Anybody can send without a key, and must not fill the disk with events that are not accepted. */
  #recordsUnknown({ inflatedBytes, events }: RequestNotes): boolean {
    return this.#unknownRequests.take() && this.#unknownBytes.take(inflatedBytes + events * ROW_BYTES)
  }

  /** Checks the messages, and lets other requests run in between. */
  async #judge(
    parsed: TrackingRequest,
    path: Kind | 'batch',
    receivedAtMs: number,
    caller: KnownCaller,
    notes: RequestNotes,
  ): Promise<NewEvent[]> {
    const { config, plan, turns } = this.#parts
    const envelope: Envelope = {
      inheritance: inheritanceOf(parsed, notes.inflatedBytes, parsed.inexact),
      sentAt: parsed.sentAt,
      sentAtMs: readTime(parsed.sentAt)?.ms,
      receivedAtMs,
      receivedAt: new Date(receivedAtMs).toISOString(),
      remoteAddress: notes.address,
      warnings: parsed.warnings,
    }
    const pathKind = path === 'batch' ? undefined : path
    const context = { pathKind, envelope, caller, config, plan, requestId: notes.id }
    return inSteps(parsed.items, turns, notes.inflatedBytes, (item, index) => {
      const { start, end } = parsed.slices[index] as Slice
      const inexact = parsed.inexactBody && parseInexact(parsed.inexactBody.toString('utf8', start, end))
      return newEvent(item, end - start, context, inexact)
    })
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
    const headers = jsonHeaders(body)
    if (request.complete) {
      response.writeHead(400, headers).end(body)
    } else {
      response.writeHead(400, { ...headers, connection: 'close' }).write(body)
      endEarly(request, response, this.#parts.clock)
    }
    if (notes.source === null && !this.#recordsUnknown(notes)) return
    await this.#record(
      items === undefined
        ? [refusedRequest(refused, path, receivedAtMs, source, notes.id)]
        : await inSteps(items, this.#parts.turns, notes.inflatedBytes, (item) =>
            refusedMessage(item, receivedAtMs, source, notes.id),
          ),
    )
  }

  #refuseCaller(
    request: IncomingMessage,
    response: ServerResponse,
    path: Kind | 'batch',
    caller: Exclude<Caller, KnownCaller>,
    notes: RequestNotes,
  ): void {
    if (caller.outcome === 'wait') return this.#slowDown(request, response, caller.seconds, notes)
    const { reason, challenge } = caller
    const receivedAtMs = this.#parts.clock.now()
    if (notes.source !== null || this.#recordsUnknown(notes))
      void this.#record([refusedRequest(reason, path, receivedAtMs, notes.source ?? '', notes.id)])
    notes.problem = { code: reason, message: REASONS[reason] }
    // The record names the exact problem, for the developer. A 401 does not, since the caller may be guessing keys.
    const problem =
      caller.outcome === 'unauthorized'
        ? new HttpProblem(
            401,
            'bad_credentials',
            'the credentials are missing, malformed, unknown or expired',
            {
              'www-authenticate': challenge,
            },
          )
        : new HttpProblem(403, reason, REASONS[reason], { 'www-authenticate': challenge })
    this.#reply(request, response, problem)
  }

  #reply(request: IncomingMessage, response: ServerResponse, problem: HttpProblem): void {
    if (request.complete || isShort(request)) replyProblem(response, problem)
    else replyEarly(request, response, problem, this.#parts.clock)
  }

  /** Never rejects. */
  async #record(rows: NewEvent[]): Promise<void> {
    const { log, onFault } = this.#parts
    await log
      .append(rows)
      .catch((cause: unknown) => onFault('a refused request could not be recorded', cause))
  }

  /** Counts a request of a source with a rate. Returns whether it is over the rate, and has got a 429. */
  async #slowsDown(
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
    notes: RequestNotes,
  ): Promise<boolean> {
    if (caller.outcome !== 'source' || caller.source.rate === undefined) return false
    const waitMs = await this.#parts.rateLimit.take(caller.source.name, caller.source.rate)
    if (waitMs === undefined) return false
    this.#slowDown(request, response, Math.ceil(waitMs / 1000), notes)
    return true
  }

  #slowDown(request: IncomingMessage, response: ServerResponse, seconds: number, notes: RequestNotes): void {
    const { config, clock } = this.#parts
    const asDate = config.retryAfter === 'date'
    const problem = new HttpProblem(429, 'rate_limited', `over the rate, wait ${seconds} s`, {
      // An HTTP-date has whole seconds. The time is rounded up, so that the client does not retry too early.
      'retry-after': asDate
        ? new Date(Math.ceil(clock.now() / 1000) * 1000 + seconds * 1000).toUTCString()
        : String(seconds),
      'x-ratelimit-reset': String(seconds),
    })
    notes.refused(problem)
    this.#reply(request, response, problem)
  }
}

/** Node.js reads the rest of a body after the response. If it is short, the client can keep its connection. */
function isShort({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= SHORT_BODY_BYTES
}

/**
 * Who takes turns and shares the memory for bodies: a source whose key is in the header; all others by network, since anybody
 * can invent keys and tokens.
 */
function senderOf(early: Caller | undefined, address: string): string {
  return early?.outcome === 'source' ? `source ${early.source.name}` : networkOf(address)
}

function isKnown(caller: Caller): caller is KnownCaller {
  return caller.outcome === 'source' || caller.outcome === 'unknown'
}

/** Maps messages to events, a few hundred in each turn of the event loop. */
async function inSteps<Item>(
  items: readonly Item[],
  turns: Turns,
  bytes: number,
  toEvent: (item: Item, index: number) => NewEvent,
): Promise<NewEvent[]> {
  const events: NewEvent[] = []
  const stepBytes = (bytes / items.length) * ITEMS_PER_STEP
  for (const [index, item] of items.entries()) {
    // The first step does not wait for a turn of its own.
    if (index > 0 && index % ITEMS_PER_STEP === 0) await turns.goOn(stepBytes)
    events.push(toEvent(item, index))
  }
  return events
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
