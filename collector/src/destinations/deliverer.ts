import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AttemptResult, BatchSender } from '../batch-sender.ts'
import type { DestinationConfig } from '../config/schema.ts'
import type { ClaimedDelivery, DeliveryQueue, DeliveryUpdate } from '../store/ports.ts'
import { Outage, type OutageParts } from './outage.ts'
import { type BatchDestination, newSender } from './senders.ts'
import { postMessage } from './webhook.ts'

/** A lease outlasts the attempt by this much, so that the outcome is written before another process can claim the event. */
const LEASE_MARGIN_MS = 10_000
const MAX_DELAY_MS = 60_000
const FAULT_RETRY_MS = 5000

export type DeliverySource = Pick<DeliveryQueue, 'claim' | 'settle' | 'release' | 'nextDueMs'>

export interface DelivererParts extends OutageParts {
  queue: DeliverySource
}

/**
 * Delivers the events of one destination, each at least once.
 *
 * Pending deliveries are in the database (an outbox): they are written in the transaction that accepts the event, and marked as
 * done after the attempt. A crash during an attempt repeats the attempt after the restart, so no delivery is lost. A delivery
 * is leased during its attempt, so that only one of several collectors makes the attempt.
 */
export class Deliverer {
  readonly #destination: DestinationConfig
  readonly #parts: DelivererParts
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  #cancelTimer = () => {}
  #sender: BatchSender | undefined
  readonly #outage: Outage
  /** Number of consecutive batches of which every event has to be sent again. */
  #failures = 0
  /** No batch is sent before this time of the monotonic clock. */
  #restUntilMs = Number.NEGATIVE_INFINITY

  constructor(destination: DestinationConfig, parts: DelivererParts) {
    this.#destination = destination
    this.#parts = parts
    this.#outage = new Outage(destination.name, parts)
  }

