import type { StreamInfo, StreamState } from '@nats-io/jetstream'
import type {
  DeadLetters,
  LogLag,
  LogWorker,
  LogWorkerParts,
  NewEvent,
  PartHealth,
  RequestLog,
  SharedLog,
  TokenMemory,
} from 'trackpost-collector/ports'
import { MAX_CHUNK_BYTES } from '../log/codec.ts'
import { LogConsumer } from '../log/log-consumer.ts'
import type { LogSubscription, ReadableLog } from '../log/ports.ts'
import { type ConnectionParts, LogConnection } from './connection.ts'
import { NatsDeadLetters } from './dead-letters.ts'
import { Publisher } from './publisher.ts'
import { NatsRequestLog } from './request-log.ts'
import { CONSUMER, type Names, namesOf } from './streams.ts'
import { Subscription } from './subscription.ts'
import { NatsTokenMemory } from './token-memory.ts'

/** Shortest time between two queries for the lag. */
const LAG_REST_MS = 1000

export class NatsLog implements SharedLog, ReadableLog {
  readonly deadLetters: DeadLetters
  readonly requests: RequestLog
  readonly tokens: TokenMemory
  readonly #connection: LogConnection
  readonly #names: Names
  readonly #publisher: Publisher
  readonly #requests: NatsRequestLog
  readonly #parts: ConnectionParts
  readonly #subscriptions: Subscription[] = []
  #lag: Promise<LogLag | null> | undefined
  #lagUntilMs = Number.NEGATIVE_INFINITY

  /** @throws ConfigError when the address or the credentials cannot be used. */
  constructor(parts: ConnectionParts) {
    this.#parts = parts
    this.#connection = new LogConnection(parts)
    this.#names = namesOf(parts.settings)
    const { eventsSubject, requestsSubject } = this.#names
    this.#publisher = new Publisher(this.#connection, eventsSubject)
    this.#requests = new NatsRequestLog(
      (payload) => this.#connection.send(requestsSubject, payload),
      () => this.#connection.maxMessageBytes,
      parts.clock,
    )
    this.requests = this.#requests
    this.tokens = new NatsTokenMemory(this.#connection, (note) =>
      parts.onFault('the log differs from its settings', new Error(note)),
    )
    this.deadLetters = new NatsDeadLetters(this.#connection, this.#names, (payload) =>
      this.#publisher.publish(payload),
    )
  }

  /** @throws ConfigError when the log is available but cannot be used. */
  open(): Promise<void> {
    return this.#connection.open()
  }

  get address(): string {
    return this.#connection.address
  }

  append(events: readonly NewEvent[]): ReturnType<Publisher['append']> {
    return this.#publisher.append(events)
  }

  async health(): Promise<PartHealth> {
    const lag = await this.lag()
    const { reason, waiting } = this.#publisher
    const health = { part: 'log' as const, isReady: reason === null, reason, waiting }
    return lag === null ? health : { ...health, lag }
  }

  onUnavailable(listen: (reason: string) => void): void {
    this.#connection.onUnavailable = listen
  }

  lag(): Promise<LogLag | null> {
    const nowMs = this.#parts.clock.monotonic()
    if (this.#lag === undefined || this.#lagUntilMs <= nowMs) {
      this.#lagUntilMs = nowMs + LAG_REST_MS
      this.#lag = this.#readLag().catch(() => null)
    }
    return this.#lag
  }

  async #readLag(): Promise<LogLag | null> {
    if (this.#connection.reason !== null) return null
    const { manager } = this.#connection
    const [events, dead] = await Promise.all(
      [this.#names.events, this.#names.dead].map((name) => manager.streams.info(name)),
    )
    if (events === undefined || dead === undefined) return null
    this.#publisher.responds(hasRoom(events))
    const { waiting, firstSeq } = await this.#waiting(events.state)
    const oldestMs = waiting === 0 ? null : await this.#ageOf(firstSeq)
    // If `#ageOf` finds no message, nothing waits: the messages that the consumer still counts as pending have already been
    // deleted from the stream.
    return {
      waiting: oldestMs === null ? 0 : waiting,
      oldestMs,
      deadLetters: dead.state.messages,
      areDeadLettersFull: !hasRoom(dead),
      ...(events.config.max_bytes > 0 && { fill: events.state.bytes / events.config.max_bytes }),
    }
  }

  /**
   * The number of waiting messages, and the sequence number from which the oldest one is searched.
   *
   * After an acknowledgement, a message is deleted from the stream and is no longer pending for the consumer. A server that is
   * killed may have stored only one of these two changes. Whichever it is, the message does not count as waiting.
   */
  async #waiting({ messages, first_seq }: StreamState): Promise<{ waiting: number; firstSeq: number }> {
    const { manager } = this.#connection
    const consumer = await manager.consumers.info(this.#names.events, CONSUMER).catch((cause) => {
      // The first worker creates the consumer, and there has not been a worker yet.
      if (isMissing(cause)) return undefined
      throw cause
    })
    if (consumer === undefined) return { waiting: messages, firstSeq: first_seq }
    const { num_pending, num_ack_pending, ack_floor, delivered } = consumer
    // All messages up to `done` are acknowledged.
    const { stream_seq: done } = num_ack_pending === 0 ? delivered : ack_floor
    return {
      waiting: Math.min(messages, num_pending + num_ack_pending),
      firstSeq: Math.max(first_seq, done + 1),
    }
  }

  /** The age of the first message with at least this sequence number; null when there is no such message. */
  async #ageOf(seq: number): Promise<number | null> {
    const { manager } = this.#connection
    const query = { seq, next_by_subj: this.#names.eventsSubject }
    const message = await manager.streams.getMessage(this.#names.events, query)
    return message === null ? null : Math.max(0, this.#parts.clock.now() - message.time.getTime())
  }

  newWorker(parts: LogWorkerParts): LogWorker {
    return new LogConsumer({ ...parts, log: this })
  }

  subscribe(): LogSubscription {
    return this.#subscribe(this.#names.events)
  }

  onRequests(take: (payload: Uint8Array) => void): void {
    const subscription = this.#subscribe(this.#names.requests)
    const run = async () => {
      for (;;) {
        const messages = await subscription.take(100)
        if (messages.length === 0) return
        for (const message of messages) {
          take(message.payload)
          message.done()
        }
      }
    }
    void run()
  }

  #subscribe(stream: string): Subscription {
    const subscription = new Subscription(this.#connection, stream, this.#parts.onFault)
    this.#subscriptions.push(subscription)
    return subscription
  }

  async close(): Promise<void> {
    await Promise.all(this.#subscriptions.map((one) => one.close()))
    this.#requests.flush()
    await this.#connection.close()
  }
}

/** Whether a stream has room for two messages of `MAX_CHUNK_BYTES`. In a small stream, a free tenth is enough. */
function hasRoom({ config: { max_bytes: maxBytes }, state: { bytes } }: StreamInfo): boolean {
  return maxBytes <= 0 || bytes + Math.min(2 * MAX_CHUNK_BYTES, maxBytes / 10) <= maxBytes
}

function isMissing(cause: unknown): boolean {
  const { name, code } = cause as { name?: string; code?: number }
  return name === 'ConsumerNotFoundError' || code === 10_014
}
