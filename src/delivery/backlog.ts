import { requireSize } from '../message/serialize.ts'
import { byteLength } from '../message/utf8.ts'
import { soon } from '../runtime/clock.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { SpoolConnection } from '../spool/spool.ts'
import type { Holder, MessageStore, StoredMessage } from './store.ts'

export interface BacklogOptions<Entry> {
  readonly settings: Pick<ResolvedSettings, 'maxQueueSize' | 'maxQueueBytes' | 'maxMessageBytes' | 'overflow'>
  readonly store: MessageStore
  /** Where events go for which there is no room. */
  readonly spool?: SpoolConnection | undefined
  /** Takes an event that had to make room for a newer one, while its message is still stored. */
  readonly displace: (entry: Entry) => void
}

/**
 * What waits to be sent, first in, first out. The only owner of the bound on it: events that are still inside plugins
 * hold a reservation, and count.
 */
export class Backlog<Entry extends Holder> {
  readonly #options: BacklogOptions<Entry>
  readonly #queue = new Queue<Entry>()
  #reservedCount = 0
  #reservedBytes = 0
  /** How many events at the front are to be sent without waiting for more. */
  #due = 0
  /** Told once for each turn in which something was added. Set by the delivery, which then decides what goes. */
  onTurn: () => void = () => {}
  #isTurnScheduled = false

  constructor(options: BacklogOptions<Entry>) {
    this.#options = options
  }

  get length(): number {
    return this.#queue.length
  }

  /** The bytes of all messages that wait. */
  get bytes(): number {
    return this.#queue.bytes
  }

  get due(): number {
    return this.#due
  }

  get store(): MessageStore {
    return this.#options.store
  }

