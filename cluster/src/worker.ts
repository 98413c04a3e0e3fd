import { setTimeout as wait } from 'node:timers/promises'
import type { JsMsg } from '@nats-io/jetstream'
import { headers } from '@nats-io/transport-node'
import { isSwitchedOn } from 'trackpost-collector'
import type { Destination, Outcome } from './destinations/destination.ts'
import { histogram, labelled, metric } from './metrics.ts'
import type { StreamConnection } from './stream/connection.ts'
import { DurableConsumer, type Lag } from './stream/consumer.ts'
import { decodeAccepted, type StreamEvent } from './stream/message.ts'
import { ACCEPTED, ACK_WAIT_MS, DEAD_STREAM, STREAM } from './stream/streams.ts'

/** Batches that one worker writes at a time. */
const LANES = 2
/** A batch that is not full is written when its first event has waited for this long. */
const BATCH_MS = 1000
/** Pause between two looks at what waits. */
const LOOK_MS = 50
/** How long one request for messages lasts. */
const READ_MS = 10_000
/** With dead letters: how long without one means that there is none any more. Another process may have held the last ones. */
const LAST_READ_MS = ACK_WAIT_MS + 1000
/** A batch with more bytes is written in several steps. */
const MAX_BATCH_BYTES = 8 * 1024 * 1024
/** Wait after the first failure of a destination. It is doubled after each further one. */
const FIRST_DELAY_MS = 250
const LONGEST_DELAY_MS = 2000
/** The longest wait for an event that fails alone. */
const LONGEST_EVENT_DELAY_MS = 60_000
const MAX_ATTEMPTS = 20
/** Wait before a dead letter that cannot be stored is tried again. */
const DEAD_LETTER_DELAY_MS = 5000
const AGAIN_MS = 500

export interface WorkerParts {
  stream: StreamConnection
  destination: Destination
  /** The name by which `integrations` of an event turn the destination on or off. */
  name: string
  /** Whether to write the dead letters of the destination, once, instead of the events of the stream. */
  fromDeadLetters?: boolean
  /** An event that has failed this often while others of its batch were written is refused. Default: 20, some ten minutes. */
  maxAttempts?: number
  onFault(what: string, cause: unknown): void
}

/**
 * Reads the stream for one destination, writes batches, and acknowledges what is written. What the destination refuses becomes a
 * dead letter; what fails comes again, to any worker of this destination.
 */
