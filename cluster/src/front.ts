import { type CollectorConfig, createFront, type Front, type NewEvent } from 'trackpost-collector'
import { histogram, metric } from './metrics.ts'
import { type ConnectionParts, StreamConnection } from './stream/connection.ts'
import { encode, keyOf } from './stream/message.ts'
import { ACCEPTED, REJECTED } from './stream/streams.ts'

/** More bytes than this are never on their way to the stream: above it, requests get 503 at once. */
const MAX_PENDING_BYTES = 64 * 1024 * 1024

export interface FrontParts extends Omit<ConnectionParts, 'needsDestination'> {
  /** The config of the collector, or its file. */
  config?: CollectorConfig | string | undefined
  port: number
  host: string
  /** Whether the front may listen on an address that other machines can reach. */
  allowPublic: boolean
}

/** Starts a front: the HTTP API of the collector, which answers 200 when the stream has stored the events of a request. */
export async function startFront(parts: FrontParts): Promise<Front> {
  const { address, settings, credentials, onFault, config, ...server } = parts
  const stream = new StreamConnection({ address, settings, credentials, needsDestination: true, onFault })
  const publisher = new Publisher(stream)
  try {
    const front = await createFront({
      ...server,
      ...(config !== undefined && { config }),
      onFault,
      append: (events) => publisher.append(events),
      whyNotReady: () => stream.reason,
      metrics: () => publisher.metrics(),
    })
    const close = async () => {
      await front.close()
      await stream.close()
    }
    return { ...front, close, [Symbol.asyncDispose]: close }
  } catch (cause) {
    await stream.close()
    throw cause
  }
}

class Publisher {
  readonly #stream: StreamConnection
  readonly #seconds = histogram(
    'trackpost_cluster_publish_seconds',
    'Time until the stream has the events of a request.',
  )
  #pendingBytes = 0
  #published = 0

  constructor(stream: StreamConnection) {
    this.#stream = stream
  }

  /**
   * Resolves when the stream has stored the events. Rejects if one of them may be missing: the client then sends all of them
   * again, and the stream drops those that it has.
   */
  async append(events: readonly NewEvent[]): Promise<void> {
    const { reason } = this.#stream
    if (reason !== null) throw new Error(reason)
    if (this.#pendingBytes > MAX_PENDING_BYTES)
      throw new Error('too many events are on their way to the stream')
    const startMs = performance.now()
    await Promise.all(events.map((event) => this.#publish(event)))
    this.#seconds.saw((performance.now() - startMs) / 1000)
    this.#published += events.length
  }

  async #publish(event: NewEvent): Promise<void> {
    const payload = encode(event)
    this.#pendingBytes += payload.length
    try {
      if (event.reason === null) await this.#stream.publish(ACCEPTED, payload, { msgID: keyOf(event) })
      else await this.#stream.publish(REJECTED, payload)
    } finally {
      this.#pendingBytes -= payload.length
    }
  }

  metrics(): string {
    const { reason, fillRatio } = this.#stream
    return [
      metric(
        'trackpost_cluster_ready',
        'gauge',
        'Whether this process can do its work now.',
        reason === null,
      ),
      metric(
        'trackpost_cluster_stream_fill_ratio',
        'gauge',
        'How full the stream is, from 0 to 1.',
        fillRatio,
      ),
      metric(
        'trackpost_cluster_published_total',
        'counter',
        'Events that the stream has stored.',
        this.#published,
      ),
      this.#seconds.text(),
    ].join('')
  }
}
