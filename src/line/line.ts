import { byteLength } from '../message/utf8.ts'
import { soon } from '../runtime/clock.ts'
import type { Item } from './item.ts'
import type { SpoolConnection } from './spool.ts'
import type { MessageStore } from './store.ts'

export interface LineOptions {
  /** Settings of the client, of the same names. */
  readonly settings: {
    readonly maxQueueSize: number
    readonly maxQueueBytes: number
    readonly maxMessageBytes: number
    readonly overflow: 'drop-newest' | 'drop-oldest'
  }
  readonly store: MessageStore
  /** Takes the events for which there is no room in memory. */
  readonly spool?: SpoolConnection | undefined
  /** Takes an event that had to make room for a newer one, while its message is still stored. */
  readonly displace: (item: Item) => void
}

/** Events that wait to be sent, for the first time or again, in the order in which they became ready. */
export interface Ready {
  first: Item | undefined
  last: Item | undefined
  length: number
  /** The bytes of their messages. */
  bytes: number
  /** The last place given out, and the place up to which events are sent without waiting for more. */
  lastOrder: number
  dueOrder: number
  /** At least one event is to be sent without waiting for more. */
  isDue: boolean
}

/**
 * Holds the events inside asynchronous plugins, those that wait to be sent and those that are sent, and limits them to
 * `maxQueueSize` and `maxQueueBytes`. It does not hold events that are inside their call, only in the spool, or failed before
 * they came here. Waiting events form a linked list: removing any of them costs the same, and one that is sent again goes back
 * to its place.
 *
 * @see docs/spec.md, section 5
 */
