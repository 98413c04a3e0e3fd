import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import type { DestinationConfig } from '../config/schema.ts'
import type { ClaimedDelivery, DeliveryQueue, DeliveryUpdate } from '../store/ports.ts'
import { appendLines } from './file.ts'
import { type AttemptResult, postMessage } from './webhook.ts'

const FILE_BATCH = 500
const FILE_LEASE_MS = 30_000
/** A lease lasts longer than the attempt, so that nobody else has the event while its outcome is written down. */
const LEASE_MARGIN_MS = 10_000
const MAX_DELAY_MS = 60_000
const FILE_RETRY_MS = 2000
const FAULT_RETRY_MS = 5000

/** The part of the queue that a deliverer works on. */
export type DeliverySource = Pick<DeliveryQueue, 'claim' | 'settle' | 'release' | 'nextDueMs'>

/** What a deliverer works with. */
export interface DelivererParts {
  queue: DeliverySource
  clock: Clock
  onFault(what: string, cause: unknown): void
}

/**
 * Carries the events of one destination out of the database, at least once.
 *
 * What is owed is in the database, written in the transaction that accepted the event; it is ticked off after the
 * attempt. So a death in between repeats an attempt and loses none, and a restart goes on where it was. What is being
 * attempted is leased: of several collectors on one database one delivers an event.
 */
export class Deliverer {
  readonly #destination: DestinationConfig
  readonly #parts: DelivererParts
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  #cancelTimer = () => {}

  constructor(destination: DestinationConfig, parts: DelivererParts) {
    this.#destination = destination
    this.#parts = parts
  }

  /** Looks for work now, unless that is going on already. */
  wake(): void {
    if (this.#running !== undefined || this.#stop.signal.aborted) return
    this.#cancelTimer()
    const { queue, clock, onFault } = this.#parts
    this.#running = this.#work()
      .then(() => queue.nextDueMs(this.#destination.name))
      .catch((cause: unknown) => {
        // The outcome could not be written down. Not at once again: the receiver would get the same without end.
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
    return destination.type === 'webhook' ? this.#postAll(destination) : this.#appendAll(destination.path)
  }

  async #appendAll(path: string): Promise<void> {
    const { queue } = this.#parts
    const { name } = this.#destination
    while (!this.#stop.signal.aborted) {
      const due = await queue.claim(name, FILE_BATCH, FILE_LEASE_MS)
      if (due.length === 0) return
      await queue.settle(name, await this.#append(path, due))
      // The queue may answer at once; others must have their turn all the same.
      await nextTurn()
    }
  }

  async #append(path: string, due: readonly ClaimedDelivery[]): Promise<DeliveryUpdate[]> {
    const attempt = this.#startAttempt()
    try {
      await appendLines(path, due)
      return due.map((delivery) => this.#update(delivery, { result: 'delivered' }, attempt()))
    } catch (cause) {
      // A full disk or a missing mount: the file has no say in how often, so it is tried for ever.
      const reason = `cannot be written (${(cause as NodeJS.ErrnoException).code})`
      return due.map((delivery) => this.#update(delivery, { result: 'retry', reason }, attempt()))
    }
  }

  /** Keeps so many requests under way as the destination allows; what is finished is written down together. */
  async #postAll(destination: Extract<DestinationConfig, { type: 'webhook' }>): Promise<void> {
    const { queue } = this.#parts
    const { name, concurrency, timeout } = destination
    const { signal } = this.#stop
    const underWay = new Set<Promise<void>>()
    let updates: DeliveryUpdate[] = []
    let given: string[] = []
    const post = async (delivery: ClaimedDelivery) => {
      const attempt = this.#startAttempt()
      const result = await postMessage(destination, delivery, signal)
      // A close that cut an attempt short leaves it owed, and uncounted.
      if (signal.aborted && result.result === 'retry') given.push(delivery.eventId)
      else updates.push(this.#update(delivery, result, attempt()))
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
      // What ends in the same turn is written down in the same transaction.
      await nextTurn()
    }
    const released = given
    given = []
    await queue.release(name, released)
  }

  /** Measures an attempt: call what it returns when the attempt is over. */
  #startAttempt(): () => { atMs: number; durationMs: number } {
    const { clock } = this.#parts
    const atMs = clock.now()
    const startMs = clock.monotonic()
    return () => ({ atMs, durationMs: clock.monotonic() - startMs })
  }

  #update(
    { eventId, attempts: before }: ClaimedDelivery,
    result: AttemptResult,
    measured: { atMs: number; durationMs: number },
  ): DeliveryUpdate {
    const attempts = before + 1
    const attempt = { ...measured, result: result.result }
    if (result.result !== 'retry') {
      const reason = result.result === 'failed' ? result.reason : null
      return { eventId, state: result.result, reason, attempts, dueAtMs: 0, attempt }
    }
    const { reason } = result
    const destination = this.#destination
    if (destination.type === 'webhook' && attempts >= destination.maxAttempts) {
      return {
        eventId,
        state: 'failed',
        reason,
        attempts,
        dueAtMs: 0,
        attempt: { ...attempt, result: 'failed' },
      }
    }
    const dueAtMs = this.#parts.clock.now() + this.#delayMs(attempts)
    return { eventId, state: 'pending', reason, attempts, dueAtMs, attempt }
  }

  /** Doubles with each attempt; drawn from the upper half, so that those that failed together do not come back together. */
  #delayMs(attempts: number): number {
    const destination = this.#destination
    if (destination.type !== 'webhook') return FILE_RETRY_MS
    const delayMs = Math.min(MAX_DELAY_MS, destination.firstDelay * 2 ** (attempts - 1))
    return Math.ceil(delayMs * (0.5 + this.#parts.clock.random() / 2))
  }

  #sleepUntil(dueMs: number | undefined): void {
    if (this.#stop.signal.aborted || dueMs === undefined) return
    const { clock } = this.#parts
    this.#cancelTimer = clock.setTimer(() => this.wake(), Math.max(1, dueMs - clock.now()))
  }

  /** Ends attempts in flight; what was not delivered stays owed in the database. */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#cancelTimer()
    await this.#running
  }
}
