import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { replyProblemEarly } from './read-body.ts'
import { HttpProblem } from './reply.ts'
import type { RequestNotes } from './request-notes.ts'

export interface ProblemParts {
  clock: Clock
  onFault(what: string, cause: unknown): void
}

/**
 * Answers a request that could not be handled. Errors other than `HttpProblem` are reported, and answered with 503: the client can
 * send its events again.
 */
export function answerProblem(
  { clock, onFault }: ProblemParts,
  cause: unknown,
  request: IncomingMessage,
  response: ServerResponse,
  notes: RequestNotes,
): void {
  if (cause instanceof HttpProblem) notes.refused(cause)
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const problem = cause instanceof HttpProblem ? cause : unexpected()
  if (problem !== cause) onFault('a request could not be handled', cause)
  notes.refused(problem)
  // The body may have events that are looked for: they are kept, even if the path is wrong.
  replyProblemEarly(request, response, problem, clock, (bytes) => notes.sawBeginning(request, bytes))
}

function unexpected(): HttpProblem {
  return new HttpProblem(503, 'fault', 'the collector could not handle this', { 'retry-after': '5' })
}
