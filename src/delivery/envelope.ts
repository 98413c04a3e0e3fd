import type { Holder, MessageStore } from '../message/store.ts'
import { byteLength } from '../message/utf8.ts'

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
    return this.#store.join(holders, HEAD, tailOf(this.#writeKeyJson, sentAt))
  }

  /** Like {@link write}, with the write key redacted, for `http_request` listeners. */
  writeRedacted(holders: readonly Holder[], sentAt: string): Uint8Array {
    return this.#store.join(holders, HEAD, tailOf('"[redacted]"', sentAt))
  }
}

const HEAD = '{"batch":['

function tailOf(writeKeyJson: string, sentAt: string): string {
  return `],"writeKey":${writeKeyJson},"sentAt":"${sentAt}"}`
}
