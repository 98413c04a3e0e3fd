import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream'
import type { StreamConnection } from './connection.ts'
import { ensureConsumer } from './streams.ts'

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
  #messages: ConsumerMessages | undefined

  constructor(connection: StreamConnection, stream: string, subject: string, name: string) {
    this.#connection = connection
    this.#stream = stream
    this.#subject = subject
    this.#name = name
  }

  /**
   * Yields up to `limit` messages as they come, until there are none for `idleMs` (at least 1,000) or `stop` is called.
   *
   * @throws when the stream cannot be read now.
   */
  async *read(limit: number, idleMs: number): AsyncGenerator<JsMsg> {
    const { reason } = this.#connection
    if (reason !== null) throw new Error(reason)
    try {
      this.#consumer ??= await this.#open()
      this.#messages = await this.#consumer.fetch({ max_messages: limit, expires: idleMs })
      yield* this.#messages
    } catch (cause) {
      // It may be gone, for example because the server is another one.
      this.#consumer = undefined
      this.#connection.suspect(cause)
      throw cause
    } finally {
      this.#messages = undefined
    }
  }

  /** Ends `read`. The stream delivers again what was on its way. */
  stop(): void {
    void this.#messages?.close()
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
    // The server knows `next_by_subj`; the type of the client has it only for direct requests.
    const next = { seq: ack_floor.stream_seq + 1, next_by_subj: this.#subject } as { seq: number }
    const oldest = await manager.streams
      .getMessage(this.#stream, next)
      // Acknowledged in the meantime.
      .catch(() => null)
    return { events, seconds: oldest === null ? 0 : Math.max(0, (Date.now() - oldest.time.getTime()) / 1000) }
  }
}
