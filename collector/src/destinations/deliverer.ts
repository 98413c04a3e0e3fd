import { setMaxListeners } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AttemptResult, BatchSender } from '../batch-sender.ts'
import { sleep } from '../clock.ts'
import type { DestinationConfig } from '../config/schema.ts'
import type { ClaimedDelivery, DeliveryQueue, DeliveryUpdate } from '../store/ports.ts'
import { systemClock } from '../system-clock.ts'
import { Outage, type OutageParts } from './outage.ts'
import { Pace } from './pace.ts'
import { type BatchDestination, newSender } from './senders.ts'
import { Webhook, type WebhookConfig } from './webhook.ts'

/** A lease outlasts the attempt by this much, so that the outcome is written before another process can claim the event. */
const LEASE_MARGIN_MS = 10_000
const MAX_DELAY_MS = 60_000
const FAULT_RETRY_MS = 5000
/** Deliveries to a webhook that are leased in one transaction. */
const CLAIMED_TOGETHER = 64
/** Results of a webhook are stored in one transaction, when there are this many or after this time. */
const STORED_TOGETHER = 64
const STORE_AFTER_MS = 50
/** A delivery that was tried only while its webhook was paused is given up after this many times `giveUpAfterHours`. */
const PATIENCE_WHILE_PAUSED = 3
const HOUR_MS = 3_600_000

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
  #webhook: Webhook | undefined
  #pace: Pace | undefined
  readonly #outage: Outage
  /** Number of consecutive batches of which every event has to be sent again. */
  #failures = 0
  /** No batch is sent before this time of the monotonic clock. */
  #restUntilMs = Number.NEGATIVE_INFINITY

  constructor(destination: DestinationConfig, parts: DelivererParts) {
    this.#destination = destination
    this.#parts = parts
    this.#outage = new Outage(destination.name, parts)
    // Each request in flight listens: up to 256 of them.
    setMaxListeners(0, this.#stop.signal)
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

  /**
   * Sends the due events, at most as many at a time as the pace allows. Claims events ahead and stores results together, so that
   * a delivery needs no transactions of its own.
   */
  async #postAll(destination: WebhookConfig): Promise<void> {
    const { queue, clock } = this.#parts
    const { name, timeout, firstDelay } = destination
    this.#pace ??= new Pace(destination.concurrency)
    this.#webhook ??= new Webhook(destination)
    const [pace, webhook] = [this.#pace, this.#webhook]
    const { signal } = this.#stop
    const underWay = new Set<Promise<void>>()
    const ahead: ClaimedDelivery[] = []
    let claimedMs = 0
    let updates: DeliveryUpdate[] = []
    let storedMs = clock.monotonic()
    const given: string[] = []
    const post = async (delivery: ClaimedDelivery) => {
      const attempt = this.#startAttempt()
      const wasPaused = pace.isPaused
      const result = await webhook.post(delivery, signal)
      // If `close` aborted the attempt, the delivery stays pending, and the attempt is not counted.
      if (signal.aborted && result.result === 'retry') return void given.push(delivery.eventId)
      this.#outage.saw(result)
      pace.saw(result, delivery.eventId)
      const delayMs = (count: number) => delayOf(firstDelay, count, clock.random())
      if (pace.isPaused) this.#restUntilMs = clock.monotonic() + delayMs(pace.probes)
      // A random number for each event, so that events that failed together are not tried again together.
      const dueAtMs = (attempts: number) =>
        isGivenUp(destination, delivery, attempts, clock.now(), wasPaused)
          ? undefined
          : clock.now() + delayMs(attempts)
      updates.push(updateOf(delivery, result, attempt(), dueAtMs))
    }
    const mayGoOn = () => !signal.aborted && clock.monotonic() >= this.#restUntilMs
    for (;;) {
      const isTime = updates.length >= STORED_TOGETHER || clock.monotonic() - storedMs >= STORE_AFTER_MS
      if (updates.length > 0 && (isTime || (underWay.size === 0 && ahead.length === 0))) {
        const finished = updates
        updates = []
        await queue.settle(name, finished)
        storedMs = clock.monotonic()
      }
      // The rest of their lease would be too short, or the webhook is paused.
      if (!mayGoOn() || pace.isPaused || clock.monotonic() - claimedMs > LEASE_MARGIN_MS / 2) {
        const released = ahead.splice(0).map(({ eventId }) => eventId)
        await queue.release(name, released)
      }
      if (ahead.length === 0 && underWay.size < pace.limit && mayGoOn()) {
        claimedMs = clock.monotonic()
        const limit = pace.limit === destination.concurrency ? CLAIMED_TOGETHER : pace.limit - underWay.size
        ahead.push(...(await queue.claim(name, limit, timeout + LEASE_MARGIN_MS)))
      }
      while (ahead.length > 0 && underWay.size < pace.limit && mayGoOn()) {
        const one: Promise<void> = post(ahead.shift() as ClaimedDelivery).finally(() => underWay.delete(one))
        underWay.add(one)
      }
      if (underWay.size === 0 && updates.length === 0 && ahead.length === 0) break
      if (underWay.size > 0) {
        let endWait = () => {}
        const wait = () =>
          sleep(systemClock, STORE_AFTER_MS, (wake) => {
            endWait = wake
          })
        // Results do not wait for slower requests.
        await Promise.race(updates.length > 0 ? [...underWay, wait()] : underWay)
        endWait()
      }
      // Attempts that end in the same turn of the event loop are handled together.
      await nextTurn()
    }
    await queue.release(name, given)
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
    // Not longer, because the clock may be set in the meantime; a timer of more than 24 days would fire at once.
    const waitMs = Math.min(MAX_DELAY_MS, dueMs - clock.now())
    this.#cancelTimer = clock.setTimer(() => this.wake(), Math.max(1, restMs, waitMs))
  }

  /** Aborts attempts in flight. Undelivered events stay pending in the database. */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#cancelTimer()
    await this.#running
    await this.#sender?.close()
    this.#webhook?.close()
  }
}

/** Whether a delivery that has failed again is given up, because of its age or the number of its attempts. */
function isGivenUp(
  { giveUpAfterHours, maxAttempts }: WebhookConfig,
  { receivedAtMs }: ClaimedDelivery,
  attempts: number,
  nowMs: number,
  wasPaused: boolean,
): boolean {
  if (maxAttempts !== undefined && attempts >= maxAttempts) return true
  // A failure during a pause says nothing about the delivery, so it gets more time.
  const hours = giveUpAfterHours * (wasPaused ? PATIENCE_WHILE_PAUSED : 1)
  return nowMs - receivedAtMs >= hours * HOUR_MS
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
