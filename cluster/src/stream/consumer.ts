import type { Consumer, JsMsg } from '@nats-io/jetstream'
import type { StreamConnection } from './connection.ts'
import { ensureConsumer } from './streams.ts'

/** A batch that is not full is handed out after this time. The NATS client allows no shorter one. */
const BATCH_MS = 1000

export interface Lag {
  /** Events that the destination does not have yet. */
  events: number
  /** Age of the oldest of them; 0 if there is none. */
  seconds: number
}

/** The durable consumer of one destination on a stream. */
export class DurableConsumer {
  readonly #connection: StreamConnection
  readonly #stream: string
  readonly #subject: string
  readonly #name: string
  #consumer: Consumer | undefined

  constructor(connection: StreamConnection, stream: string, subject: string, name: string) {
    this.#connection = connection
    this.#stream = stream
    this.#subject = subject
    this.#name = name
  }

  /**
   * Resolves with up to `limit` messages, which may be none.
   *
   * @throws when the stream cannot be read now.
   */
  async fetch(limit: number): Promise<JsMsg[]> {
    const { reason } = this.#connection
    if (reason !== null) throw new Error(reason)
    try {
      this.#consumer ??= await this.#open()
      const messages = await this.#consumer.fetch({ max_messages: limit, expires: BATCH_MS })
      const batch: JsMsg[] = []
      for await (const message of messages) batch.push(message)
      return batch
    } catch (cause) {
      // It may be gone, for example because the server is another one.
      this.#consumer = undefined
      this.#connection.suspect(cause)
      throw cause
    }
  }

  async #open(): Promise<Consumer> {
    const { client, manager } = this.#connection
    await ensureConsumer(manager, this.#stream, this.#subject, this.#name)
    return client.consumers.get(this.#stream, this.#name)
  }

  /** @throws when the stream does not answer. */
  async lag(): Promise<Lag> {
    const { manager } = this.#connection
    const { num_pending, num_ack_pending, ack_floor } = await manager.consumers.info(this.#stream, this.#name)
    const events = num_pending + num_ack_pending
    if (events === 0) return { events, seconds: 0 }
    const oldest = await manager.streams
      .getMessage(this.#stream, { seq: ack_floor.stream_seq + 1, next_by_subj: this.#subject })
      // Acknowledged in the meantime.
      .catch(() => null)
    return { events, seconds: oldest === null ? 0 : Math.max(0, (Date.now() - oldest.time.getTime()) / 1000) }
  }
}
