import type { NewEvent } from 'trackpost-collector/ports'
import { encode } from '../log/codec.ts'
import { isFull, type LogConnection, reasonOf, TIMEOUT_MS } from './connection.ts'

/** Maximum size of unacknowledged messages. Above this size, new events are refused at once. */
const MAX_PENDING_BYTES = 128 * 1024 * 1024

export class Publisher {
  readonly #connection: LogConnection
  readonly #subject: string
  #pendingBytes = 0
  #pendingEvents = 0
  /** Why the last message was refused; null = it was accepted. */
  #trouble: string | null = null
  #isTrying = false

  constructor(connection: LogConnection, subject: string) {
    this.#connection = connection
    this.#subject = subject
  }

  get waiting(): number {
    return this.#pendingEvents
  }

  /** Why an append would probably fail now; null = an append would probably succeed. */
  get reason(): string | null {
    return this.#connection.reason ?? this.#trouble
  }

  /**
   * Must be called when the log responds. If the log has room, this process becomes ready again, without waiting for a
   * successful append: a load balancer sends no requests to a process that is not ready.
   */
  responds(hasRoom: boolean): void {
    if (hasRoom) this.#trouble = null
  }

  /**
   * Resolves when the log has acknowledged the events.
   *
   * @throws when the log is unavailable, refuses events or does not acknowledge them in time. Some of the events may be in the
   * log nevertheless.
   */
  async append(events: readonly NewEvent[]): Promise<Array<{ status: 'accepted' | 'rejected' }>> {
    const { reason } = this.#connection
    if (reason !== null) throw new Error(reason)
    const isTrial = this.#trouble !== null
    // After the log has refused a message, only one append at a time tries again, and all other appends fail at once.
    if (isTrial && this.#isTrying) throw new Error(this.#trouble ?? '')
    if (this.#pendingBytes > MAX_PENDING_BYTES) throw new Error('too many events are in flight to the log')
    if (isTrial) this.#isTrying = true
    this.#pendingEvents += events.length
    try {
      const chunks = encode(events, this.#connection.maxMessageBytes)
      await Promise.all(chunks.map(({ payload, dedupId }) => this.publish(payload, dedupId)))
    } finally {
      this.#pendingEvents -= events.length
      if (isTrial) this.#isTrying = false
    }
    return events.map(({ reason }) => ({ status: reason === null ? 'accepted' : 'rejected' }))
  }

  async publish(payload: Uint8Array, dedupId?: string): Promise<void> {
    const { length } = payload
    this.#pendingBytes += length
    try {
      const options = { timeout: TIMEOUT_MS, ...(dedupId !== undefined && { msgID: dedupId }) }
      await this.#connection.client.publish(this.#subject, payload, options)
      this.#trouble = null
    } catch (cause) {
      this.#trouble = isFull(cause) ? 'the log is full: its workers do not keep up' : reasonOf(cause)
      if ((cause as Error).name === 'NoRespondersError') this.#connection.suspect(cause)
      throw new Error(this.#trouble, { cause })
    } finally {
      this.#pendingBytes -= length
    }
  }
}
