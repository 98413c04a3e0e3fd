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
  if (sent === 'too large') return { refused: 'body_too_large', sentBytes: maxBytes + 1 }
  const sentBytes = sent.length
  if (encoding === 'identity') return { body: sent, sentBytes }
  try {
    return { body: gunzipSync(sent, { maxOutputLength: maxBytes }), sentBytes }
  } catch (cause) {
    const isTooLarge = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    return { refused: isTooLarge ? 'body_too_large' : 'bad_encoding', sentBytes }
  }
}

function collect(request: IncomingMessage, maxBytes: number): Promise<Buffer | 'too large' | 'aborted'> {
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
      if (size > maxBytes) resolve('too large')
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

/** Responds to a request whose body was not read completely, and closes the connection. */
export function replyEarly(
  request: IncomingMessage,
  response: ServerResponse,
  problem: HttpProblem,
  clock: Clock,
): void {
  const body = JSON.stringify(problemBody(problem))
  const headers = { ...jsonHeaders(body), ...problem.headers, connection: 'close' }
  response.writeHead(problem.status, headers).write(body)
  endEarly(request, response, clock)
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
export function endEarly(request: IncomingMessage, response: ServerResponse, clock: Clock): void {
  if (request.complete) {
    response.end()
    return
  }
  let read = 0
  const finish = () => {
    cancelTimer()
    request.off('data', drain).off('end', finish).off('close', finish)
    request.pause()
    response.end()
    request.socket.destroySoon()
  }
  const drain = (chunk: Buffer) => {
    read += chunk.length
    if (read >= LINGER_BYTES) request.pause()
  }
  const cancelTimer = clock.setTimer(finish, LINGER_MS)
  request.on('data', drain).on('end', finish).on('close', finish)
  request.on('error', () => {})
  request.resume()
}

/**
 * The beginning of a body that is refused for another reason, so that the record of the request has it. Reads for at most half a
 * second.
 */
export function readBeginning(request: IncomingMessage, maxBytes: number, clock: Clock): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    const finish = () => {
      cancelTimer()
      request.off('data', take).off('end', finish).off('close', finish).off('error', finish)
      request.pause()
      resolve(Buffer.concat(chunks).subarray(0, maxBytes))
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size >= maxBytes) finish()
    }
    const cancelTimer = clock.setTimer(finish, LINGER_MS)
    if (request.complete || request.destroyed) return finish()
    request.on('data', take).on('end', finish).on('close', finish).on('error', finish)
  })
}
