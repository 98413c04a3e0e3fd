import type { ByteHTTPClient } from '../http/client.ts'
import { gzip as platformGzip } from '../runtime/compress.node.ts'
import { type Bounded, within } from '../runtime/within.ts'
import type { CompressionOptions, EncodedBody, Encoder } from './encode.ts'

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
