import { type Holder, type MessageStore, totalBytes } from '../message/store.ts'
import { allocate, byteLength } from '../message/utf8.ts'

/** An object whose message is in the store. */
export type Enveloped = Holder

/**
 * Writes request bodies: the stored messages, the write key and `sentAt`. The bytes of a message are the same in every attempt.
 */
export class Envelope {
  readonly #writeKeyJson: string
  /** Bytes of a body without its messages. */
  readonly bytes: number
  readonly #store: MessageStore

  constructor(writeKey: string, store: MessageStore) {
    this.#store = store
    this.#writeKeyJson = JSON.stringify(writeKey)
    this.bytes = byteLength(HEAD + tailOf(this.#writeKeyJson, new Date(0).toISOString()))
  }

  /** Writes a request body as UTF-8, into new memory. @param sentAt The time of this attempt in ISO 8601. */
  write(holders: readonly Holder[], sentAt: string): Uint8Array {
    return this.#write(holders, this.#writeKeyJson, sentAt)
  }

  /** Like {@link write}, with the write key redacted, for `http_request` listeners. */
  writeRedacted(holders: readonly Holder[], sentAt: string): Uint8Array {
    return this.#write(holders, '"[redacted]"', sentAt)
  }

  #write(holders: readonly Holder[], writeKeyJson: string, sentAt: string): Uint8Array {
    const tail = tailOf(writeKeyJson, sentAt)
    const tailAt = HEAD.length + totalBytes(holders)
    const body = allocate(tailAt + byteLength(tail))
    body.write(HEAD, 0)
    this.#store.copy(holders, body, HEAD.length)
    body.write(tail, tailAt)
    return body
  }
}

const HEAD = '{"batch":['

function tailOf(writeKeyJson: string, sentAt: string): string {
  return `],"writeKey":${writeKeyJson},"sentAt":"${sentAt}"}`
}