export class Worker {
  readonly #parts: WorkerParts
  readonly #consumer: DurableConsumer
  readonly #subject: string
  readonly #deadSubject: string
  readonly #seconds = histogram(
    'trackpost_cluster_write_seconds',
    'Time to write a batch to the destination.',
  )
  readonly #counts = { written: 0, skipped: 0, refused: 0, failed: 0 }
  /** How often an event has failed while others of its batch were written, by its number in the stream. */
  readonly #failedAlone = new Map<number, number>()
  /** Messages that this worker has to acknowledge. */
  readonly #held = new Set<JsMsg>()
  /** Those among them that no lane writes yet. */
  readonly #waiting: JsMsg[] = []
  #waitingSinceMs = 0
  /** Batches in a row of which nothing was written. */
  #failures = 0
  #restUntilMs = 0
  #reason: string | null = null
  #lag: Lag = { events: 0, seconds: 0 }
  #isClosing = false
  #running: Promise<unknown> = Promise.resolve()

  constructor(parts: WorkerParts) {
    this.#parts = parts
    const consumer = consumerName(parts.name)
    this.#deadSubject = `${DEAD_STREAM}.${consumer}`
    this.#subject = parts.fromDeadLetters ? this.#deadSubject : ACCEPTED
    this.#consumer = new DurableConsumer(
      parts.stream,
      parts.fromDeadLetters ? DEAD_STREAM : STREAM,
      this.#subject,
      consumer,
    )
  }

  /** Resolves when the worker is closed, or when it has tried all dead letters. */
  run(): Promise<unknown> {
    this.#running = this.#run()
    return this.#running
  }

  async #run(): Promise<void> {
    // Otherwise the server would give what waits here to another worker, if the destination is slow.
    const heartbeat = setInterval(() => {
      for (const message of this.#held) message.working()
    }, ACK_WAIT_MS / 3)
    const watch = setInterval(() => {
      // A server that was started again knows nothing of this request.
      if (this.#parts.stream.reason !== null || this.#isClosing) this.#consumer.stop()
    }, LOOK_MS)
    await Promise.all([this.#read(), ...Array.from({ length: LANES }, () => this.#lane())])
    clearInterval(heartbeat)
    clearInterval(watch)
  }

  /** Why the worker cannot do its work now; null = it can. */
  get reason(): string | null {
    return this.#parts.stream.reason ?? this.#reason
  }

  /** Resolves when the running batches are written and acknowledged. What waits here goes to another worker. */
  async close(): Promise<void> {
    this.#isClosing = true
    await this.#running
    for (const message of this.#held) message.nak()
    this.#held.clear()
  }

  /** Takes messages as they come, as long as this worker has room for them. */
  async #read(): Promise<void> {
    const { stream, destination, fromDeadLetters, onFault } = this.#parts
    const limit = LANES * destination.batchSize
    const startedAtMs = Date.now()
    while (!this.#isClosing) {
      const room = limit - this.#held.size
      // The connection has told why the stream cannot be used.
      if (room <= limit / 2 || stream.reason !== null) {
        await wait(LOOK_MS)
        continue
      }
      let isOver = true
      try {
        for await (const message of this.#consumer.read(room, fromDeadLetters ? LAST_READ_MS : READ_MS)) {
          // What was refused again is newer: each dead letter is tried once.
          isOver = Number(message.timestampNanos) / 1e6 > startedAtMs
          if (fromDeadLetters && isOver) {
            message.nak()
            break
          }
          if (this.#waiting.length === 0) this.#waitingSinceMs = performance.now()
          this.#waiting.push(message)
          this.#held.add(message)
        }
        if (fromDeadLetters && isOver) this.#isClosing = true
      } catch (cause) {
        onFault('the stream cannot be read', cause)
        await wait(AGAIN_MS)
      }
    }
  }

  async #lane(): Promise<void> {
    const { batchSize } = this.#parts.destination
    while (!this.#isClosing || (this.#parts.fromDeadLetters && this.#waiting.length > 0)) {
      const now = performance.now()
      const isDue = this.#waiting.length >= batchSize || now >= this.#waitingSinceMs + BATCH_MS
      if (this.#waiting.length > 0 && isDue && now >= this.#restUntilMs) {
        const batch = this.#waiting.splice(0, batchSize)
        this.#waitingSinceMs = now
        await this.#deliver(batch)
      } else await wait(LOOK_MS)
    }
  }

  async #deliver(batch: readonly JsMsg[]): Promise<void> {
    const events = new Map<JsMsg, StreamEvent>()
    for (const message of batch) {
      const event = await this.#decode(message)
      if (event === undefined) this.#held.delete(message)
      else events.set(message, event)
    }
    for (const step of steps([...events.keys()])) await this.#write(step, events)
  }

  /** Returns undefined if the event does not go to the destination; it is then acknowledged. */
  async #decode(message: JsMsg): Promise<StreamEvent | undefined> {
    let event: StreamEvent
    let integrations: unknown
    try {
      event = decodeAccepted(message.data)
      integrations = (JSON.parse(event.body) as Record<string, unknown>)['integrations']
    } catch (cause) {
      await this.#refuse(message, (cause as Error).message)
      return undefined
    }
    if (!isObject(integrations) || isSwitchedOn([integrations], [this.#parts.name])) return event
    this.#counts.skipped++
    message.ack()
    return undefined
  }

  async #write(messages: readonly JsMsg[], events: ReadonlyMap<JsMsg, StreamEvent>): Promise<void> {
    const { destination, onFault, name } = this.#parts
    const startMs = performance.now()
    let outcomes: Outcome[]
    try {
      outcomes = await destination.write(messages.map((message) => events.get(message) as StreamEvent))
    } catch (cause) {
      onFault(`${name} cannot be written`, cause)
      this.#reason = (cause as Error).message || 'the connection failed'
      this.#counts.failed++
      const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.#failures++)
      this.#restUntilMs = performance.now() + delayMs
      for (const message of messages) {
        message.nak(delayMs)
        this.#held.delete(message)
      }
      return
    }
    this.#reason = null
    this.#failures = 0
    this.#seconds.saw((performance.now() - startMs) / 1000)
    for (const [index, message] of messages.entries()) {
      await this.#conclude(message, outcomes[index] as Outcome)
      this.#held.delete(message)
    }
  }

  async #conclude(message: JsMsg, outcome: Outcome): Promise<void> {
    if (outcome.result === 'failed') {
      const attempts = (this.#failedAlone.get(message.seq) ?? 0) + 1
      this.#failedAlone.set(message.seq, attempts)
      if (attempts < (this.#parts.maxAttempts ?? MAX_ATTEMPTS))
        return message.nak(Math.min(LONGEST_EVENT_DELAY_MS, FIRST_DELAY_MS * 2 ** attempts))
    }
    this.#failedAlone.delete(message.seq)
    if (outcome.result !== 'written') return this.#refuse(message, outcome.reason)
    this.#counts.written++
    message.ack()
  }

  /** Stores a dead letter. If that fails, the message comes again. */
  async #refuse(message: JsMsg, reason: string): Promise<void> {
    const { stream, name, onFault } = this.#parts
    const fields = headers()
    fields.set('Trackpost-Reason', reason.replace(/\s+/g, ' ').slice(0, 500))
    fields.set('Trackpost-Destination', name.replace(/\s+/g, ' '))
    try {
      await stream.publish(this.#deadSubject, message.data, { headers: fields })
    } catch (cause) {
      onFault('a dead letter cannot be stored', cause)
      message.nak(DEAD_LETTER_DELAY_MS)
      return
    }
    this.#counts.refused++
    onFault('an event became a dead letter', new Error(reason))
    message.ack()
  }

  /** In the text format of Prometheus. */
  async metrics(): Promise<string> {
    // When the stream does not answer, the lag is the one of the last answer.
    this.#lag = await this.#consumer.lag().catch(() => this.#lag)
    const own = labelled('destination', this.#parts.name)
    const { written, skipped, refused, failed } = this.#counts
    const { stream } = this.#parts
    return [
      metric(
        'trackpost_cluster_ready',
        'gauge',
        'Whether this process can do its work now.',
        this.reason === null,
      ),
      metric(
        'trackpost_cluster_stream_fill_ratio',
        'gauge',
        'How full the stream is, from 0 to 1.',
        stream.fillRatio,
      ),
      metric(
        'trackpost_cluster_dead_letters',
        'gauge',
        'Dead letters of all destinations.',
        stream.deadLetters,
      ),
      metric(
        'trackpost_cluster_lag_events',
        'gauge',
        'Events that the destination does not have yet.',
        this.#lag.events,
        own,
      ),
      metric(
        'trackpost_cluster_lag_seconds',
        'gauge',
        'Age of the oldest of these events.',
        this.#lag.seconds,
        own,
      ),
      metric(
        'trackpost_cluster_written_total',
        'counter',
        'Events that the destination has taken.',
        written,
        own,
      ),
      metric(
        'trackpost_cluster_skipped_total',
        'counter',
        'Events whose integrations turn it off.',
        skipped,
        own,
      ),
      metric('trackpost_cluster_refused_total', 'counter', 'Events that became dead letters.', refused, own),
      metric(
        'trackpost_cluster_failed_batches_total',
        'counter',
        'Batches of which nothing was taken.',
        failed,
        own,
      ),
      this.#seconds.text(),
    ].join('')
  }
}

/** A name of NATS has no spaces, dots or wildcards: `My CRM` becomes `my-crm`. */
export function consumerName(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}_-]+/gu, '-')
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function steps(messages: readonly JsMsg[]): JsMsg[][] {
  const found: JsMsg[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const message of messages) {
    bytes += message.data.length
    if (bytes > MAX_BATCH_BYTES) {
      found.push([])
      bytes = message.data.length
    }
    found.at(-1)?.push(message)
  }
  return found
}
