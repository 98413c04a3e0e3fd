import { isInstance } from '../errors/guard.ts'

/** Reading a longer response body stops here, and its connection is closed. */
export const MAX_RESPONSE_BYTES = 65_536

/** The body of a `Response` of `fetch` or of `node-client.ts`. All other bodies are read with `text()`. */
interface Body extends Partial<PushedBody> {
  getReader?(): ReadableStreamDefaultReader<Uint8Array>
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
      else if (typeof response.text === 'function') this.#add(await response.text())
      else this.cancel()
      return undefined
    } catch (error) {
      return isInstance(error, Error) ? error : new Error('the response body broke off')
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
      if (done) return
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
