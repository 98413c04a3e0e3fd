import { setMaxListeners } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import type { DestinationConfig } from '../config/schema.ts'
import type { OnFault } from '../on-fault.ts'
import type { Deliveries, DeliveryUpdate, DueDelivery } from '../store/deliveries.ts'
import { FileSender } from './file.ts'
import type { Sender } from './sender.ts'
import { WebhookSender } from './webhook.ts'

const MAX_DELAY_MS = 60_000
const FAULT_RETRY_MS = 5000
const READ_AHEAD = 100
/** So many failures in a row, each after a rest, are reported: the destination is unavailable. */
const OUTAGE_FAILURES = 3

export interface DelivererParts {
  clock: Clock
  queue: Pick<Deliveries, 'due' | 'settle' | 'nextDueMs'>
  onFault: OnFault
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
  /** Of attempts that have ended; not stored yet. */
  #results: DeliveryUpdate[] = []
  /** Resolves when the deliverer rests; undefined while it does. */
  #work: Promise<void> | undefined
  #hasNews = false
  #cancelTimer = () => {}
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
    this.#hasNews = true
    if (!this.#stop.signal.aborted) this.#work ??= this.#run()
  }

  async #run(): Promise<void> {
    this.#cancelTimer()
    // What is stored in one turn is sent together.
    await nextTurn()
    let delayMs: number | undefined
    try {
      while (this.#hasNews) {
        this.#hasNews = false
        await this.#deliver()
      }
      delayMs = this.#untilNext()
    } catch (cause) {
      // The store cannot be read or written.
      this.#parts.onFault(`destination ${this.#name}`, cause)
      delayMs = FAULT_RETRY_MS
    }
    this.#work = undefined
    if (delayMs === undefined || this.#stop.signal.aborted) return
    this.#cancelTimer = this.#parts.clock.setTimer(() => this.wake(), delayMs)
  }

  #untilNext(): number | undefined {
    const { clock, queue } = this.#parts
    const dueMs = queue.nextDueMs(this.#name)
    // Not longer than a minute, because the clock may be set in the meantime.
    if (dueMs !== undefined)
      return Math.max(1, this.#restUntilMs - clock.monotonic(), Math.min(MAX_DELAY_MS, dueMs - clock.now()))
  }

  get #mayWork(): boolean {
    return !this.#stop.signal.aborted && this.#parts.clock.monotonic() >= this.#restUntilMs
  }

  /** Attempts what is due, until a failure. */
  async #deliver(): Promise<void> {
    const { limit } = this.#sender
    this.#settle()
    while (this.#mayWork) {
      const due = this.#parts.queue.due(this.#name, Math.max(READ_AHEAD, limit))
      if (due.length === 0) return
      while (due.length > 0 && this.#mayWork) await this.#attempt(due.splice(0, limit))
    }
  }

  #settle(): void {
    if (this.#results.length === 0) return
    this.#parts.queue.settle(this.#name, this.#results)
    this.#results = []
  }

  async #attempt(deliveries: readonly DueDelivery[]): Promise<void> {
    const { clock, onFault } = this.#parts
    const { signal } = this.#stop
    const atMs = clock.now()
    const startMs = clock.monotonic()
    const results = await this.#sender.send(deliveries, signal)
    const durationMs = clock.monotonic() - startMs
    for (const [index, delivery] of deliveries.entries()) {
      const { result, reason } = results[index] ?? { result: 'retry', reason: 'no result' }
      // An attempt that `close` has aborted does not count: the delivery stays pending.
      if (result === 'retry' && signal.aborted) continue
      const { eventId } = delivery
      const attempts = delivery.attempts + 1
      const isPending = result === 'retry' && !this.#sender.isGivenUp(delivery, attempts, clock.now())
      const state = isPending ? 'pending' : result === 'delivered' ? 'delivered' : 'failed'
      const dueAtMs = isPending ? clock.now() + this.#delayMs(attempts) : 0
      this.#results.push({ eventId, state, reason, attempts, dueAtMs, atMs, durationMs })
    }
    this.#settle()
    // A destination that refuses an event has responded, so it is available. Otherwise, nothing is sent for a while.
    this.#failures = results.every(({ result }) => result === 'retry') ? this.#failures + 1 : 0
    if (this.#failures > 0) this.#restUntilMs = clock.monotonic() + this.#delayMs(this.#failures)
    if (this.#failures === OUTAGE_FAILURES)
      onFault(`destination ${this.#name} is unavailable`, new Error(results[0]?.reason ?? ''))
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
    await this.#work
  }
}
