import type { Clock } from '../clock.ts'
import { limited } from '../limited.ts'
import type { PartHealth } from '../part-health.ts'
import { cursorOf } from './cursor.ts'
import type { EventStore, StoreListener, Totals } from './event-store.ts'
import type { ChangeFeed, FeedState, RequestLog } from './ports.ts'
import { StoreUnavailableError } from './unavailable.ts'

const RETRY_MS = 2000
/** How long `close` waits for a running attempt to open the store. */
const OPENING_LIMIT_MS = 2000

export interface LateStoreParts {
  /** Called again after any error; errors other than `StoreUnavailableError` are reported. */
  open(): Promise<EventStore>
  /** Aborts the running attempt to open the store. */
  giveUp(): void
  /** The running attempt, if there is one. */
  begun?: Promise<EventStore>
  clock: Clock
  onFault(what: string, cause: unknown): void
}

const NOTHING_YET: FeedState = { head: cursorOf(0), lastSeq: 0, epoch: 0, revision: 0 }

/**
 * Stands in for a store that could not be opened at the start. Tries to open the real store every two seconds, and passes all
 * calls on to it. Until the real store is open, `health` reports the reason and most calls reject.
 */
export class LateStore implements EventStore {
  readonly #parts: LateStoreParts
  readonly #subscribers = new Map<(state: FeedState) => void, () => void>()
  #reason: string
  #store: EventStore | undefined
  #listener: StoreListener | undefined
  #opening: Promise<void> = Promise.resolve()
  #cancel = () => {}
  #isClosed = false

  constructor(reason: string, parts: LateStoreParts) {
    this.#reason = reason
    this.#parts = parts
    if (parts.begun === undefined) this.#wait()
    else this.#opening = this.#take(parts.begun)
  }

  #wait(): void {
    this.#cancel = this.#parts.clock.setTimer(() => {
      this.#opening = this.#take(this.#parts.open())
    }, RETRY_MS)
  }

  async #take(opened: Promise<EventStore>): Promise<void> {
    let store: EventStore
    try {
      store = await opened
    } catch (cause) {
      if (this.#isClosed) return
      const { message } = cause as Error
      // The same error may repeat every two seconds, and is reported only once.
      if (!(cause instanceof StoreUnavailableError) && message !== this.#reason) {
        this.#parts.onFault('the store cannot be opened', cause)
      }
      this.#reason = message
      this.#wait()
      return
    }
    if (this.#isClosed) return store.close()
    this.#store = store
    for (const onChange of this.#subscribers.keys()) {
      this.#subscribers.set(onChange, store.changes.subscribe(onChange))
      onChange(store.changes.state())
    }
    if (this.#listener === undefined) return
    store.start(this.#listener)
    this.#listener.changed()
  }

  /** @throws StoreUnavailableError until the store is open. */
  get #opened(): EventStore {
    if (this.#store === undefined) throw new StoreUnavailableError(this.#reason)
    return this.#store
  }

  readonly log = late(() => this.#opened.log)
  readonly deliveries = late(() => this.#opened.deliveries)
  readonly reader = late(() => this.#opened.reader)
  readonly assertions = late(() => this.#opened.assertions)
  readonly tokenKeys = late(() => this.#opened.tokenKeys)

  /** Records of requests may be lost (see `RequestLog`), so they are dropped while the store is unreachable. */
  readonly requests: RequestLog = {
    nextId: () => this.#opened.requests.nextId(),
    append: (request) => this.#store?.requests.append(request),
  }

  readonly changes: ChangeFeed = {
    subscribe: (onChange) => {
      this.#subscribers.set(onChange, this.#store?.changes.subscribe(onChange) ?? (() => {}))
      return () => {
        this.#subscribers.get(onChange)?.()
        this.#subscribers.delete(onChange)
      }
    },
    state: () => this.#store?.changes.state() ?? NOTHING_YET,
  }

  async totals(): Promise<Totals> {
    return this.#opened.totals()
  }

  async health(): Promise<PartHealth[]> {
    return this.#store?.health() ?? [{ part: 'store', isReady: false, reason: this.#reason, waiting: 0 }]
  }

  async clear(): Promise<void> {
    return this.#opened.clear()
  }

  async delete(eventIds: readonly string[]): Promise<number> {
    return this.#opened.delete(eventIds)
  }

  start(listener: StoreListener): void {
    this.#listener = listener
    this.#store?.start(listener)
  }

  cut(): void {
    this.#store?.cut?.()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancel()
    this.#parts.giveUp()
    // If the running attempt still succeeds, `#take` closes the store.
    await limited(this.#opening, OPENING_LIMIT_MS, this.#parts.clock, () => {})
    await this.#store?.close()
  }
}

/** Passes each call on to the real port. The methods are asynchronous, and reject until the store is open. */
function late<P extends object>(port: () => P): P {
  return new Proxy({} as P, {
    get:
      (_, method) =>
      async (...given: unknown[]) =>
        (port() as Record<string | symbol, (...given: unknown[]) => unknown>)[method]?.(...given),
  })
}
