import type { IncomingMessage, ServerResponse } from 'node:http'
import { gunzipSync } from 'node:zlib'
import type { Clock } from '../clock.ts'
import type { Reason } from '../record.ts'
import { BodyBudget, type HeldBody } from './body-budget.ts'
import { type HttpProblem, jsonHeaders, problemBody } from './reply.ts'

/** One for the process, like its memory. */
const BUDGET = new BodyBudget()

export interface RefusedBody {
  refused: Extract<Reason, 'body_too_large' | 'bad_encoding'>
  sentBytes: number
}

export type BodyResult = { body: Buffer; sentBytes: number } | RefusedBody | 'aborted'

/**
 * Reads a body, and decompresses gzip. The limit applies to the bytes sent and to the decompressed bytes. A `content-length`
 * over the limit is refused before anything is read.
 *
 * @throws HttpProblem 408 or 503 when too many bodies are in memory, see {@link BodyBudget}.
 */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number,
  budget: BodyBudget = BUDGET,
): Promise<BodyResult> {
  const received = await receiveBody(request, maxBytes, '', budget)
  if (!(received instanceof ReceivedBody)) return received
  try {
    await received.turn()
    return received.decode()
  } finally {
    received.release()
  }
}

/**
 * Receives a body, which counts in the budget until `release` is called. The limit is as for {@link readBody}.
 *
 * @throws HttpProblem 408 or 503 when too many bodies are in memory.
 */
export async function receiveBody(
  request: IncomingMessage,
  maxBytes: number,
  sender: string,
  budget: BodyBudget = BUDGET,
): Promise<ReceivedBody | RefusedBody | 'aborted'> {
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  const toldBytes = Number(request.headers['content-length'] ?? 0)
  if (encoding !== 'identity' && encoding !== 'gzip') return { refused: 'bad_encoding', sentBytes: toldBytes }
  if (toldBytes > maxBytes) return { refused: 'body_too_large', sentBytes: toldBytes }
  // It may have been closed while its caller was identified: then no event of it follows.
  const received = request.destroyed ? 'aborted' : await collect(request, maxBytes, sender, budget)
  if (received === 'aborted') return 'aborted'
  if (received === 'too large') return { refused: 'body_too_large', sentBytes: maxBytes + 1 }
  return new ReceivedBody(received.sent, encoding === 'gzip', maxBytes, budget, received.held)
}

/** A body that has arrived completely. gzip is decompressed only when its turn comes. */
export class ReceivedBody {
  readonly sentBytes: number
  readonly #sent: Buffer
  readonly #isGzip: boolean
  readonly #maxBytes: number
  readonly #budget: BodyBudget
  readonly #held: HeldBody

  constructor(sent: Buffer, isGzip: boolean, maxBytes: number, budget: BodyBudget, held: HeldBody) {
    this.sentBytes = sent.length
    this.#sent = sent
    this.#isGzip = isGzip
    this.#maxBytes = maxBytes
    this.#budget = budget
    this.#held = held
  }

  /** The size after decompression, according to the last bytes of gzip. The client may have written anything there. */
  get likelyBytes(): number {
    const { length } = this.#sent
    if (!this.#isGzip || length < 4) return length
    return Math.min(this.#maxBytes, Math.max(length, this.#sent.readUInt32LE(length - 4)))
  }

  /** Resolves when there is memory for the decompressed body. */
  async turn(): Promise<void> {
    if (this.#isGzip) await this.#budget.inflate(this.#held, this.#maxBytes)
  }

  /** Must be called once, after `turn`. */
  decode(): { body: Buffer; sentBytes: number } | RefusedBody {
    const { sentBytes } = this
    if (!this.#isGzip) return { body: this.#sent, sentBytes }
    try {
      // In the thread of the event loop: the thread pool would inflate several bodies that have to wait for each other afterwards.
      const body = gunzipSync(this.#sent, { maxOutputLength: this.#maxBytes })
      this.#budget.inflated(this.#held, this.#maxBytes - body.length)
      return { body, sentBytes }
    } catch (cause) {
      const isTooLarge = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
      return { refused: isTooLarge ? 'body_too_large' : 'bad_encoding', sentBytes }
    }
  }

  release(): void {
    this.#budget.release(this.#held)
  }
}

function collect(
  request: IncomingMessage,
  maxBytes: number,
  sender: string,
  budget: BodyBudget,
): Promise<{ sent: Buffer; held: HeldBody } | 'too large' | 'aborted'> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const stop = () => request.off('data', take).off('end', finish).off('close', abort).off('error', abort)
    const held = budget.open(sender, (problem) => {
      stop()
      request.pause()
      reject(problem)
    })
    const fail = (result: 'too large' | 'aborted') => {
      stop()
      budget.release(held)
      resolve(result)
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) {
        request.pause()
        fail('too large')
      } else if (budget.add(held, chunk.length)) {
        chunks.push(chunk)
      }
    }
    const finish = () => {
      stop()
      budget.completed(held)
      resolve({ sent: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size), held })
    }
    const abort = () => fail('aborted')
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
