import { type Holder, type MessageStore, totalBytes } from '../line/store.ts'
import { allocate, byteLength } from '../message/utf8.ts'

/** Writes request bodies around stored messages. The messages are byte-equal in every attempt. */
export class Envelope {
  readonly #writeKeyJson: string
  /** Bytes of a body without its messages. */
  readonly bytes: number

  readonly #store: MessageStore

  constructor(writeKey: string, store: MessageStore) {
    this.#store = store
    this.#writeKeyJson = JSON.stringify(writeKey)
    this.bytes = byteLength(HEAD + tail(this.#writeKeyJson, new Date(0).toISOString()))
  }

  /**
   * A request body, as UTF-8 bytes of its own.
   *
   * @param sentAt The moment of this attempt, as ISO-8601 text.
   */
  write(holders: readonly Holder[], sentAt: string): Uint8Array {
    return this.#write(holders, tail(this.#writeKeyJson, sentAt))
  }

  /** The same body without the write key, for `http_request` listeners. */
  writeRedacted(holders: readonly Holder[], sentAt: string): Uint8Array {
    return this.#write(holders, tail('"[redacted]"', sentAt))
  }

  #write(holders: readonly Holder[], tail: string): Uint8Array {
    const tailAt = HEAD.length + totalBytes(holders)
    const body = allocate(tailAt + byteLength(tail))
    body.write(HEAD, 0)
    this.#store.copy(holders, body, HEAD.length)
    body.write(tail, tailAt)
    return body
  }
}

const HEAD = '{"batch":['

function tail(writeKeyJson: string, sentAt: string): string {
  return `],"writeKey":${writeKeyJson},"sentAt":"${sentAt}"}`
}
