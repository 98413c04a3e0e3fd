import type { DeliveryError, FailureCode } from '../errors/errors.ts'
import { allocate, byteLength, write } from '../message/utf8.ts'
import { copyTo, type Stored, totalBytes } from './store.ts'

/** The largest request body, in UTF-8 bytes: within both readings of "500 KB". @see spec.md, section 5 */
export const MAX_BODY_BYTES = 500_000

/** One request's worth of events on its way, from its first attempt to its outcome. */
export class Batch<Entry extends Stored> {
  /** Requests made, uncounted retries included. */
  attempts = 0
  /** Counted retries. */
  retries = 0
  /** The retry at once after a lost connection was used. */
  isFreeRetryUsed = false
  /** The credentials were renewed for this batch. */
  isRenewed = false
  isSettled = false
  /** Makes the error that the last answer stands for. */
  failure: ((code: FailureCode) => DeliveryError) | undefined
  /** The monotonic moments at which a batch that keeps failing, or keeps being told to wait, is given up. */
  backoffUntilMs: number | undefined
  limitedUntilMs: number | undefined

  constructor(readonly entries: readonly Entry[]) {}

  /** When its time is over: the first failure, and the first wait, start a clock that later ones do not reset. */
  get expiresAtMs(): number {
    return Math.min(
      this.backoffUntilMs ?? Number.POSITIVE_INFINITY,
      this.limitedUntilMs ?? Number.POSITIVE_INFINITY,
    )
  }

  /** The messages and the commas between them. */
  get bytes(): number {
    return totalBytes(this.entries)
  }
}

/** Writes request bodies around stored messages. The messages are byte-equal in every attempt. */
export class Envelope {
  readonly #writeKeyJson: string
  /** Bytes of a body without its messages. */
  readonly bytes: number

  constructor(writeKey: string) {
    this.#writeKeyJson = JSON.stringify(writeKey)
    this.bytes = byteLength(HEAD + tail(this.#writeKeyJson, new Date(0).toISOString()))
  }

  /**
   * A request body, as UTF-8 bytes of its own.
   *
   * @param sentAt The moment of this attempt, as ISO-8601 text.
   */
  write(entries: readonly Stored[], sentAt: string): Uint8Array {
    return writeBody(entries, tail(this.#writeKeyJson, sentAt))
  }

  /** The same body without the write key, for those who look on. */
  writeRedacted(entries: readonly Stored[], sentAt: string): Uint8Array {
    return writeBody(entries, tail('"[redacted]"', sentAt))
  }
}

const HEAD = '{"batch":['

function tail(writeKeyJson: string, sentAt: string): string {
  return `],"writeKey":${writeKeyJson},"sentAt":"${sentAt}"}`
}

function writeBody(entries: readonly Stored[], tail: string): Uint8Array {
  const tailAt = HEAD.length + totalBytes(entries)
  const body = allocate(tailAt + byteLength(tail))
  write(body, HEAD, 0)
  copyTo(body, HEAD.length, entries)
  write(body, tail, tailAt)
  return body
}
