import { setMaxListeners } from 'node:events'
import type { Clock } from '../clock.ts'
import type { DestinationConfig } from '../config/schema.ts'
import type { Listeners } from '../listeners.ts'
import type { Deliveries, DeliveryUpdate, DueDelivery } from '../store/deliveries.ts'
import { FileSender } from './file.ts'
import type { AttemptResult, Sender } from './sender.ts'
import { WebhookSender } from './webhook.ts'

const MAX_DELAY_MS = 60_000
const FAULT_RETRY_MS = 5000
/** Due deliveries that are read together. */
const READ_AHEAD = 100
/** So many failures in a row, each after a rest, are reported: the destination is unavailable. */
const OUTAGE_FAILURES = 3

export interface DelivererParts extends Listeners {
  clock: Clock
  queue: Pick<Deliveries, 'due' | 'settle' | 'nextDueMs'>
}

/**
 * Delivers the events of one destination, each at least once.
 *
 * Pending deliveries are in the store, where they are marked as done after the attempt. A crash during an attempt repeats it after
 * the restart, so no delivery is lost.
 */
export class Deliverer {
  readonly #name: string
  readonly #parts: DelivererParts
  readonly #sender: Sender
  readonly #stop = new AbortController()
  /** Deliveries whose attempt runs, or has a result that is not stored yet. */
  readonly #inFlight = new Map<string, DueDelivery>()
  readonly #attempts = new Set<Promise<void>>()
  #ahead: DueDelivery[] = []
  #results: DeliveryUpdate[] = []
  #isScheduled = false
  #cancelTimer = () => {}
  /** Failures in a row, without those of attempts that ran beside one that has failed. */
  #failures = 0
  /** Nothing is sent before this time of the monotonic clock. */
  #restUntilMs = Number.NEGATIVE_INFINITY

  constructor(destination: DestinationConfig, parts: DelivererParts) {
    this.#name = destination.name
    this.#parts = parts
    this.#sender =
      destination.type === 'file' ? new FileSender(destination.path) : new WebhookSender(destination)
    // Each request in flight listens: up to 256 of them.
    setMaxListeners(0, this.#stop.signal)
  }

  /**
   * Looks for due deliveries soon.
   *
   * @param isAsked Whether a user has requested the deliveries, which ends the wait after failures.
   */
  wake(isAsked = false): void {
    if (isAsked) this.#restUntilMs = Number.NEGATIVE_INFINITY
    if (this.#isScheduled || this.#stop.signal.aborted) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#work()
    })
  }

  /** Stores what has ended, and starts what is due. */
  #work(): void {
    const { clock, onFault } = this.#parts
    if (this.#stop.signal.aborted) return
    this.#cancelTimer()
    try {
      this.#settle()
      this.#start()
    } catch (cause) {
      // The store cannot be read or written.
      onFault(`destination ${this.#name}`, cause)
      this.#sleep(FAULT_RETRY_MS)
      return
    }
    if (this.#inFlight.size > 0) return
    const dueMs = this.#parts.queue.nextDueMs(this.#name)
    if (dueMs === undefined) return
    const restMs = this.#restUntilMs - clock.monotonic()
    // Not longer than a minute, because the clock may be set in the meantime.
    this.#sleep(Math.max(1, restMs, Math.min(MAX_DELAY_MS, dueMs - clock.now())))
  }

  #sleep(delayMs: number): void {
    this.#cancelTimer = this.#parts.clock.setTimer(() => this.#work(), delayMs)
  }

