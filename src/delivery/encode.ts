import { describeCause } from '../errors/cause.ts'
import type { HTTPClient } from '../http/client.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Gzip } from '../runtime/compress.ts'
import type { Warn } from '../runtime/warn.ts'

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

/** Sends every body as it is. */
const PLAIN: Encoder = {
  encode: async (bytes) => ({ bytes, encoding: undefined }),
  isRefused: () => false,
  abort() {},
}

/** Few clients compress: only they load the code. Never rejects: without it, nothing is compressed. */
export async function loadCompression(
  options: Omit<CompressionOptions, 'onGivenUp'>,
  warn: Warn,
): Promise<Encoder> {
  const onGivenUp = (why: string, error?: unknown): void => {
    const cause = error === undefined ? '' : `: ${describeCause(error)}`
    warn('compress', `request bodies are sent uncompressed from now on: ${why}${cause}`)
  }
  try {
    const { Compression } = await import(/* webpackMode: "eager" */ './compression.ts')
    return new Compression({ ...options, onGivenUp })
  } catch (error) {
    onGivenUp('the code could not be loaded', error)
    return PLAIN
  }
}
