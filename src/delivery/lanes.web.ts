import { DeliveryError, type FailureCode } from '../errors/errors.ts'
import type { Line } from '../line/line.ts'
import type { Delivery } from './delivery.ts'
import type { Courier, LanesOptions, OpenLanes } from './lanes.ts'

/** Cloudflare Workers take timers, sockets and promises away with the request that they were made for. */
export const openLanes: OpenLanes = (jsRuntime, options) =>
  jsRuntime === 'cloudflare-worker' ? new Lanes(options) : undefined

/** A delivery of its own for what one flush sends: its requests, retries and timers are those of the code that flushes. */
interface Lane {
  readonly delivery: Delivery
  readonly line: Line
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
class Lanes implements Courier {
  readonly #options: LanesOptions
  readonly #lanes = new Set<Lane>()
  #timer: { readonly dueMs: number; readonly cancel: () => void } | undefined

  constructor(options: LanesOptions) {
    this.#options = options
    options.line.onTurn = () => this.#onTurn()
  }

  get inFlight(): number {
    return this.#sum(({ delivery }) => delivery.inFlight)
  }

  get pausedMs(): number {
    return Math.max(0, ...[...this.#lanes].map(({ delivery }) => delivery.pausedMs))
  }

  get waiting(): { readonly count: number; readonly bytes: number } {
    return {
      count: this.#options.line.ready.length + this.#sum(({ delivery }) => delivery.waiting.count),
      bytes: this.#options.line.ready.bytes + this.#sum(({ delivery }) => delivery.waiting.bytes),
    }
  }

  trouble(code: FailureCode): DeliveryError | undefined {
    for (const { delivery } of this.#lanes) {
      const trouble = delivery.trouble(code)
      if (trouble !== undefined) return trouble
    }
    return undefined
  }

  await(seq: number): () => void {
    // Of what waits now: what comes later has a lane of its own.
    this.flush()
    const ends = [...this.#lanes].map(({ delivery }) => delivery.await(seq))
    return () => {
      for (const end of ends) end()
    }
  }

  flush(): void {
    this.#giveUpLost()
    const items = this.#options.line.takeAll()
    if (items.length === 0) return
    const lane = this.#open()
    lane.open = items.length
    // They count in the bound of the client until they have their outcome.
    for (const item of items) lane.line.admit(item)
    lane.delivery.flush()
  }

  abandon(error: DeliveryError): void {
    this.flush()
    this.#timer?.cancel()
    this.#timer = undefined
    for (const { delivery } of [...this.#lanes]) delivery.abandon(error)
  }

  #open(): Lane {
    const { line, outcomes, onPause, createLine, createDelivery } = this.#options
    const own = createLine()
    const delivery = createDelivery(
      own,
      {
        settle: (item, error) => {
          line.discount(item.bytes)
          lane.open--
          lane.lostAtMs = this.#lostAtMs(0)
          if (lane.open === 0) this.#lanes.delete(lane)
          outcomes.settle(item, error)
        },
      },
      (waitMs) => {
        lane.lostAtMs = this.#lostAtMs(waitMs)
        onPause(waitMs)
      },
    )
    const lane: Lane = { delivery, line: own, open: 0, lostAtMs: this.#lostAtMs(0) }
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
    const { line, settings, maxMessagesBytes } = this.#options
    const { ready } = line
    const isFull = ready.length >= Math.min(settings.flushAt, settings.maxQueueSize)
    if (ready.isDue || isFull || ready.bytes >= maxMessagesBytes) this.flush()
    else if (ready.length > 0) this.#armInterval()
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

  #sum(count: (lane: Lane) => number): number {
    let sum = 0
    for (const lane of this.#lanes) sum += count(lane)
    return sum
  }
}
