import type { IncomingMessage, ServerResponse } from 'node:http'
import { gunzipSync } from 'node:zlib'
import type { Clock } from '../clock.ts'
import type { Reason } from '../record.ts'
import { HttpProblem, jsonHeaders, problemBody } from './reply.ts'

/** Bytes of all bodies of the process that have arrived and are not handled yet. */
const MAX_BYTES_IN_MEMORY = 64 * 1024 * 1024
let bytesInMemory = 0

export interface RefusedBody {
  refused: Extract<Reason, 'body_too_large' | 'bad_encoding'>
  sentBytes: number
  /** What has arrived, as it was sent. */
  beginning?: Buffer
}

export type BodyResult = { body: Buffer; sentBytes: number } | RefusedBody | 'aborted'

/**
 * Reads a body, and decompresses gzip. The limit applies to the bytes sent and to the decompressed bytes. A `content-length`
 * over the limit is refused before anything is read.
 *
 * @throws HttpProblem 503 when too many bodies are in memory.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<BodyResult> {
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  const toldBytes = Number(request.headers['content-length'] ?? 0)
  if (encoding !== 'identity' && encoding !== 'gzip') return { refused: 'bad_encoding', sentBytes: toldBytes }
  if (toldBytes > maxBytes) return { refused: 'body_too_large', sentBytes: toldBytes }
  // It may have been closed while its caller was identified: then no event of it follows.
  const sent = request.destroyed ? 'aborted' : await collect(request, maxBytes)
  if (sent === 'aborted') return 'aborted'
  const sentBytes = sent.length
  if (sentBytes > maxBytes) return { refused: 'body_too_large', sentBytes, beginning: sent }
  if (encoding === 'identity') return { body: sent, sentBytes }
  try {
    return { body: gunzipSync(sent, { maxOutputLength: maxBytes }), sentBytes }
  } catch (cause) {
    const isTooLarge = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    return { refused: isTooLarge ? 'body_too_large' : 'bad_encoding', sentBytes, beginning: sent }
  }
}

/** A body over the limit is cut somewhere behind it. */
function collect(request: IncomingMessage, maxBytes: number): Promise<Buffer | 'aborted'> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const stop = () => {
      bytesInMemory -= size
      request.off('data', take).off('end', finish).off('close', abort).off('error', abort)
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      bytesInMemory += chunk.length
      chunks.push(chunk)
      if (size <= maxBytes && bytesInMemory <= MAX_BYTES_IN_MEMORY) return
      stop()
      request.pause()
      if (size > maxBytes) resolve(Buffer.concat(chunks, size))
      else reject(new HttpProblem(503, 'busy', 'too many bodies are in memory', { 'retry-after': '1' }))
    }
    const finish = () => {
      stop()
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size))
    }
    const abort = () => {
      stop()
      resolve('aborted')
    }
    request.on('data', take).on('end', finish).on('close', abort).on('error', abort)
  })
}

/**
 * Responds to a request whose body was not read to its end, perhaps because it is not complete: then the connection is closed.
 *
 * @param onBody Gets the beginning of the body, as it was sent, before the response ends.
 */
export function replyEarly(
  request: IncomingMessage,
  response: ServerResponse,
  { status, body, headers }: { status: number; body: string; headers: Readonly<Record<string, string>> },
  clock: Clock,
  onBody: (beginning: Buffer) => void,
): void {
  const all = { ...jsonHeaders(body), ...headers }
  if (request.complete) {
    const rest: Buffer | null = request.readableEnded ? null : request.read()
    if (rest !== null) onBody(rest)
    response.writeHead(status, all).end(body)
  } else {
    response.writeHead(status, { ...all, connection: 'close' }).write(body)
    endEarly(request, response, clock, onBody)
  }
}

export function replyProblemEarly(
  request: IncomingMessage,
  response: ServerResponse,
  problem: HttpProblem,
  clock: Clock,
  onBody: (beginning: Buffer) => void,
): void {
  const { status, headers } = problem
  replyEarly(
    request,
    response,
    { status, headers, body: JSON.stringify(problemBody(problem)) },
    clock,
    onBody,
  )
}

// How much of a refused body is still read, and for how long.
const LINGER_BYTES = 65_536
const LINGER_MS = 500

/**
 * Ends a response that was sent before the request had been read completely, and closes the connection.
 *
 * A socket that is closed with unread bytes sends a TCP reset, and the client may see the reset before it has read the
 * response. So a little more of the request is read first.
 */
function endEarly(
  request: IncomingMessage,
  response: ServerResponse,
  clock: Clock,
  onBody: (beginning: Buffer) => void,
): void {
  const chunks: Buffer[] = []
  let read = 0
  const finish = () => {
    cancelTimer()
    request.off('data', drain).off('end', finish).off('close', finish)
    request.pause()
    if (read > 0) onBody(Buffer.concat(chunks, read))
    response.end()
    request.socket.destroySoon()
  }
  const drain = (chunk: Buffer) => {
    read += chunk.length
    chunks.push(chunk)
    if (read >= LINGER_BYTES) request.pause()
  }
  const cancelTimer = clock.setTimer(finish, LINGER_MS)
  request.on('data', drain).on('end', finish).on('close', finish)
  request.on('error', () => {})
  request.resume()
}