  /**
   * Looks for due deliveries now. Does nothing while another look is running, or while the destination is backing off.
   *
   * @param isAsked Whether a user has requested the deliveries, which ends the backoff.
   */
  wake(isAsked = false): void {
    if (isAsked) this.#restUntilMs = Number.NEGATIVE_INFINITY
    if (this.#running !== undefined || this.#stop.signal.aborted) return
    const { queue, clock, onFault } = this.#parts
    if (clock.monotonic() < this.#restUntilMs) {
      this.#sleepUntil(clock.now())
      return
    }
    this.#cancelTimer()
    this.#running = this.#work()
      .then(() => queue.nextDueMs(this.#destination.name))
      .catch((cause: unknown) => {
        // The queue or the destination cannot be read or written. Without this wait, it would be tried again and again.
        onFault(`destination ${this.#destination.name}`, cause)
        return clock.now() + FAULT_RETRY_MS
      })
      .then((dueMs) => {
        this.#running = undefined
        this.#sleepUntil(dueMs)
      })
  }

  #work(): Promise<void> {
    const destination = this.#destination
    return destination.type === 'webhook' ? this.#postAll(destination) : this.#sendAll(destination)
  }

  async #sendAll(destination: BatchDestination): Promise<void> {
    const { queue, clock } = this.#parts
    const { name } = destination
    const sender = await this.#open(destination)
    while (!this.#stop.signal.aborted && clock.monotonic() >= this.#restUntilMs) {
      const due = await queue.claim(name, sender.limit, sender.longestMs + LEASE_MARGIN_MS)
      if (due.length === 0) return
      await this.#sendBatch(sender, due)
      // The queue may answer without leaving this turn of the event loop. Other work must run too.
      await nextTurn()
    }
  }

  async #open(destination: BatchDestination): Promise<BatchSender> {
    if (this.#sender !== undefined) return this.#sender
    const sender = await newSender(destination, this.#parts.clock, (cause) =>
      this.#outage.report(`destination ${destination.name}`, cause),
    )
    this.#sender = sender
    await sender.prepare(this.#stop.signal)
    return sender
  }

  async #sendBatch(sender: BatchSender, due: readonly ClaimedDelivery[]): Promise<void> {
    const { queue, clock } = this.#parts
    const { name } = this.#destination
    const { signal } = this.#stop
    const attempt = this.#startAttempt()
    const results = await sender.send(due, signal)
    const measured = attempt()
    const isUnavailable = results.every(({ result }) => result === 'retry')
    this.#failures = isUnavailable ? this.#failures + 1 : 0
    const decisive = isUnavailable ? results[0] : results.find(({ result }) => result === 'delivered')
    if (decisive !== undefined && !signal.aborted) this.#outage.saw(decisive)
    // One random number for all events of the batch: if they fail together, they are due together, and form a batch again.
    const random = clock.random()
    const delayMs = (attempts: number) =>
      delayOf(sender.firstDelayMs, isUnavailable ? this.#failures : attempts, random)
    const given: string[] = []
    const updates: DeliveryUpdate[] = []
    for (const [index, delivery] of due.entries()) {
      const result = results[index]
      // If `close` aborted the attempt, the delivery stays pending, and the attempt is not counted.
      if (result === undefined || (signal.aborted && result.result === 'retry')) given.push(delivery.eventId)
      else updates.push(updateOf(delivery, result, measured, (attempts) => clock.now() + delayMs(attempts)))
    }
    // During the backoff, no other batch is sent, because it would fail for the same reason.
    if (isUnavailable) this.#restUntilMs = clock.monotonic() + delayMs(this.#failures)
    else if (due.length < sender.limit) this.#restUntilMs = clock.monotonic() + sender.intervalMs
    await queue.settle(name, updates)
    await queue.release(name, given)
  }

  /** Sends the due events, at most `concurrency` at a time, and claims more when half of that number is free. */
  async #postAll(destination: Extract<DestinationConfig, { type: 'webhook' }>): Promise<void> {
    const { queue, clock } = this.#parts
    const { name, concurrency, timeout, firstDelay, maxAttempts } = destination
    const dueAtMs = (attempts: number) => {
      // A random number for each event, so that events that failed together are not tried again together.
      return attempts < maxAttempts ? clock.now() + delayOf(firstDelay, attempts, clock.random()) : undefined
    }
    const { signal } = this.#stop
    const underWay = new Set<Promise<void>>()
    let updates: DeliveryUpdate[] = []
    let given: string[] = []
    const post = async (delivery: ClaimedDelivery) => {
      const attempt = this.#startAttempt()
      const result = await postMessage(destination, delivery, signal)
      // If `close` aborted the attempt, the delivery stays pending, and the attempt is not counted.
      if (signal.aborted && result.result === 'retry') return void given.push(delivery.eventId)
      this.#outage.saw(result)
      updates.push(updateOf(delivery, result, attempt(), dueAtMs))
    }
    for (;;) {
      if (updates.length > 0) {
        const finished = updates
        updates = []
        await queue.settle(name, finished)
      }
      const isWorthwhile = underWay.size <= concurrency / 2 && !signal.aborted
      const due = isWorthwhile
        ? await queue.claim(name, concurrency - underWay.size, timeout + LEASE_MARGIN_MS)
        : []
      for (const delivery of due) {
        const one: Promise<void> = post(delivery).finally(() => underWay.delete(one))
        underWay.add(one)
      }
      if (underWay.size === 0 && updates.length === 0) break
      if (underWay.size > 0) await Promise.race(underWay)
      // Attempts that end in the same turn of the event loop are written in the same transaction.
      await nextTurn()
    }
    const released = given
    given = []
    await queue.release(name, released)
  }

  /** Call the returned function when the attempt has ended. */
  #startAttempt(): () => { atMs: number; durationMs: number } {
    const { clock } = this.#parts
    const atMs = clock.now()
    const startMs = clock.monotonic()
    return () => ({ atMs, durationMs: clock.monotonic() - startMs })
  }

  #sleepUntil(dueMs: number | undefined): void {
    if (this.#stop.signal.aborted || dueMs === undefined) return
    const { clock } = this.#parts
    this.#cancelTimer()
    const restMs = this.#restUntilMs - clock.monotonic()
    this.#cancelTimer = clock.setTimer(() => this.wake(), Math.max(1, restMs, dueMs - clock.now()))
  }

  /** Aborts attempts in flight. Undelivered events stay pending in the database. */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#cancelTimer()
    await this.#running
    await this.#sender?.close()
  }
}

/** The longest wait doubles with each attempt. The result is random, between half of the longest wait and all of it. */
function delayOf(firstDelayMs: number, attempts: number, random: number): number {
  const delayMs = Math.min(MAX_DELAY_MS, firstDelayMs * 2 ** (attempts - 1))
  return Math.ceil(delayMs * (0.5 + random / 2))
}

/** @param dueAtMs Returns when the next attempt is due after this many attempts; undefined if there is no further attempt. */
function updateOf(
  { eventId, attempts: before }: ClaimedDelivery,
  result: AttemptResult,
  measured: { atMs: number; durationMs: number },
  dueAtMs: (attempts: number) => number | undefined,
): DeliveryUpdate {
  const attempts = before + 1
  const reason = result.result === 'delivered' ? null : result.reason
  const nextMs = result.result === 'retry' ? dueAtMs(attempts) : undefined
  if (nextMs !== undefined) {
    const attempt = { ...measured, result: 'retry' as const }
    return { eventId, state: 'pending', reason, attempts, dueAtMs: nextMs, attempt }
  }
  const state = result.result === 'delivered' ? 'delivered' : 'failed'
  return { eventId, state, reason, attempts, dueAtMs: 0, attempt: { ...measured, result: state } }
}
