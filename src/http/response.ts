import { nextTurn } from '../runtime/clock.ts'
import type { HTTPHeaders, HTTPResponse } from './client.ts'

/** Reading a longer response body stops here, and its connection is closed. */
export const MAX_RESPONSE_BYTES = 65_536

/** The body of a `Response` or of an HTTP client in this folder, or a stream of Node.js. */
interface Body extends Partial<PushedBody> {
  getReader?(): ReadableStreamDefaultReader<Uint8Array>
  [Symbol.asyncIterator]?(): AsyncIterator<Uint8Array | string>
  cancel?(): Promise<void>
  destroy?(): void
}

/**
 * A body that passes its chunks to a function as they arrive. For a small body, a stream and its iterator would cost too much.
 */
export interface PushedBody {
  /**
   * Calls `add` with each chunk. Resolves once the connection is free for the next request. Rejects when the connection breaks.
   * If `add` throws, the connection is closed and the promise rejects with that error.
   */
  readTo(add: (chunk: Uint8Array) => void): Promise<void>
}

interface Readable {
  readonly body?: unknown
  readonly text?: () => Promise<string>
}

/**
 * Reads one response body to its end, or up to {@link MAX_RESPONSE_BYTES}, and keeps its first bytes. Afterwards, the
 * connection is free for the next request, or closed.
 */
export class BodyReader {
  readonly #keptBytes: number
  readonly #kept: Uint8Array[] = []
  #bytes = 0
  /** The argument for {@link cancelBody}. */
  #source: unknown

  constructor(keptBytes: number) {
    this.#keptBytes = keptBytes
  }

  /** The bytes kept so far, as text. An incomplete character at the end is left out. */
  get text(): string {
    const decoder = new TextDecoder()
    return this.#kept.map((chunk) => decoder.decode(chunk, { stream: true })).join('')
  }

  /** Never rejects: resolves to the error if there was one. The bytes that arrived before the error are kept. */
  async read(response: Readable): Promise<Error | undefined> {
    this.#source = response
    try {
      const body = response.body as Body | null | undefined
      if (typeof body?.readTo === 'function') await body.readTo((chunk) => this.#add(chunk))
      else if (typeof body?.getReader === 'function') await this.#readStream(body.getReader())
      else if (typeof body?.[Symbol.asyncIterator] === 'function') {
        // If `#add` throws, leaving the loop closes the connection.
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
    // A stream that is being read can be cancelled only through its reader.
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

/** @throws RangeError when the body is longer than {@link MAX_RESPONSE_BYTES}; another error when the connection breaks. */
export async function readAll(response: Readable): Promise<string> {
  const reader = new BodyReader(MAX_RESPONSE_BYTES)
  const error = await reader.read(response)
  if (error !== undefined) throw error
  return reader.text
}

/** Never throws. */
export function cancelBody(response: unknown): void {
  try {
    const body = (response as { body?: Body | null }).body
    if (typeof body?.cancel === 'function') Promise.resolve(body.cancel()).catch(() => {})
    else body?.destroy?.()
  } catch {
    // A custom HTTP client has returned a malformed response.
  }
}

const MAX_CAUSES = 5

/** Properties that HTTP libraries set on their errors. undici sets `statusCode`; other libraries set `status` or `response`. */
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
 * Reads the response from an error of an HTTP client; `undefined` if there is none. Many HTTP clients reject unless the status
 * is 2xx: undici with `RetryAgent`, `interceptors.retry()` or `interceptors.responseError()`, and most wrappers of `fetch`. An
 * error with a 2xx status does not count as a response, because the body may have been cut off.
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
    // A property of the error throws when it is read.
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
