import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream'
import { sleep } from 'trackpost-collector/ports'
import type { LogMessage, LogSubscription } from '../log/ports.ts'
import type { LogConnection } from './connection.ts'
import { CONSUMER, ensureConsumer } from './streams.ts'

/** Maximum number of messages in one fetch. */
const MESSAGES_AT_HAND = 100
const AGAIN_MS = 500

/**
 * Fetches messages from the JetStream consumer that all workers share, and continues after the log was unavailable.
 *
 * Requests more messages only when all earlier ones were taken. If a message waited here for longer than `ACK_WAIT_MS`, the
 * server would deliver it again.
 */
export class Subscription implements LogSubscription {
  readonly #connection: LogConnection
  readonly #stream: string
  readonly #onFault: (what: string, cause: unknown) => void
  readonly #waiting: JsMsg[] = []
  /** Undefined until the consumer is known to exist. */
  #consumer: Consumer | undefined
  #messages: ConsumerMessages | undefined
  #fetching: Promise<void> | undefined
  #wakeTaker = () => {}
  #endPause = () => {}
  #isClosed = false
  #closing: Promise<void> | undefined

  constructor(connection: LogConnection, stream: string, onFault: (what: string, cause: unknown) => void) {
    this.#connection = connection
    this.#stream = stream
    this.#onFault = onFault
  }

  async take(limit: number): Promise<LogMessage[]> {
    while (this.#waiting.length === 0 && !this.#isClosed) {
      this.#fetching ??= this.#fetch()
      await new Promise<void>((resolve) => {
        this.#wakeTaker = resolve
      })
    }
    if (this.#isClosed) return []
    return this.#waiting.splice(0, limit).map(messageOf)
  }

  async #fetch(): Promise<void> {
    try {
      if (this.#connection.reason === null) await this.#read()
      else await this.#pause()
    } catch (cause) {
      this.#consumer = undefined
      if (!this.#isClosed && this.#connection.reason === null) {
        this.#onFault('the log cannot be read', cause)
        this.#connection.suspect(cause)
      }
      await this.#pause()
    } finally {
      this.#fetching = undefined
      this.#wakeTaker()
    }
  }

  /** Resolves when all requested messages have arrived or the request has expired. */
  async #read(): Promise<void> {
    this.#consumer ??= await this.#open()
    if (this.#isClosed) return
    const messages = await this.#consumer.fetch({ max_messages: MESSAGES_AT_HAND })
    this.#messages = messages
    if (this.#isClosed) return void messages.close()
    for await (const message of messages) {
      this.#waiting.push(message)
      this.#wakeTaker()
    }
  }

  /** Creates the consumer if it is missing, for example because the streams were created again. */
  async #open(): Promise<Consumer> {
    const { client, manager } = this.#connection
    await ensureConsumer(manager, this.#stream)
    return client.consumers.get(this.#stream, CONSUMER)
  }

  async #pause(): Promise<void> {
    if (this.#isClosed) return
    await sleep(this.#connection.clock, AGAIN_MS, (wake) => {
      this.#endPause = wake
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#isClosed = true
    this.#wakeTaker()
    this.#endPause()
    await this.#messages?.close()
    await this.#fetching
    await this.#leave()
    for (const message of this.#waiting.splice(0)) message.nak()
  }

  /**
   * Makes the server drop the open fetch request of this process: nats-server 2.9 does this before it answers a query about the
   * consumer. Otherwise the server would answer that request with the messages that `close` then gives back (`nak`), and no
   * worker would get them before the time for acknowledgement has passed.
   */
  async #leave(): Promise<void> {
    if (this.#connection.reason !== null) return
    const { manager } = this.#connection
    // If the query fails, other workers get the messages only after that time.
    await manager.consumers
      .info(this.#stream, CONSUMER)
      .catch((cause: unknown) => this.#connection.suspect(cause))
  }
}

function messageOf(message: JsMsg): LogMessage {
  return {
    payload: message.data,
    done: () => message.ack(),
    working: () => message.working(),
    retryAfter: (ms) => message.nak(ms),
  }
}