  /**
   * Takes an event. Sending starts when the current turn of the event loop is over, so that the call stays short.
   *
   * @param json The message. It is kept as bytes until the event has its outcome.
   * @param isAwaited A flush waits for it.
   * @returns Whether there was room. With `drop-oldest`, older events make room.
   * @throws DeliveryError `too_large` when the message is over the limit.
   */
  add(entry: Entry, json: string, isAwaited: boolean): boolean {
    const { settings, store, spool } = this.#options
    requireSize(json, settings.maxMessageBytes)
    if (spool !== undefined && this.#spills(spool, json) && spool.spill(entry, json)) return true
    const stored = store.put(json)
    if (!this.#makeRoom(stored.bytes)) {
      store.release(stored)
      return false
    }
    entry.stored = stored
    try {
      this.#queue.push(entry)
    } catch (error) {
      // A stack overflow: what is stored counts as queued.
      entry.stored = undefined
      throw error
    }
    if (isAwaited) this.#due = this.#queue.length
    this.#scheduleTurn()
    return true
  }

  /** Counts an event that will be added later. Ask {@link Backlog.hasRoom} first; give it back with `unreserve`. */
  reserve(bytes: number): void {
    this.#reservedCount++
    this.#reservedBytes += bytes
    // It may have filled the backlog, with what waits in it.
    if (this.#queue.length > 0) this.#scheduleTurn()
  }

  /** Gives a reservation back. */
  unreserve(bytes: number): void {
    this.#reservedCount--
    this.#reservedBytes -= bytes
  }

  /** Whether one more event of `bytes` has room. With `drop-oldest`, older events make room for it. */
  hasRoom(bytes: number): boolean {
    if (this.#options.spool === undefined) return this.#makeRoom(bytes)
    // The spool takes what has left the plugins: what is inside them alone fills the memory.
    const { maxQueueSize, maxQueueBytes } = this.#options.settings
    return this.#reservedCount < maxQueueSize && this.#reservedBytes + bytes <= maxQueueBytes
  }

  /** A message may come that has no room, reservations included: waiting for more events gains nothing. */
  get isNearlyFull(): boolean {
    const { maxQueueSize, maxQueueBytes, maxMessageBytes } = this.#options.settings
    return (
      this.#queue.length + this.#reservedCount >= maxQueueSize ||
      this.#queue.bytes + this.#reservedBytes + maxMessageBytes > maxQueueBytes
    )
  }

  /** Nothing more will be taken, however small. */
  get isFull(): boolean {
    const { settings, spool } = this.#options
    const { overflow, maxQueueSize, maxQueueBytes } = settings
    if (overflow !== 'drop-newest' || spool !== undefined) return false
    return (
      this.#queue.length + this.#reservedCount >= maxQueueSize ||
      this.#queue.bytes + this.#reservedBytes >= maxQueueBytes
    )
  }

  /** From now on, all that waits is to be sent without waiting for more. */
  makeAllDue(): void {
    this.#due = this.#queue.length
  }

  /**
   * Takes events from the front until the next one would not fit.
   *
   * @param maxBytes Bound on the messages and the commas between them. The first event is taken whatever its size.
   */
  take(maxBytes: number, maxItems: number): Entry[] {
    const entries = this.#queue.take(maxBytes, maxItems)
    this.#due = Math.max(0, this.#due - entries.length)
    this.#options.spool?.refill()
    return entries
  }

  /** Takes all that waits. */
  takeAll(): Entry[] {
    return this.take(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
  }

  /** Takes an event back that was accepted before, and whose message is stored. It is due, and never refused. */
  admit(entry: Entry): void {
    this.#queue.push(entry)
    this.#due = this.#queue.length
    this.#scheduleTurn()
  }

  /** Gives up the message of an event that has its outcome. */
  release(entry: Entry): void {
    if (entry.stored !== undefined) this.#options.store.release(entry.stored)
    entry.stored = undefined
  }

  /** There is no room for it, or others wait in the spool before it. */
  #spills(spool: SpoolConnection, json: string): boolean {
    return spool.length > 0 || !this.#hasRoom(byteLength(json))
  }

  #scheduleTurn(): void {
    if (this.#isTurnScheduled) return
    // In this order: a stack overflow must not leave a turn that never ends.
    soon(this.#endTurn)
    this.#isTurnScheduled = true
  }

  readonly #endTurn = (): void => {
    this.#isTurnScheduled = false
    this.onTurn()
  }

  #makeRoom(bytes: number): boolean {
    if (this.#hasRoom(bytes)) return true
    const { overflow, maxQueueSize, maxQueueBytes } = this.#options.settings
    if (overflow === 'drop-newest') return false
    // Events inside plugins cannot be displaced: where they leave no room, displacing the others would gain nothing.
    if (this.#reservedCount >= maxQueueSize || this.#reservedBytes + bytes > maxQueueBytes) return false
    while (!this.#hasRoom(bytes)) {
      const oldest = this.#queue.shift()
      if (oldest === undefined) return false
      if (this.#due > 0) this.#due--
      this.#options.displace(oldest)
      this.release(oldest)
    }
    return true
  }

  #hasRoom(bytes: number): boolean {
    const { maxQueueSize, maxQueueBytes } = this.#options.settings
    return (
      this.#queue.length + this.#reservedCount < maxQueueSize &&
      this.#queue.bytes + this.#reservedBytes + bytes <= maxQueueBytes
    )
  }
}

/** How many passed slots may pile up at the front before they are cut off. */
const COMPACT_AT = 1_024

/** What waits to be sent, first in first out, with its size in bytes. Every step takes constant time on average. */
export class Queue<Item extends Holder> {
  #items: (Item | undefined)[] = []
  #head = 0
  #bytes = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  /** The bytes of all items together. */
  get bytes(): number {
    return this.#bytes
  }

  push(item: Item): void {
    const bytes = (item.stored as StoredMessage).bytes
    // The last call: a stack overflow leaves the item either outside or inside, and counted.
    this.#items.push(item)
    this.#bytes += bytes
  }

  shift(): Item | undefined {
    if (this.length === 0) return undefined
    const item = this.#items[this.#head] as Item
    // The slot is emptied so that the item can be collected before the slot is cut off.
    this.#items[this.#head++] = undefined
    this.#bytes -= (item.stored as StoredMessage).bytes
    if (this.#head >= COMPACT_AT && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  /**
   * Takes items from the front until the next one would not fit.
   *
   * @param maxBytes Bound on the items' bytes plus one for each comma between them. The first item is
   * always taken: alone it is sent whatever its size.
   */
  take(maxBytes: number, maxItems: number): Item[] {
    const taken: Item[] = []
    let bytes = -1
    while (taken.length < maxItems) {
      const item = this.#items[this.#head]
      if (item === undefined) break
      bytes += (item.stored as StoredMessage).bytes + 1
      if (bytes > maxBytes && taken.length > 0) break
      taken.push(this.shift() as Item)
    }
    return taken
  }
}
