import type { Authenticator, Caller } from '../auth/caller.ts'
import type { RateLimit } from '../auth/rate-limit.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import type { FaultInjector } from '../faults/injector.ts'
import { BodyProblem, readBody } from '../http/read-body.ts'
import { HttpProblem, isJsonType, replyJson } from '../http/reply.ts'
import type { Exchange, RequestNotes } from '../http/request-notes.ts'
import type { NewEvent } from '../new-event.ts'
import type { OnFault } from '../on-fault.ts'
import type { Kind, Reason } from '../record.ts'
import { inheritanceOf } from './inheritance.ts'
import {
  type KnownCaller,
  newEvent,
  type PlanChecker,
  type RequestContext,
  refusedMessage,
  refusedRequest,
} from './new-events.ts'
import { maxBodyBytes, Refusal, readRequest, type TrackingRequest } from './read-request.ts'
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
  /** What the client and the log are told when events cannot be kept. */
  failure: string
}

export interface TrackingApiParts {
  config: Config
  clock: Clock
  authenticator: Authenticator
  rateLimit: RateLimit
  sink: EventSink
  faults?: FaultInjector | undefined
  plan?: PlanChecker | undefined
  /** Called for internal faults, never for a mistake of a client. */
  onFault: OnFault
}

/** Handles `POST /v1/{kind}` and `/v1/batch`. */
export class TrackingApi {
  readonly #parts: TrackingApiParts

  constructor(parts: TrackingApiParts) {
    this.#parts = parts
  }

  /** @throws HttpProblem when no event of the request is accepted. */
  async handle(path: Kind | 'batch', exchange: Exchange): Promise<void> {
    try {
      await this.#handle(path, exchange)
    } catch (cause) {
      if (cause instanceof Refusal) this.#record(cause, path, exchange.notes)
      throw cause
    }
  }

  async #handle(path: Kind | 'batch', exchange: Exchange): Promise<void> {
    const { request, response, notes } = exchange
    const { config, faults, authenticator } = this.#parts
    const { authorization } = request.headers
    notes.source = authenticator.sourceName(authorization, undefined)
    const early = authenticator.identifyByHeader(authorization)
    // A wrong key is refused before its body takes up memory, unless the request is to get an injected fault.
    if (early !== undefined && !faults?.isActive) requireKnown(early)
    if (early !== undefined) this.#slowDown(early)
    const isJson = isJsonType(request.headers['content-type'])
    if (!isJson && config.strictContentType) throw new Refusal('bad_content_type')
    const body = await readEvents(path, exchange)
    const source = () => authenticator.sourceName(authorization, keyIn(body)) ?? undefined
    if (await faults?.inject(exchange, `/v1/${path}`, source)) return
    if (body instanceof Refusal) throw body
    const parsed = readRequest(body, path)
    if (!isJson) parsed.warnings.unshift('content_type')
    notes.events = parsed.items.length
    notes.library = libraryOf(parsed)
    const caller = early ?? authenticator.identify(authorization, parsed.writeKey)
    if (caller.outcome === 'source') notes.source = caller.source.name
    if (early === undefined) this.#slowDown(caller)
    const events = this.#judge(parsed, path, requireKnown(caller), notes)
    await this.#append(events, notes)
    replyJson(response, 200, { success: true })
  }

  async #append(events: readonly NewEvent[], notes: RequestNotes): Promise<void> {
    const { sink, onFault } = this.#parts
    try {
      for (const { reason } of await sink.append(events)) {
        if (reason === null) notes.accepted++
        else if (reason === 'duplicate') notes.repeated++
      }
    } catch (cause) {
      onFault(sink.failure, cause)
      throw new HttpProblem(503, 'storage', sink.failure, { 'retry-after': String(STORAGE_RETRY_SECONDS) })
    }
  }

  #judge(
    parsed: TrackingRequest,
    path: Kind | 'batch',
    caller: KnownCaller,
    notes: RequestNotes,
  ): NewEvent[] {
    const { config, plan, clock } = this.#parts
    const receivedAtMs = clock.now()
    const context: RequestContext = {
      pathKind: path === 'batch' ? undefined : path,
      envelope: {
        inheritance: inheritanceOf(parsed, notes.inflatedBytes),
        sentAt: parsed.sentAt,
        sentAtMs: readTime(parsed.sentAt)?.ms,
        receivedAtMs,
        receivedAt: new Date(receivedAtMs).toISOString(),
        remoteAddress: notes.address,
        warnings: parsed.warnings,
      },
      ...{ caller, config, plan, requestId: notes.id },
    }
    return parsed.items.map((item, index) =>
      newEvent(item, parsed.sizes?.[index] ?? 0, context, parsed.rounded.has(index)),
    )
  }

  /** Records why a request was refused, so that a developer can find out why the event is missing. */
  #record({ reason, problem, items }: Refusal, path: Kind | 'batch', notes: RequestNotes): void {
    const { sink, clock, onFault } = this.#parts
    notes.problem = problem
    if (items.length > 0) notes.events = items.length
    const base = { receivedAtMs: clock.now(), source: notes.source ?? '', requestId: notes.id }
    const rows =
      items.length === 0
        ? [refusedRequest(reason, path, base)]
        : items.map((item) => refusedMessage(item, base))
    sink.refused?.(rows).catch((cause: unknown) => onFault('a refused request could not be recorded', cause))
  }

  /** Counts a request of a source with a rate. @throws HttpProblem 429 when it is over the rate. */
  #slowDown(caller: Caller): void {
    if (caller.outcome !== 'source' || caller.source.rate === undefined) return
    const waitMs = this.#parts.rateLimit.take(caller.source.name, caller.source.rate)
    if (waitMs === undefined) return
    const seconds = String(Math.ceil(waitMs / 1000))
    const wait = { 'retry-after': seconds, 'x-ratelimit-reset': seconds }
    throw new HttpProblem(429, 'rate_limited', `over the rate, wait ${seconds} s`, wait)
  }
}

