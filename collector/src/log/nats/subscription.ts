import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream'
import { sleep } from '../../clock.ts'
import type { LogMessage, LogSubscription } from '../ports.ts'
import type { LogConnection } from './connection.ts'
import { CONSUMER, ensureConsumer } from './streams.ts'

/** Messages that a worker prefetches; it asks for more when a quarter of them is used up. */
const MESSAGES_AT_HAND = 200
const AGAIN_MS = 500

/** Takes messages from the consumer that all workers share, and begins again whenever the log has been unavailable. */
export class Subscription implements LogSubscription {
  readonly #connection: LogConnection
  readonly #stream: string
  readonly #onFault: (what: string, cause: unknown) => void
  readonly #waiting: JsMsg[] = []
  #messages: ConsumerMessages | undefined
  #wakeTaker = () => {}
  #wakeReader = () => {}
  #isClosed = false
  #closing: Promise<void> | undefined
  readonly #ended: Promise<void>

  constructor(connection: LogConnection, stream: string, onFault: (what: string, cause: unknown) => void) {
    this.#connection = connection
    this.#stream = stream
    this.#onFault = onFault
    this.#ended = this.#run()
  }

  async take(limit: number): Promise<LogMessage[]> {
    while (this.#waiting.length === 0 && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.#wakeTaker = resolve
      })
    }
    if (this.#isClosed) return []
    const taken = this.#waiting.splice(0, limit)
    this.#wakeReader()
    return taken.map(messageOf)
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      try {
        if (this.#connection.reason === null) await this.#read()
      } catch (cause) {
        if (!this.#isClosed && this.#connection.reason === null) {
          this.#onFault('the log cannot be read', cause)
          this.#connection.suspect(cause)
        }
      }
      if (!this.#isClosed) await this.#pause()
    }
  }

  /** Reads until the consumer or the connection ends. */
  async #read(): Promise<void> {
    const { client, manager } = this.#connection
    await ensureConsumer(manager, this.#stream)
    const consumer = await client.consumers.get(this.#stream, CONSUMER)
    if (this.#isClosed) return
    const messages = await consumer.consume({
      max_messages: MESSAGES_AT_HAND,
      // The log may have been set up again while it was unavailable: then the consumer must be created again.
      abort_on_missing_resource: true,
    })
    this.#messages = messages
    if (this.#isClosed) return void messages.close()
    for await (const message of messages) {
      this.#waiting.push(message)
      this.#wakeTaker()
      while (this.#waiting.length >= MESSAGES_AT_HAND && !this.#isClosed) {
        await new Promise<void>((resolve) => {
          this.#wakeReader = resolve
        })
      }
    }
  }

  #pause(): Promise<void> {
    return sleep(this.#connection.clock, AGAIN_MS, (wake) => {
      this.#wakeReader = wake
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#isClosed = true
    this.#wakeTaker()
    this.#wakeReader()
    await this.#messages?.close()
    await this.#ended
    await this.#leave()
    for (const message of this.#waiting.splice(0)) message.nak()
  }

  /**
   * Makes the server drop the open pull request of this process, which it does before it answers a query about the consumer.
   * Otherwise it would deliver returned messages on that request, and no worker would get them until the acknowledgement times
   * out (nats-server 2.9).
   */
  async #leave(): Promise<void> {
    if (this.#connection.reason !== null) return
    const { manager } = this.#connection
    // If that fails, other workers get the messages later.
    await manager.consumers
      .info(this.#stream, CONSUMER)
      .catch((cause: unknown) => this.#connection.suspect(cause))
  }
}

function messageOf(message: JsMsg): LogMessage {
  return {
    payload: message.data,
    done: () => message.ack(),
    retryAfter: (ms) => message.nak(ms),
  }
}
