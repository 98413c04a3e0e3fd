import { DeliveryError } from '../errors/errors.ts'
import type { Backlog } from './backlog.ts'
import type { Delivery } from './delivery.ts'
import type { Courier, LanesOptions, OpenLanes } from './lanes.ts'
import type { Holder } from './store.ts'

/** Cloudflare Workers take timers, sockets and promises away with the request that they were made for. */
export const openLanes: OpenLanes = (jsRuntime, options) =>
  jsRuntime === 'cloudflare-worker' ? new Lanes(options) : undefined

/** A delivery of its own for what one flush sends: its requests, retries and timers are those of the code that flushes. */
interface Lane<Entry extends Holder> {
  readonly delivery: Delivery<Entry>
  readonly backlog: Backlog<Entry>
  /** Events without an outcome. */
  open: number
  /** Unless something happens in it by then, the runtime has taken its request away. */
  lostAtMs: number
}

/** A timer this late was taken away. */
const LOST_MS = 5_000

/**
 * Sends what waits in lanes, one for each flush, so that nothing of one request is used by another: a lane that the
 * runtime takes away with its request stops nobody else. Its events fail with `shutdown_timeout`, at a later flush.
 */
class Lanes<Entry extends Holder> implements Courier<Entry> {
  readonly #options: LanesOptions<Entry>
  readonly #lanes = new Set<Lane<Entry>>()
  #timer: { readonly dueMs: number; readonly cancel: () => void } | undefined

  constructor(options: LanesOptions<Entry>) {
    this.#options = options
    options.backlog.onTurn = () => this.#onTurn()
  }

  get inFlight(): number {
    return this.#sum(({ delivery }) => delivery.inFlight)
  }

  get pausedMs(): number {
    return Math.max(0, ...[...this.#lanes].map(({ delivery }) => delivery.pausedMs))
  }

  get waiting(): { readonly count: number; readonly bytes: number } {
    return {
      count: this.#sum(({ delivery, backlog }) => delivery.waiting.count + backlog.length),
      bytes: this.#sum(({ delivery, backlog }) => delivery.waiting.bytes + backlog.bytes),
    }
  }

  flush(): void {
    this.#giveUpLost()
    const { backlog } = this.#options
    const entries = backlog.takeAll()
    if (entries.length === 0) return
    const lane = this.#open()
    for (const entry of entries) {
      // They count in the bound until they have their outcome.
      backlog.reserve(entry.stored?.bytes ?? 0)
      lane.backlog.admit(entry)
      lane.open++
    }
    lane.delivery.flush()
  }

  abandon(error: DeliveryError): void {
    this.flush()
    this.#timer?.cancel()
    this.#timer = undefined
    for (const { delivery } of [...this.#lanes]) delivery.abandon(error)
  }

  #open(): Lane<Entry> {
    const { backlog, outcomes, onPause, createBacklog, createDelivery } = this.#options
    const own = createBacklog()
    const delivery = createDelivery(
      own,
      {
        settle: (entry, error, attempts) => {
          backlog.unreserve(entry.stored?.bytes ?? 0)
          lane.open--
          lane.lostAtMs = this.#lostAtMs(0)
          if (lane.open === 0) this.#lanes.delete(lane)
          outcomes.settle(entry, error, attempts)
        },
      },
      (waitMs) => {
        lane.lostAtMs = this.#lostAtMs(waitMs)
        onPause(waitMs)
      },
    )
    const lane: Lane<Entry> = { delivery, backlog: own, open: 0, lostAtMs: this.#lostAtMs(0) }
    this.#lanes.add(lane)
    return lane
  }

  /** After the wait there is time for a request and its retry at once. */
  #lostAtMs(waitMs: number): number {
    const { clock, settings } = this.#options
    return clock.monotonic() + waitMs + 2 * settings.httpRequestTimeout + LOST_MS
  }

  #giveUpLost(): void {
    const nowMs = this.#options.clock.monotonic()
    for (const lane of [...this.#lanes]) {
      if (nowMs < lane.lostAtMs) continue
      const message = 'the runtime ended the request that was to send it; hand analytics.flush() to waitUntil'
      lane.delivery.abandon(new DeliveryError('shutdown_timeout', message))
    }
  }

  #onTurn(): void {
    const { backlog, settings, maxMessagesBytes } = this.#options
    const isFull = backlog.length >= Math.min(settings.flushAt, settings.maxQueueSize)
    if (backlog.due > 0 || isFull || backlog.bytes >= maxMessagesBytes) this.flush()
    else if (backlog.length > 0) this.#armInterval()
  }

  /** For requests that last; those of others take the timer away with them, and the next flush sends what waits. */
  #armInterval(): void {
    const { clock, settings } = this.#options
    const nowMs = clock.monotonic()
    if (this.#timer !== undefined && nowMs < this.#timer.dueMs + LOST_MS) return
    const cancel = clock.setTimer(() => {
      this.#timer = undefined
      this.flush()
    }, settings.flushInterval)
    this.#timer = { dueMs: nowMs + settings.flushInterval, cancel }
  }

  #sum(count: (lane: Lane<Entry>) => number): number {
    let sum = 0
    for (const lane of this.#lanes) sum += count(lane)
    return sum
  }
}
