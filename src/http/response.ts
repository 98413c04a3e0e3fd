import { nextTurn } from '../runtime/clock.ts'
import type { HTTPHeaders, HTTPResponse } from './client.ts'

/** The longest response body that is read, in bytes. A longer one is cut off, and its connection closed. */
export const MAX_RESPONSE_BYTES = 65_536

/** The body of a `Response`, of the clients in this folder, or of a client that uses streams of Node.js. */
interface Body extends Partial<PushedBody> {
  getReader?(): ReadableStreamDefaultReader<Uint8Array>
  [Symbol.asyncIterator]?(): AsyncIterator<Uint8Array | string>
  cancel?(): Promise<void>
  destroy?(): void
}

/** A body that passes on its chunks as they arrive: a stream and its iterator would cost more than a small body itself. */
export interface PushedBody {
  /**
   * Calls `add` with each chunk. Resolves once the connection is free for the next request. Rejects when the connection
   * breaks, or with the error that `add` throws; then the connection is closed.
   */
  readTo(add: (chunk: Uint8Array) => void): Promise<void>
}

/** The parts of a response that are read. */
interface Readable {
  readonly body?: unknown
  readonly text?: () => Promise<string>
}

/**
 * Reads one response body to its end, at most {@link MAX_RESPONSE_BYTES}, and keeps its first bytes. The connection
 * is then free for the next request, or closed.
 */
export class BodyReader {
  readonly #keptBytes: number
  readonly #kept: Uint8Array[] = []
  #bytes = 0
  /** The body that is being read, in the form that {@link cancelBody} takes. */
  #source: unknown

  /** @param keptBytes How many bytes are kept; 0 throws the body away. */
  constructor(keptBytes: number) {
    this.#keptBytes = keptBytes
  }

  /** The text that was kept so far. A character that the limit cut in two is left out. */
  get text(): string {
    const decoder = new TextDecoder()
    return this.#kept.map((chunk) => decoder.decode(chunk, { stream: true })).join('')
  }

  /** Never rejects: resolves to the error, if there was one. The bytes that arrived before it are kept. */
  async read(response: Readable): Promise<Error | undefined> {
    this.#source = response
    try {
      const body = response.body as Body | null | undefined
      if (typeof body?.readTo === 'function') await body.readTo((chunk) => this.#add(chunk))
      else if (typeof body?.getReader === 'function') await this.#readStream(body.getReader())
      else if (typeof body?.[Symbol.asyncIterator] === 'function') {
        // Leaving the loop closes the connection.
        for await (const chunk of body as AsyncIterable<Uint8Array | string>) this.#add(chunk)
      } else if (body !== null) this.#add((await response.text?.()) ?? '')
      return undefined
    } catch (error) {
      return error instanceof Error ? error : new Error('the response body broke off')
    }
  }

  /** Stops reading, even if the HTTP client ignores its signal. Never throws. */
  cancel(): void {
    cancelBody(this.#source)
  }

  async #readStream(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    // A body that is being read can only be cancelled through its reader.
    this.#source = { body: reader }
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return nextTurn()
      try {
        this.#add(value)
      } catch (error) {
        this.cancel()
        throw error
      }
    }
  }

  #add(chunk: unknown): void {
    const bytes = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : (chunk as Uint8Array)
    if (!ArrayBuffer.isView(bytes)) throw new TypeError('the response body is neither text nor bytes')
    const room = this.#keptBytes - this.#bytes
    if (room > 0) this.#kept.push(bytes.subarray(0, room))
    this.#bytes += bytes.byteLength
    if (this.#bytes > MAX_RESPONSE_BYTES) {
      throw new RangeError(`the response body is longer than ${MAX_RESPONSE_BYTES} bytes`)
    }
  }
}

/**
 * The whole text of a response body.
 *
 * @throws RangeError when it is longer than {@link MAX_RESPONSE_BYTES}; the error of the connection when that breaks.
 */
export async function readAll(response: Readable): Promise<string> {
  const reader = new BodyReader(MAX_RESPONSE_BYTES)
  const error = await reader.read(response)
  if (error !== undefined) throw error
  return reader.text
}

/** Discards a response that came too late. Never throws or rejects. */
export function cancelBody(response: unknown): void {
  try {
    const body = (response as { body?: Body | null }).body
    if (typeof body?.cancel === 'function') Promise.resolve(body.cancel()).catch(() => {})
    else body?.destroy?.()
  } catch {
    // A malformed response of a custom client.
  }
}

/** How far a chain of causes is followed. */
const MAX_CAUSES = 5

/** Properties that HTTP libraries put on their errors: undici `statusCode`, others `status`, or the whole `response`. */
interface StatusError {
  readonly status?: unknown
  readonly statusCode?: unknown
  readonly statusText?: unknown
  readonly statusMessage?: unknown
  readonly headers?: unknown
  readonly body?: unknown
  readonly response?: unknown
  readonly cause?: unknown
}

/**
 * The response that an error carries, or `undefined`. Many HTTP clients reject with every status but 2xx: those of undici
 * with `RetryAgent`, `interceptors.retry()` or `interceptors.responseError()`, and most wrappers of `fetch`. An error with
 * a 2xx is not taken for a response: it may mean that the body was cut off.
 */
export function carriedResponse(cause: unknown): HTTPResponse | undefined {
  let link = cause as StatusError | null | undefined
  try {
    for (let depth = 0; typeof link === 'object' && link !== null && depth < MAX_CAUSES; depth++) {
      const response = toResponse(link.response as StatusError) ?? toResponse(link)
      if (response !== undefined) return response
      link = link.cause as StatusError | undefined
    }
  } catch {
    // An error whose properties throw carries no response.
  }
  return undefined
}

function toResponse(error: StatusError | null | undefined): HTTPResponse | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { body, headers } = error
  const status = error.status ?? error.statusCode
  if (!Number.isInteger(status) || (status as number) < 300 || (status as number) > 599) return undefined
  const statusText = error.statusText ?? error.statusMessage
  return {
    status: status as number,
    statusText: typeof statusText === 'string' ? statusText : '',
    ...(typeof headers === 'object' && headers !== null && { headers: headers as HTTPHeaders }),
    text: async () => (typeof body === 'string' ? body : ''),
  }
}
