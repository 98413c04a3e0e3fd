import type { ByteHTTPClient, HTTPClient } from '../http/client.ts'
import { type Bounded, type Clock, within } from '../runtime/clock.ts'
import { gzip as platformGzip } from '../runtime/compress.node.ts'
import type { Gzip } from '../runtime/compress.ts'

export interface EncodedBody {
  readonly bytes: Uint8Array
  /** The header `Content-Encoding`; `undefined` when the body is sent unencoded. */
  readonly encoding: string | undefined
}

/** Encodes request bodies, and learns from the responses whether the service accepts encoded bodies. */
export interface Encoder {
  /**
   * Never rejects: a body that cannot be encoded is sent unencoded. Must not write to `body`.
   *
   * @param range Stands for the events of this body: the same object in `mustResend` and when the body is resent.
   */
  encode(body: Uint8Array, range: object): Promise<EncodedBody>
  /** Whether a response with this status means that the same range must be sent again, unencoded. */
  mustResend(body: EncodedBody, range: object, status: number): boolean
  /** Stops encodings that are under way: they resolve to the unencoded body. */
  abort(): void
}

export interface CompressionOptions {
  /** Default: the function of the runtime. */
  readonly gzip?: Gzip
  /** Unless this client accepts bytes as a body, nothing is compressed. */
  readonly client: HTTPClient
  /** Time limit for the compression of one body. */
  readonly timeoutMs: number
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>
  /** Called once, when compression is turned off. Must not throw. */
  readonly onGivenUp: (why: string, error?: unknown) => void
}

const CLOSED = new Error('the client was closed')
/** After so many 5xx for compressed bodies in a row, the next body is sent unencoded: the compression may be the cause. */
const FAILURES_TO_DOUBT = 2
/**
 * After so many bodies that were accepted in such a doubt, it is the cause. One alone may have come after an outage. A service
 * that has accepted a compressed body may fail at random, which gives a few of them by chance.
 */
const PROOFS = 2
const PROOFS_IF_UNDERSTOOD = 6

/**
 * Compresses request bodies with gzip, until the service, the runtime or the HTTP client turns out not to support it.
 *
 * A retry is compressed again, because its body has another `sentAt`.
 */
export class Compression implements Encoder {
  readonly #options: CompressionOptions
  /** Ranges to send unencoded: compression did not make the body smaller, or the service may not have understood it. */
  readonly #plain = new WeakSet<object>()
  /**
   * Ranges that were refused with 400 before the service had accepted any compressed body: the events or the compression may be
   * the cause.
   */
  readonly #suspects = new WeakSet<object>()
  readonly #open = new Set<Bounded<Uint8Array>>()
  #isUnderstood = false
  /** Compressed bodies that got a 5xx in a row; and bodies accepted in doubt since a compressed one was. */
  #failures = 0
  #proofs = 0
  #isOff = false

  constructor(options: CompressionOptions) {
    this.#options = options
  }

  async encode(body: Uint8Array, range: object): Promise<EncodedBody> {
    const plain = { bytes: body, encoding: undefined }
    if (this.#isOff || this.#isDoubted() || this.#plain.has(range)) return plain
    if (!takesCompressed(this.#options.client)) {
      this.#turnOff('httpClient takes no bytes: it has no takesBytes() that returns true')
      return plain
    }
    const gzipped = await this.#compress(body)
    // Not bytes when the compression failed, or when a program has replaced the runtime's gzip function.
    if (!ArrayBuffer.isView(gzipped)) return plain
    if (gzipped.length < body.length) return { bytes: gzipped, encoding: 'gzip' }
    this.#plain.add(range)
    return plain
  }

  mustResend({ encoding }: EncodedBody, range: object, status: number): boolean {
    const isAccepted = status >= 200 && status < 300
    if (encoding === undefined) {
      if (isAccepted && this.#suspects.delete(range) && !this.#isUnderstood) {
        this.#turnOff('the service refused a compressed body with 400 and took the same one uncompressed')
      }
      const proofs = this.#isUnderstood ? PROOFS_IF_UNDERSTOOD : PROOFS
      if (isAccepted && this.#isDoubted() && ++this.#proofs === proofs) {
        this.#turnOff('the service failed on compressed bodies with a 5xx and took uncompressed ones')
      }
      this.#failures = 0
      return false
    }
    if (isAccepted) {
      this.#isUnderstood = true
      this.#proofs = 0
    }
    this.#failures = status >= 500 ? this.#failures + 1 : 0
    // Some services without gzip support respond with 400 instead of 415, because they try to parse the compressed body as
    // JSON.
    const isSuspect = status === 400 && !this.#isUnderstood
    if (status === 415) this.#turnOff('the service refused a compressed body with 415')
    else if (isSuspect) this.#suspects.add(range)
    else return false
    this.#plain.add(range)
    return true
  }

  abort(): void {
    for (const bounded of this.#open) bounded.cancel(CLOSED)
  }

  #isDoubted(): boolean {
    return this.#failures >= FAILURES_TO_DOUBT
  }

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
