import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { Clock } from '../clock.ts'
import type { Reason } from '../record.ts'

export type BodyResult =
  | { body: Buffer; sentBytes: number }
  | { refused: Extract<Reason, 'body_too_large' | 'bad_encoding'>; sentBytes: number }
  | 'aborted'

const inflate = promisify(gunzip)

/**
 * Reads a body, and decompresses gzip. The limit applies to the bytes sent and to the decompressed bytes. A `content-length`
 * over the limit is refused before anything is read.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<BodyResult> {
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  const toldBytes = Number(request.headers['content-length'] ?? 0)
  if (encoding !== 'identity' && encoding !== 'gzip') return { refused: 'bad_encoding', sentBytes: toldBytes }
  const sent = await collect(request, maxBytes)
  if (sent === 'aborted') return 'aborted'
  if (sent === 'too large') return { refused: 'body_too_large', sentBytes: Math.max(toldBytes, maxBytes + 1) }
  const sentBytes = sent.length
  if (encoding === 'identity') return { body: sent, sentBytes }
  try {
    return { body: await inflate(sent, { maxOutputLength: maxBytes }), sentBytes }
  } catch (cause) {
    const isTooLarge = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    return { refused: isTooLarge ? 'body_too_large' : 'bad_encoding', sentBytes }
  }
}

function collect(request: IncomingMessage, maxBytes: number): Promise<Buffer | 'too large' | 'aborted'> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.resolve('too large')
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    const settle = (result: Buffer | 'too large' | 'aborted') => {
      request.off('data', take).off('end', finish).off('close', abort).off('error', abort)
      resolve(result)
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) {
        request.pause()
        settle('too large')
      } else {
        chunks.push(chunk)
      }
    }
    const finish = () => settle(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size))
    const abort = () => settle('aborted')
    request.on('data', take).on('end', finish).on('close', abort).on('error', abort)
  })
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
