import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import type { NewRequest } from '../store/new-request.ts'
import { redactHeaders, redactPath } from './redact.ts'
import type { HttpProblem } from './reply.ts'
import { RequestNotes } from './request-notes.ts'

export interface RequestLog {
  nextRequestId(): number
  /** Never throws and never waits. */
  appendRequest(request: NewRequest): void
}

export interface RequestFacts {
  path: string
  address: string
  isWorthIt(status: number): boolean
  /** Returns the response that the connection got if the request was never complete. */
  brokenOff(): HttpProblem | undefined
}

/** Counts each request when it has ended, and records it. */
export class RequestRecorder {
  readonly #log: RequestLog | undefined
  readonly #clock: Clock
  readonly #ended: (status: number) => void

  /**
   * @param log Undefined in a process that records no requests.
   * @param ended Called for every request, whether it is recorded or not. Status 0 means that there was no response.
   */
  constructor(log: RequestLog | undefined, clock: Clock, ended: (status: number) => void) {
    this.#log = log
    this.#clock = clock
    this.#ended = ended
  }

  begin(
    request: IncomingMessage,
    response: ServerResponse,
    { path, address, isWorthIt, brokenOff }: RequestFacts,
  ): RequestNotes {
    const notes = new RequestNotes(this.#log?.nextRequestId(), address)
    const at = this.#clock.now()
    const startMs = this.#clock.monotonic()
    // The responses of `/token` and of the settings for browsers contain secrets.
    if (path.startsWith('/v1/') && !path.startsWith('/v1/projects')) notes.watch(response)
    response.once('close', () => {
      const broken = response.headersSent ? undefined : brokenOff()
      const status = response.headersSent ? response.statusCode : (broken?.status ?? 0)
      this.#ended(status)
      if (!isWorthIt(status)) return
      if (broken !== undefined) notes.problem = { code: broken.code, message: broken.message }
      const durationMs = this.#clock.monotonic() - startMs
      const write = () => this.#log?.appendRequest(lineOf(request, notes, { path, at, status, durationMs }))
      if (response.headersSent) return write()
      // The client has closed the connection, but its events may still be written. The request is recorded with the result, in
      // a later turn: handlers that wait for the same write add its result to the notes first.
      const recorded = () => void nextTurn().then(write)
      notes.handling.then(recorded, recorded)
    })
    return notes
  }

  /** Records a connection that sent no valid request. */
  broken(address: string, { status, code, message }: HttpProblem): void {
    this.#ended(status)
    const notes = new RequestNotes(this.#log?.nextRequestId(), address)
    notes.problem = { code, message }
    const facts = { path: '', at: this.#clock.now(), status, durationMs: 0 }
    this.#log?.appendRequest(lineOf(undefined, notes, facts))
  }
}

// Written as one object literal: spreading several objects takes several times as long, and this runs for every request.
function lineOf(
  request: IncomingMessage | undefined,
  notes: RequestNotes,
  { path, at, status, durationMs }: Pick<NewRequest, 'path' | 'at' | 'status' | 'durationMs'>,
): NewRequest {
  const headers = request?.headers ?? {}
  const retryCount = headers['x-retry-count']
  return {
    id: notes.id ?? 0,
    at,
    method: request?.method ?? '',
    path: redactPath(path),
    status,
    code: notes.problem?.code ?? null,
    source: notes.source,
    address: notes.address,
    userAgent: headers['user-agent'] ?? null,
    library: notes.library,
    contentType: headers['content-type'] ?? null,
    contentEncoding: headers['content-encoding'] ?? null,
    bodyBytes: notes.bodyBytes,
    inflatedBytes: notes.inflatedBytes,
    durationMs,
    retryCount: typeof retryCount === 'string' && /^\d{1,9}$/.test(retryCount) ? Number(retryCount) : null,
    events: notes.events,
    accepted: notes.accepted,
    repeated: notes.repeated,
    problem: notes.problem === null ? null : JSON.stringify(notes.problem),
    fault: notes.fault,
    headers: JSON.stringify(redactHeaders(headers)),
    body: notes.body,
    bodyIsCut: notes.bodyIsCut ? 1 : 0,
    answer: notes.answer,
  }
}
