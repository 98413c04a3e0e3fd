import type { DeliveryError, FailureCode } from '../errors.ts'
import { byteLength } from '../message/byte-length.ts'
import type { SerializedMessage } from '../message/serialize.ts'

/** The largest request body, in UTF-8 bytes: within both readings of "500 KB". @see spec.md, section 5 */
export const MAX_BODY_BYTES = 500_000

/** One request's worth of events on its way, from its first attempt to its outcome. */
export class Batch<Entry extends SerializedMessage> {
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
    return this.entries.reduce((sum, { bytes }) => sum + bytes + 1, -1)
  }
}

/** Writes request bodies around serialised messages. The messages are byte-equal in every attempt. */
export class Envelope {
  readonly #writeKeyJson: string
  /** Bytes of a body without its messages. */
  readonly bytes: number

  constructor(writeKey: string) {
    this.#writeKeyJson = JSON.stringify(writeKey)
    this.bytes = byteLength(this.write([], new Date(0).toISOString()))
  }

  /** @param sentAt The moment of this attempt, as ISO-8601 text of 24 characters. */
  write(entries: readonly SerializedMessage[], sentAt: string): string {
    return write(entries, this.#writeKeyJson, sentAt)
  }

  /**
   * The same body as UTF-8 bytes, each message written once to its place: neither a text of the whole body nor a
   * second copy is made.
   *
   * @param bytes Takes the body from its beginning on; has room for {@link Envelope.bytes} and those of the batch.
   * @returns The part of `bytes` that is the body.
   */
  encode(batch: Batch<SerializedMessage>, sentAt: string, bytes: Buffer): Uint8Array {
    const [head, tail] = frame(this.#writeKeyJson, sentAt)
    let at = bytes.write(head)
    for (const [index, { json }] of batch.entries.entries()) {
      if (index > 0) bytes[at++] = COMMA
      at += bytes.write(json, at)
    }
    at += bytes.write(tail, at)
    return bytes.subarray(0, at)
  }

  /** The same body without the write key, for those who look on. */
  writeRedacted(entries: readonly SerializedMessage[], sentAt: string): string {
    return write(entries, '"[redacted]"', sentAt)
  }
}

function write(entries: readonly SerializedMessage[], writeKeyJson: string, sentAt: string): string {
  let messages = ''
  for (const { json } of entries) messages += messages === '' ? json : `,${json}`
  const [head, tail] = frame(writeKeyJson, sentAt)
  return head + messages + tail
}

const COMMA = 0x2c

/** What stands before and behind the messages of a body. */
function frame(writeKeyJson: string, sentAt: string): [head: string, tail: string] {
  return ['{"batch":[', `],"writeKey":${writeKeyJson},"sentAt":"${sentAt}"}`]
}
