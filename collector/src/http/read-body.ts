import type { IncomingMessage } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { HttpProblem } from './reply.ts'

/** Bytes of all bodies of the process that have arrived and are not handled yet. */
const MAX_BYTES_IN_MEMORY = 64 * 1024 * 1024
let bytesInMemory = 0

/** A body that is refused. */
export class BodyProblem extends HttpProblem {
  declare readonly code: 'body_too_large' | 'bad_encoding'
  readonly sentBytes: number
  readonly beginning: Buffer | undefined

  constructor(code: 'body_too_large' | 'bad_encoding', sentBytes: number, beginning?: Buffer) {
    super(400, code, 'the body cannot be read or is too large')
    this.sentBytes = sentBytes
    this.beginning = beginning
  }
}

/**
 * Reads a body, and decompresses gzip. The limit applies to the bytes sent and to the decompressed bytes. A `content-length`
 * over the limit is refused before anything is read.
 *
 * @throws BodyProblem; HttpProblem 503 when too many bodies are in memory, 400 when the client has hung up.
 */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<{ body: Buffer; sentBytes: number }> {
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  const toldBytes = Number(request.headers['content-length'] ?? 0)
  if (encoding !== 'identity' && encoding !== 'gzip') throw new BodyProblem('bad_encoding', toldBytes)
  if (toldBytes > maxBytes) throw new BodyProblem('body_too_large', toldBytes)
  const sent = await collect(request, maxBytes)
  const sentBytes = sent.length
  if (sentBytes > maxBytes) throw new BodyProblem('body_too_large', sentBytes, sent)
  if (encoding === 'identity') return { body: sent, sentBytes }
  try {
    return { body: gunzipSync(sent, { maxOutputLength: maxBytes }), sentBytes }
  } catch (cause) {
    const isTooLarge = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    throw new BodyProblem(isTooLarge ? 'body_too_large' : 'bad_encoding', sentBytes, sent)
  }
}

/** A body over the limit is cut somewhere behind it. */
function collect(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
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
      reject(new HttpProblem(400, 'aborted', 'the client has hung up'))
    }
    // It may have been closed before: then no event of it follows.
    if (request.destroyed) return abort()
    request.on('data', take).on('end', finish).on('close', abort).on('error', abort)
  })
}