/**
 * The record names the exact problem, for the developer. The response does not, since the caller may be guessing keys.
 *
 * @throws Refusal with 401.
 */
function requireKnown(caller: Caller): KnownCaller {
  if (caller.outcome !== 'unauthorized') return caller
  const message = 'the credentials are missing, malformed, unknown or expired'
  const headers = { 'www-authenticate': caller.challenge }
  throw new Refusal(caller.reason, { answer: new HttpProblem(401, 'bad_credentials', message, headers) })
}

/** Returns why the body is refused: a fault may come first. */
async function readEvents(path: Kind | 'batch', { request, notes }: Exchange): Promise<Buffer | Refusal> {
  try {
    const { body, sentBytes } = await readBody(request, maxBodyBytes(path))
    notes.bodyBytes = sentBytes
    notes.tookBody(body)
    return body
  } catch (cause) {
    if (!(cause instanceof BodyProblem)) throw cause
    notes.bodyBytes = cause.sentBytes
    if (cause.beginning !== undefined) notes.sawBeginning(request, cause.beginning)
    // Outside of batches, the body is a single event, so the event is too large, not the body.
    const isEvent = cause.code === 'body_too_large' && path !== 'batch'
    return new Refusal(isEvent ? 'event_too_large' : cause.code)
  }
}

function keyIn(body: Buffer | Refusal): unknown {
  try {
    return (JSON.parse(body.toString()) as { writeKey?: unknown } | null)?.writeKey
  } catch {
    return undefined
  }
}

const MAX_LIBRARY_CHARACTERS = 200

/** Returns `name/version` of the library that sent a request, from the batch or from its first message. */
function libraryOf({ context, items }: TrackingRequest): string | null {
  for (const where of [context, Object(items[0]).context]) {
    const { name, version } = Object(Object(where).library)
    if (typeof name === 'string')
      return (typeof version === 'string' ? `${name}/${version}` : name).slice(0, MAX_LIBRARY_CHARACTERS)
  }
  return null
}
