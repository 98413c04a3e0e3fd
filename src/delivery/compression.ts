import type { ByteHTTPClient, HTTPClient } from '../http/client.ts'
import { type Bounded, type Clock, within } from '../runtime/clock.ts'
import { gzip as platformGzip } from '../runtime/compress.node.ts'
import type { Gzip } from '../runtime/compress.ts'

/** A request body as it goes over the wire. */
export interface EncodedBody {
  readonly bytes: Uint8Array
  /** Says how it is encoded, for the header `Content-Encoding`; `undefined` when it goes as it is. */
  readonly encoding: string | undefined
}

/** Encodes request bodies, and learns from the responses whether the service understands them. */
export interface Encoder {
  /**
   * Encodes one body; never rejects: what cannot be encoded goes as it is. Must not write to `body`.
   *
   * @param batch What it is the body of: the same object at each attempt.
   */
  encode(body: Uint8Array, batch: object): Promise<EncodedBody>
  /** Whether this response means that the same batch must be sent again, as it is. */
  isRefused(body: EncodedBody, batch: object, status: number): boolean
  /** Gives up what is being encoded: it goes as it is. */
  abort(): void
}

export interface CompressionOptions {
  /** Default: that of the runtime. */
  readonly gzip?: Gzip
  /** Only what takes bytes can be given compressed ones. */
  readonly client: HTTPClient
  /** Bound on the compression of one body, in milliseconds. */
  readonly timeoutMs: number
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>
  /** Told once when nothing more is compressed: why, and what went wrong. Must not throw. */
  readonly onGivenUp: (why: string, error?: unknown) => void
}

const CLOSED = new Error('the client was closed')

/**
 * Compresses request bodies with gzip. What goes wrong costs no event: the body goes as it is, and when the service, the
 * runtime or the HTTP client cannot deal with gzip, so do all others of this client.
 *
 * A retry is compressed anew: it has another `sentAt`, and retries are rare.
 */
export class Compression implements Encoder {
  readonly #options: CompressionOptions
  /** Bodies that did not get smaller, and those that the service may not have understood. */
  readonly #plain = new WeakSet<object>()
  /** Refused with 400 before the service had accepted anything compressed: it may be the events, or the compression. */
  readonly #suspects = new WeakSet<object>()
  readonly #open = new Set<Bounded<Uint8Array>>()
  #isUnderstood = false
  #isOff = false

  constructor(options: CompressionOptions) {
    this.#options = options
  }

  async encode(body: Uint8Array, batch: object): Promise<EncodedBody> {
    const plain = { bytes: body, encoding: undefined }
    if (this.#isOff || this.#plain.has(batch)) return plain
    if (!takesCompressed(this.#options.client)) {
      this.#turnOff('httpClient takes no bytes: it has no takesBytes() that returns true')
      return plain
    }
    const gzipped = await this.#compress(body)
    // Not even bytes, where somebody has replaced the runtime's.
    if (!ArrayBuffer.isView(gzipped)) return plain
    if (gzipped.length < body.length) return { bytes: gzipped, encoding: 'gzip' }
    this.#plain.add(batch)
    return plain
  }

  isRefused({ encoding }: EncodedBody, batch: object, status: number): boolean {
    const isAccepted = status >= 200 && status < 300
    if (encoding === undefined) {
      if (isAccepted && this.#suspects.delete(batch) && !this.#isUnderstood) {
        this.#turnOff('the service refused a compressed body with 400 and took the same one uncompressed')
      }
      return false
    }
    if (isAccepted) this.#isUnderstood = true
    // Not every service that knows no gzip says so: to some, it is JSON that cannot be read.
    const isSuspect = status === 400 && !this.#isUnderstood
    if (status === 415) this.#turnOff('the service refused a compressed body with 415')
    else if (isSuspect) this.#suspects.add(batch)
    else return false
    this.#plain.add(batch)
    return true
  }

  abort(): void {
    for (const bounded of this.#open) bounded.cancel(CLOSED)
  }

  /** `undefined` when it could not be done, and when it was given up. */
  async #compress(body: Uint8Array): Promise<Uint8Array | undefined> {
    const { gzip = platformGzip, timeoutMs, clock } = this.#options
    let bounded: Bounded<Uint8Array> | undefined
    try {
      bounded = within(gzip(body), timeoutMs, clock, 'the compression')
      this.#open.add(bounded)
      return await bounded.result
    } catch (error) {
      if (error !== CLOSED) this.#turnOff('a body could not be compressed', error)
      return undefined
    } finally {
      if (bounded !== undefined) this.#open.delete(bounded)
    }
  }

  #turnOff(why: string, error?: unknown): void {
    if (this.#isOff) return
    this.#isOff = true
    this.#options.onGivenUp(why, error)
  }
}

function takesCompressed(client: Partial<ByteHTTPClient>): boolean {
  try {
    return client.takesBytes?.(true) === true
  } catch {
    return false
  }
}
