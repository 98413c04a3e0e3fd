import type { Clock } from '../clock.ts'
import type { DestinationConfig } from '../config/schema.ts'
import type { DeliveryUpdate, DueDelivery, Store } from '../store/store.ts'
import { appendLines } from './file.ts'
import { type AttemptResult, postMessage } from './webhook.ts'

const FILE_BATCH = 500
const WEBHOOK_BATCH = 8
const MAX_DELAY_MS = 60_000
const FILE_RETRY_MS = 2000
const FAULT_RETRY_MS = 5000

/** The part of the database that a deliverer works on. */
export type DeliveryStore = Pick<Store, 'dueDeliveries' | 'nextDueMs' | 'updateDeliveries'>

/**
 * Carries the events of one destination out of the database, at least once.
 *
 * What is owed is in the database, written in the transaction that accepted the event; it is ticked off after the
 * attempt. So a death in between repeats an attempt and loses none, and a restart goes on where it was.
 */
export class Deliverer {
  readonly #destination: DestinationConfig
  readonly #store: DeliveryStore
  readonly #clock: Clock
  readonly #onChange: () => void
  readonly #onFault: (what: string, cause: unknown) => void
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  #cancelTimer = () => {}

  /** @param onChange Told when outcomes have been written. */
  constructor(
    destination: DestinationConfig,
    store: DeliveryStore,
    clock: Clock,
    onChange: () => void,
    onFault: (what: string, cause: unknown) => void,
  ) {
    this.#destination = destination
    this.#store = store
    this.#clock = clock
    this.#onChange = onChange
    this.#onFault = onFault
  }

  /** Looks for work now, unless that is going on already. */
  wake(): void {
    if (this.#running !== undefined || this.#stop.signal.aborted) return
    this.#cancelTimer()
    this.#running = this.#work()
      .then(() => this.#store.nextDueMs(this.#destination.name))
      .catch((cause: unknown) => {
        // The outcome could not be written down. Not at once again: the receiver would get the same without end.
        this.#onFault(`destination ${this.#destination.name}`, cause)
        return this.#clock.now() + FAULT_RETRY_MS
      })
      .then((dueMs) => {
        this.#running = undefined
        this.#sleepUntil(dueMs)
      })
  }

  async #work(): Promise<void> {
    const limit = this.#destination.type === 'file' ? FILE_BATCH : WEBHOOK_BATCH
    while (!this.#stop.signal.aborted) {
      const due = this.#store.dueDeliveries(this.#destination.name, this.#clock.now(), limit)
      if (due.length === 0) return
      const updates = await this.#attempt(due)
      // A close that cut an attempt short leaves it owed, and uncounted.
      if (this.#stop.signal.aborted && this.#destination.type === 'webhook') {
        const finished = updates.filter(({ state }) => state === 'delivered')
        this.#store.updateDeliveries(this.#destination.name, finished)
        return
      }
      this.#store.updateDeliveries(this.#destination.name, updates)
      this.#onChange()
    }
  }

  async #attempt(due: readonly DueDelivery[]): Promise<DeliveryUpdate[]> {
    const destination = this.#destination
    if (destination.type === 'webhook') {
      return Promise.all(
        due.map(async (delivery) =>
          this.#update(delivery, await postMessage(destination, delivery, this.#stop.signal)),
        ),
      )
    }
    try {
      await appendLines(destination.path, due)
      return due.map((delivery) => this.#update(delivery, { result: 'delivered' }))
    } catch (cause) {
      // A full disk or a missing mount: the file has no say in how often, so it is tried for ever.
      const reason = `cannot be written (${(cause as NodeJS.ErrnoException).code})`
      return due.map((delivery) => this.#update(delivery, { result: 'retry', reason }))
    }
  }

  #update({ seq, attempts: before }: DueDelivery, attempt: AttemptResult): DeliveryUpdate {
    const attempts = before + 1
    if (attempt.result !== 'retry') {
      const reason = attempt.result === 'failed' ? attempt.reason : null
      return { seq, state: attempt.result, reason, attempts, dueAtMs: 0 }
    }
    const destination = this.#destination
    if (destination.type === 'webhook' && attempts >= destination.maxAttempts) {
      return { seq, state: 'failed', reason: attempt.reason, attempts, dueAtMs: 0 }
    }
    const delayMs =
      destination.type === 'webhook'
        ? Math.min(MAX_DELAY_MS, destination.firstDelay * 2 ** (attempts - 1))
        : FILE_RETRY_MS
    return { seq, state: 'pending', reason: attempt.reason, attempts, dueAtMs: this.#clock.now() + delayMs }
  }

  #sleepUntil(dueMs: number | undefined): void {
    if (this.#stop.signal.aborted || dueMs === undefined) return
    this.#cancelTimer = this.#clock.setTimer(() => this.wake(), Math.max(1, dueMs - this.#clock.now()))
  }

  /** Ends attempts in flight; what was not delivered stays owed in the database. */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#cancelTimer()
    await this.#running
  }
}
