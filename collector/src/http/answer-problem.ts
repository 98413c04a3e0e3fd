import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { readBeginning, replyEarly } from './read-body.ts'
import { HttpProblem, replyProblem } from './reply.ts'
import { MAX_BODY_KEPT, type RequestNotes } from './request-notes.ts'

export interface ProblemParts {
  clock: Clock
  onFault(what: string, cause: unknown): void
}

/**
 * Answers a request that could not be handled. Errors other than `HttpProblem` are reported, and answered with 503: the client can
 * send its events again.
 */
export async function answerProblem(
  { clock, onFault }: ProblemParts,
  cause: unknown,
  request: IncomingMessage,
  response: ServerResponse,
  notes: RequestNotes,
): Promise<void> {
  if (cause instanceof HttpProblem) notes.refused(cause)
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  let problem = cause
  if (!(problem instanceof HttpProblem)) {
    onFault('a request could not be handled', cause)
    const wait = { 'retry-after': '5' }
    problem = new HttpProblem(503, 'fault', 'the collector could not handle this', wait)
    notes.refused(problem as HttpProblem)
  }
  // The body may have events that are looked for: they are kept, even if the path is wrong.
  const isUnread = !request.complete && request.readableFlowing === null
  if (isUnread && request.method === 'POST')
    notes.tookBody(await readBeginning(request, MAX_BODY_KEPT, clock))
  if (response.destroyed) return
  // The rest of a body that was cut would otherwise be read as the next request.
  if (request.complete) replyProblem(response, problem as HttpProblem)
  else replyEarly(request, response, problem as HttpProblem, clock)
}
