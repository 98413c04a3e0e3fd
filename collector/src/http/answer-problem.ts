import type { Clock } from '../clock.ts'
import type { OnFault } from '../on-fault.ts'
import { HttpProblem, jsonHeaders } from './reply.ts'
import type { Exchange } from './request-notes.ts'

/** How much of a refused body is still read, and for how long. */
const LINGER_BYTES = 65_536
const LINGER_MS = 500

/**
 * Answers a request that could not be handled. Errors other than `HttpProblem` are reported, and answered with 503: the client can
 * send its events again. The beginning of a body that was not read is kept: it may have events that are looked for.
 */
export function answerProblem(
  { clock, onFault }: { clock: Clock; onFault: OnFault },
  cause: unknown,
  exchange: Exchange,
): void {
  const { request, response, notes } = exchange
  const isExpected = cause instanceof HttpProblem
  if (isExpected) notes.refused(cause)
  if (response.headersSent || response.destroyed) return void response.destroy()
  if (!isExpected) onFault('a request could not be handled', cause)
  const wait = { 'retry-after': '5' }
  const problem = isExpected
    ? cause
    : new HttpProblem(503, 'fault', 'the collector could not handle this', wait)
  notes.refused(problem)
  const { status, body } = problem
  const headers = { ...jsonHeaders(body), ...problem.headers }
  if (request.complete) {
    const rest: Buffer | null = request.readableEnded ? null : request.read()
    if (rest !== null) notes.sawBeginning(request, rest)
    response.writeHead(status, headers).end(body)
  } else {
    response.writeHead(status, { ...headers, connection: 'close' }).write(body)
    endEarly(exchange, clock)
  }
}

/**
 * Ends a response that was sent before the request had been read completely, and closes the connection.
 *
 * A socket that is closed with unread bytes sends a TCP reset, and the client may see the reset before it has read the
 * response. So a little more of the request is read first.
 */
function endEarly({ request, response, notes }: Exchange, clock: Clock): void {
  const chunks: Buffer[] = []
  let read = 0
  const finish = () => {
    cancelTimer()
    request.off('data', drain).off('end', finish)
    response.off('close', finish)
    request.pause()
    if (read > 0) notes.sawBeginning(request, Buffer.concat(chunks, read))
    response.end()
    request.socket.destroySoon()
  }
  const drain = (chunk: Buffer) => {
    read += chunk.length
    chunks.push(chunk)
    if (read >= LINGER_BYTES) request.pause()
  }
  const cancelTimer = clock.setTimer(finish, LINGER_MS)
  request.on('data', drain).on('end', finish)
  // Before the listener that records the request.
  response.prependListener('close', finish)
  request.on('error', () => {})
  request.resume()
}