export class Line {
  /** All events that count towards the bound, and their bytes. Changed only here. */
  size = 0
  bytes = 0
  /** No further event is accepted, whatever its size. */
  isFull = false
  readonly #options: LineOptions
  readonly #ready: Ready = {
    first: undefined,
    last: undefined,
    length: 0,
    bytes: 0,
    lastOrder: 0,
    dueOrder: 0,
    isDue: false,
  }
  readonly ready: Readonly<Ready> = this.#ready
  readonly #inPlugins = new Set<Item>()
  /** Pending calls of {@link Line.leftPlugins}. */
  readonly #leaving = new Set<{ readonly items: Set<Item>; readonly resolve: () => void }>()
  /**
   * Called once for each turn in which events were added. Set by the delivery, which then decides what to send.
   *
   * @param isNearlyFull The next message may not fit: waiting for more events gains nothing.
   */
  onTurn: (isNearlyFull: boolean) => void = () => {}
  #isTurnScheduled = false
  /** The last place given out before this turn. */
  #orderBefore = 0

  constructor(options: LineOptions) {
    this.#options = options
  }

  /**
   * Takes the message of an event. Sending starts when the current turn of the event loop is over, so that the call stays
   * short.
   *
   * @param json The message. It is kept as bytes until the event has its outcome.
   * @param isDue It is sent without waiting for more.
   * @returns Whether there was room. With `drop-oldest`, older events make room.
   */
  add(item: Item, json: string, isDue: boolean): boolean {
    const { store, spool } = this.#options
    // There is no room in memory, or earlier events still wait in the spool.
    if (
      spool !== undefined &&
      (spool.length > 0 || !this.#fits(byteLength(json))) &&
      spool.spill(item, json)
    ) {
      return true
    }
    const stored = store.put(json)
    if (!this.#makeRoom(stored.bytes)) {
      store.release(stored)
      return false
    }
    this.#append(item, stored.bytes)
    item.stored = stored
    if (isDue) this.makeAllDue()
    this.#scheduleTurn()
    return true
  }

  /** Adds an event from the spool, whose message is already stored. It is due, and never refused. */
  admit(item: Item): void {
    this.#append(item, item.stored?.bytes ?? 0)
    this.makeAllDue()
    this.#scheduleTurn()
  }

  /** Marks all waiting events as due: they are sent without waiting for more. */
  makeAllDue(): void {
    this.#ready.dueOrder = this.#ready.lastOrder
    this.#ready.isDue = this.#ready.length > 0
  }

  /**
   * Takes the next waiting events, until one would not fit. They count towards the bound until they leave.
   *
   * @param maxBytes Bound on the messages and the commas between them. The first event is taken whatever its size.
   * @param first Where to begin. Default: at the front.
   */
  take(maxBytes: number, maxItems: number, first: Item | undefined = this.#ready.first): Item[] {
    const taken: Item[] = []
    let bytes = -1
    for (let item = first; item !== undefined && taken.length < maxItems; ) {
      bytes += item.bytes + 1
      if (bytes > maxBytes && taken.length > 0) break
      const { next }: Item = item
      this.#remove(item)
      item.state = 'sent'
      taken.push(item)
      item = next
    }
    this.#options.spool?.refill()
    return taken
  }

  /** Takes all waiting events. */
  takeAll(): Item[] {
    return this.take(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
  }

  /** Returns taken events to their places. They must be in order, and become due. */
  giveBack(items: readonly Item[]): void {
    const ready = this.#ready
    let next = ready.first
    for (const item of items) {
      while (next !== undefined && next.order < item.order) next = next.next
      const previous = next === undefined ? ready.last : next.previous
      item.previous = previous
      item.next = next
      if (previous === undefined) ready.first = item
      else previous.next = item
      if (next === undefined) ready.last = item
      else next.previous = item
      item.state = 'ready'
      ready.length++
      ready.bytes += item.bytes
      if (item.order > ready.dueOrder) ready.dueOrder = item.order
      ready.isDue = true
    }
  }

  /** Frees the room of an event that has its outcome, leaves its plugins, or enters others. Its message stays stored. */
  leave(item: Item): void {
    const { state } = item
    if (state === 'plugins') this.#leavePlugins(item)
    else if (state === 'ready') this.#remove(item)
    else if (state !== 'sent') return
    item.state = 'new'
    this.#count(-1, -item.bytes)
    this.#options.spool?.refill()
  }

  /** Gives up the message of an event. */
  release(item: Item): void {
    if (item.stored !== undefined) this.#options.store.release(item.stored)
    item.stored = undefined
  }

  /** The first of the due events with the fewest attempts. */
  get freshest(): Item | undefined {
    const { first, dueOrder } = this.#ready
    let freshest = first
    for (let item = first; item !== undefined && (freshest as Item).attempts > 0; item = item.next) {
      if (item.order > dueOrder) break
      if (item.attempts < (freshest as Item).attempts) freshest = item
    }
    return freshest
  }

  /** The waiting events up to this place for which `isMeant` holds. */
  find(upTo: number, isMeant: (item: Item) => boolean): Item[] {
    const found: Item[] = []
    for (let item = this.#ready.first; item !== undefined && item.order <= upTo; item = item.next) {
      if (isMeant(item)) found.push(item)
    }
    return found
  }

  /** The waiting events of this turn. */
  get ofThisTurn(): Item[] {
    return this.find(this.#ready.lastOrder, ({ order }) => order > this.#orderBefore)
  }

  /** Counts an event that is inside asynchronous plugins. Check {@link Line.hasRoom} first. */
  enterPlugins(item: Item, bytes: number): void {
    item.state = 'plugins'
    item.bytes = bytes
    this.#inPlugins.add(item)
    this.#count(1, bytes)
    // It may have filled the line, so that waiting events must be sent.
    if (this.#ready.length > 0) this.#scheduleTurn()
  }

  /** Takes out all events inside asynchronous plugins. */
  takeFromPlugins(): Item[] {
    const items = [...this.#inPlugins]
    for (const item of items) this.leave(item)
    return items
  }

  /** Resolves when all events that are inside plugins now have left them. */
  leftPlugins(): Promise<void> {
    if (this.#inPlugins.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#leaving.add({ items: new Set(this.#inPlugins), resolve }))
  }

  /** Whether one more event of `bytes` has room. With `drop-oldest`, older events make room for it. */
  hasRoom(bytes: number): boolean {
    // Events in the line can move to the spool; only those in plugins and in flight must stay in memory.
    return this.#options.spool === undefined ? this.#makeRoom(bytes) : this.#fits(bytes, this.#ready)
  }

  /** Calls no function after the count: a stack overflow must not leave it half done. */
  #append(item: Item, bytes: number): void {
    this.#count(1, bytes)
    const ready = this.#ready
    const { last } = ready
    item.order = ++ready.lastOrder
    item.bytes = bytes
    item.state = 'ready'
    item.previous = last
    if (last === undefined) ready.first = item
    else last.next = item
    ready.last = item
    ready.length++
    ready.bytes += bytes
  }

  #remove(item: Item): void {
    const ready = this.#ready
    const { previous, next } = item
    if (previous === undefined) ready.first = next
    else previous.next = next
    if (next === undefined) ready.last = previous
    else next.previous = previous
    item.previous = undefined
    item.next = undefined
    ready.length--
    ready.bytes -= item.bytes
    ready.isDue = ready.first !== undefined && ready.first.order <= ready.dueOrder
  }

  #count(events: number, bytes: number): void {
    const { settings, spool } = this.#options
    this.size += events
    this.bytes += bytes
    const isOver = this.size >= settings.maxQueueSize || this.bytes >= settings.maxQueueBytes
    this.isFull = isOver && settings.overflow === 'drop-newest' && spool === undefined
  }

  #leavePlugins(item: Item): void {
    this.#inPlugins.delete(item)
    for (const one of this.#leaving) {
      one.items.delete(item)
      if (one.items.size > 0) continue
      this.#leaving.delete(one)
      // The event takes its next step within this turn.
      soon(one.resolve)
    }
  }

  #scheduleTurn(): void {
    if (this.#isTurnScheduled) return
    // In this order: after a stack overflow, the flag must not say that a turn is scheduled when none is.
    soon(this.#endTurn)
    this.#isTurnScheduled = true
  }

  readonly #endTurn = (): void => {
    const { maxQueueSize, maxQueueBytes, maxMessageBytes } = this.#options.settings
    this.#isTurnScheduled = false
    this.#orderBefore = this.#ready.lastOrder
    this.onTurn(this.size >= maxQueueSize || this.bytes + maxMessageBytes > maxQueueBytes)
  }

  #makeRoom(bytes: number): boolean {
    if (this.#fits(bytes)) return true
    if (this.#options.settings.overflow === 'drop-newest') return false
    // Only waiting events can be displaced. If the others alone leave no room, displacing would gain nothing.
    if (!this.#fits(bytes, this.#ready)) return false
    while (!this.#fits(bytes)) {
      const oldest = this.#ready.first as Item
      this.leave(oldest)
      this.#options.displace(oldest)
      this.release(oldest)
    }
    return true
  }

  /** @param without What does not count. */
  #fits(bytes: number, without: { readonly length: number; readonly bytes: number } = NOTHING): boolean {
    const { maxQueueSize, maxQueueBytes } = this.#options.settings
    return this.size - without.length < maxQueueSize && this.bytes - without.bytes + bytes <= maxQueueBytes
  }
}

const NOTHING = { length: 0, bytes: 0 }
