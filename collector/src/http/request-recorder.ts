import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import type { NewRequest } from '../store/new-request.ts'
import { redactHeaders, redactPath } from './redact.ts'
import { type RequestCounter, RequestNotes } from './request-notes.ts'
import type { BrokenRequest } from './server.ts'

/** Where records go. */
export interface RequestLog {
  nextRequestId(): string
  /** Never throws and never waits. */
  appendRequest(request: NewRequest): void
}

export interface RequestFacts {
  path: string
  address: string
  /** Whether a request that ended with this status is recorded. */
  isWorthIt(status: number): boolean
  /** Returns the response that the connection got if the request was never complete. */
  brokenOff(): BrokenRequest | undefined
}

/** Records each request when it has ended. */
export class RequestRecorder {
  readonly #log: RequestLog
  readonly #clock: Clock
  readonly #counter: RequestCounter
  readonly #late = new Set<Promise<void>>()

  constructor(log: RequestLog, clock: Clock, counter: RequestCounter) {
    this.#log = log
    this.#clock = clock
    this.#counter = counter
  }

  begin(
    request: IncomingMessage,
    response: ServerResponse,
    { path, address, isWorthIt, brokenOff }: RequestFacts,
  ): RequestNotes {
    const notes = new RequestNotes(this.#log.nextRequestId(), address)
    const atMs = this.#clock.now()
    const startMs = this.#clock.monotonic()
    // The responses of `/token` and of the settings for browsers contain secrets.
    if (path.startsWith('/v1/') && !path.startsWith('/v1/projects')) notes.watch(response)
    response.once('close', () => {
      const broken = response.headersSent ? undefined : brokenOff()
      const status = response.headersSent ? response.statusCode : (broken?.status ?? 0)
      this.#counter.ended(status)
      if (!isWorthIt(status)) return
      if (broken !== undefined) notes.problem = { code: broken.code, message: broken.message }
      const facts = { path, atMs, status, durationMs: this.#clock.monotonic() - startMs }
      const write = () => this.#log.appendRequest(lineOf(request, notes, facts))
      if (response.headersSent || notes.handling === undefined) return write()
      // The client has closed the connection, but its events may still be written. The request is recorded with the result.
      this.#writeAfter(notes.handling, write)
    })
    return notes
  }

  #writeAfter(work: Promise<unknown>, write: () => void): void {
    const one: Promise<void> = work
      .then(
        // Runs in a later turn of the event loop: handlers that wait for the same write add its result to the notes first.
        () => nextTurn().then(write),
        write,
      )
      .finally(() => this.#late.delete(one))
    this.#late.add(one)
  }

  /** Resolves when all requests that wait for the write of their events are recorded. */
  async settled(): Promise<void> {
    await Promise.all(this.#late)
  }

  /** Records a connection that sent no valid request. */
  broken(address: string, { status, code, message }: BrokenRequest): void {
    this.#counter.ended(status)
    const notes = new RequestNotes(this.#log.nextRequestId(), address)
    notes.problem = { code, message }
    const facts = { path: '', atMs: this.#clock.now(), status, durationMs: 0 }
    this.#log.appendRequest(lineOf(undefined, notes, facts))
  }
}

// Written as one object literal: spreading several objects takes several times as long, and this runs for every request.
function lineOf(
  request: IncomingMessage | undefined,
  notes: RequestNotes,
  { path, atMs, status, durationMs }: Pick<NewRequest, 'path' | 'atMs' | 'status' | 'durationMs'>,
): NewRequest {
  const headers = request?.headers ?? {}
  const retryCount = headers['x-retry-count']
  return {
    id: notes.id ?? '',
    atMs,
    status,
    durationMs,
    method: request?.method ?? '',
    path: redactPath(path),
    source: notes.source,
    address: notes.address,
    userAgent: headers['user-agent'] ?? null,
    library: notes.library,
    contentType: headers['content-type'] ?? null,
    contentEncoding: headers['content-encoding'] ?? null,
    bodyBytes: notes.bodyBytes,
    inflatedBytes: notes.inflatedBytes,
    retryCount: typeof retryCount === 'string' && /^\d{1,9}$/.test(retryCount) ? Number(retryCount) : null,
    events: notes.events,
    accepted: notes.accepted,
    repeated: notes.repeated,
    problem: notes.problem,
    fault: notes.fault,
    headers: redactHeaders(headers),
    body: notes.body,
    bodyIsCut: notes.bodyIsCut,
    answer: notes.answer,
  }
}