  #settle(): void {
    if (this.#results.length === 0) return
    this.#parts.queue.settle(this.#name, this.#results)
    for (const { eventId } of this.#results) this.#inFlight.delete(eventId)
    this.#results = []
  }

  #start(): void {
    const { clock } = this.#parts
    while (clock.monotonic() >= this.#restUntilMs) {
      const room = this.#sender.limit - this.#inFlight.size
      // Batches follow one another, so that lines do not mix.
      if (room <= 0 || (this.#sender.isBatch && this.#inFlight.size > 0)) return
      const next = this.#take(this.#sender.isBatch ? room : 1)
      if (next.length === 0) return
      for (const delivery of next) this.#inFlight.set(delivery.eventId, delivery)
      const attempt: Promise<void> = this.#attempt(next).finally(() => this.#attempts.delete(attempt))
      this.#attempts.add(attempt)
    }
    // What was read may have changed by the end of the wait.
    this.#ahead = []
  }

  #take(count: number): DueDelivery[] {
    if (this.#ahead.length === 0) {
      const due = this.#parts.queue.due(this.#name, Math.max(READ_AHEAD, count) + this.#inFlight.size)
      this.#ahead = due.filter(({ eventId }) => !this.#inFlight.has(eventId))
    }
    return this.#ahead.splice(0, count)
  }

  async #attempt(deliveries: readonly DueDelivery[]): Promise<void> {
    const { clock } = this.#parts
    const { signal } = this.#stop
    const atMs = clock.now()
    const startMs = clock.monotonic()
    const results = await this.#sender.send(deliveries, signal)
    // An attempt that `close` has aborted does not count: the delivery stays pending.
    if (signal.aborted && results.some(({ result }) => result === 'retry')) return
    const measured = { atMs, durationMs: clock.monotonic() - startMs }
    for (const [index, delivery] of deliveries.entries()) {
      const result = results[index] ?? { result: 'retry', reason: 'no result' }
      this.#saw(result, startMs)
      this.#results.push(this.#update(delivery, result, measured))
    }
    if (signal.aborted) this.#settle()
    else this.wake()
  }

  /** After a failure, nothing is sent for a while. The rest doubles with each failure in a row. */
  #saw(result: AttemptResult, startMs: number): void {
    const { clock, onFault, onRecovery } = this.#parts
    const outage = `destination ${this.#name} is unavailable`
    if (result.result === 'retry') {
      if (startMs < this.#restUntilMs) return
      this.#failures++
      this.#restUntilMs = clock.monotonic() + this.#delayMs(this.#failures)
      if (this.#failures === OUTAGE_FAILURES) onFault(outage, new Error(result.reason))
      return
    }
    // A destination that refuses an event has responded, so it is available.
    if (this.#failures >= OUTAGE_FAILURES) onRecovery(`destination ${this.#name} is back`, outage)
    this.#failures = 0
    this.#restUntilMs = Number.NEGATIVE_INFINITY
  }

  #update(
    delivery: DueDelivery,
    result: AttemptResult,
    measured: { atMs: number; durationMs: number },
  ): DeliveryUpdate {
    const nowMs = this.#parts.clock.now()
    const { eventId } = delivery
    const attempts = delivery.attempts + 1
    if (result.result === 'retry' && !this.#sender.isGivenUp(delivery, attempts, nowMs)) {
      const { reason } = result
      const dueAtMs = nowMs + this.#delayMs(attempts)
      return {
        eventId,
        state: 'pending',
        reason,
        attempts,
        dueAtMs,
        attempt: { ...measured, result: 'retry' },
      }
    }
    const state = result.result === 'delivered' ? 'delivered' : 'failed'
    const reason = result.result === 'delivered' ? null : result.reason
    return { eventId, state, reason, attempts, dueAtMs: 0, attempt: { ...measured, result: state } }
  }

  /** The longest wait doubles with each attempt. The result is random, between half of the longest wait and all of it. */
  #delayMs(attempts: number): number {
    const longestMs = Math.min(MAX_DELAY_MS, this.#sender.firstDelayMs * 2 ** (attempts - 1))
    return Math.ceil(longestMs * (0.5 + this.#parts.clock.random() / 2))
  }

  /** Aborts attempts in flight. Undelivered events stay pending in the store. */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#cancelTimer()
    await Promise.all(this.#attempts)
    try {
      this.#settle()
    } catch (cause) {
      this.#parts.onFault(`destination ${this.#name}`, cause)
    }
  }
}
