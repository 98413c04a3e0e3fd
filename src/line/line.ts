import { byteLength } from '../message/utf8.ts'
import { soon } from '../runtime/clock.ts'
import type { Item } from './item.ts'
import type { SpoolConnection } from './spool.ts'
import type { MessageStore } from './store.ts'

export interface LineOptions {
  readonly settings: {
    readonly maxQueueSize: number
    readonly maxQueueBytes: number
    readonly maxMessageBytes: number
    readonly overflow: 'drop-newest' | 'drop-oldest'
  }
  readonly store: MessageStore
  /** Stores the events for which there is no room in memory. */
  readonly spool?: SpoolConnection | undefined
  /** Called with an event that has to make room for a newer event. Its message is still stored at that time. */
  readonly displace: (item: Item) => void
}

/** The events that wait to be sent or to be sent again, in the order in which they became ready. */
export interface Ready {
  first: Item | undefined
  last: Item | undefined
  length: number
  bytes: number
  /** The last place given to an event. */
  lastOrder: number
  /** Events up to this place are due: they are sent without waiting for more events. */
  dueOrder: number
  isDue: boolean
}

/**
 * The queue of the client: the events that are inside asynchronous plugins, that wait to be sent or that are in a request,
 * within `maxQueueSize` and `maxQueueBytes`. Events that are only in the spool are not in the line.
 *
 * Waiting events form a linked list, so that any event can be removed in constant time.
 *
 * @see docs/spec.md, section 5
 */
export class Line {
  /** `size` and `bytes` count all events in the line, not only those in `ready`. Changed only in this class. */
  size = 0
  bytes = 0
  /** Whether there is no room for any further event. */
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
  /** The pending calls of {@link Line.leftPlugins}. */
  readonly #leaving = new Set<{ readonly items: Set<Item>; readonly resolve: () => void }>()
  /**
   * Called at the end of each turn in which events were added. Set by the `Delivery`.
   *
   * @param isNearlyFull Whether there may be no room for the next message, so that waiting for more events is no use.
   */
  onTurn: (isNearlyFull: boolean) => void = () => {}
  #isTurnScheduled = false
  /** The last place that was given to an event before this turn. */
  #orderBefore = 0

  constructor(options: LineOptions) {
    this.#options = options
  }

  /**
   * Sending starts after the current turn of the event loop, so that the user's call returns fast.
   *
   * @param isDue Whether the event is sent without waiting for more events.
   * @returns Whether there was room. With `drop-oldest`, older events make room.
   */
  add(item: Item, json: string, isDue: boolean): boolean {
    const { store, spool } = this.#options
    // The event goes to the spool if there is no room in memory, or if earlier events still wait in the spool.
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

  /** Adds an event from the spool, whose message is already stored. The event is due and is never refused. */
  admit(item: Item): void {
    this.#append(item, item.stored?.bytes ?? 0)
    this.makeAllDue()
    this.#scheduleTurn()
  }

  makeAllDue(): void {
    this.#ready.dueOrder = this.#ready.lastOrder
    this.#ready.isDue = this.#ready.length > 0
  }

  /**
   * Takes the next waiting events, as many as fit. They count towards the limits of the line until they leave it.
   *
   * @param maxBytes Includes the commas between the messages. The first event is always taken.
   * @param first Default: the oldest.
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

  takeAll(): Item[] {
    return this.take(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
  }

  /** Puts taken events back into their places. `items` must be in the order of their places. The events become due. */
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

  /**
   * Frees the room of an event that gets its outcome, leaves its plugins, or goes through a plugin that was registered later in
   * the same turn. Its message stays stored.
   */
  leave(item: Item): void {
    const { state } = item
    if (state === 'plugins') this.#leavePlugins(item)
    else if (state === 'ready') this.#remove(item)
    else if (state !== 'sent') return
    item.state = 'new'
    this.#count(-1, -item.bytes)
    this.#options.spool?.refill()
  }

  release(item: Item): void {
    if (item.stored !== undefined) this.#options.store.release(item.stored)
    item.stored = undefined
  }

  /** The oldest due event among those with the fewest attempts. */
  get freshest(): Item | undefined {
    const { first, dueOrder } = this.#ready
    let freshest = first
    for (let item = first; item !== undefined && (freshest as Item).attempts > 0; item = item.next) {
      if (item.order > dueOrder) break
      if (item.attempts < (freshest as Item).attempts) freshest = item
    }
    return freshest
  }

  find(upTo: number, isMeant: (item: Item) => boolean): Item[] {
    const found: Item[] = []
    for (let item = this.#ready.first; item !== undefined && item.order <= upTo; item = item.next) {
      if (isMeant(item)) found.push(item)
    }
    return found
  }

  get ofThisTurn(): Item[] {
    return this.find(this.#ready.lastOrder, ({ order }) => order > this.#orderBefore)
  }

  /** Call {@link Line.hasRoom} first. */
  enterPlugins(item: Item, bytes: number): void {
    item.state = 'plugins'
    item.bytes = bytes
    this.#inPlugins.add(item)
    this.#count(1, bytes)
    // The event may have filled the line, so that waiting events must be sent.
    if (this.#ready.length > 0) this.#scheduleTurn()
  }

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

  /** Whether there is room for one more event of this size. With `drop-oldest`, older events are removed to make room. */
  hasRoom(bytes: number): boolean {
    // With a spool, ready events do not count: an event that leaves its plugins may be stored in the spool alone.
    return this.#options.spool === undefined ? this.#makeRoom(bytes) : this.#fits(bytes, this.#ready)
  }

  /** Calls no function after `#count`, so that a stack overflow cannot leave the line half changed. */
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
      // The event goes on within this turn, so the promise resolves after that.
      soon(one.resolve)
    }
  }

  #scheduleTurn(): void {
    if (this.#isTurnScheduled) return
    // The order matters: if `soon` throws because of a stack overflow, the flag must stay `false`.
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
    // Only waiting events can be displaced. If the other events alone leave no room, displacing is no use.
    if (!this.#fits(bytes, this.#ready)) return false
    while (!this.#fits(bytes)) {
      const oldest = this.#ready.first as Item
      this.leave(oldest)
      this.#options.displace(oldest)
      this.release(oldest)
    }
    return true
  }

  /** @param without The events and bytes that do not count. */
  #fits(bytes: number, without: { readonly length: number; readonly bytes: number } = NOTHING): boolean {
    const { maxQueueSize, maxQueueBytes } = this.#options.settings
    return this.size - without.length < maxQueueSize && this.bytes - without.bytes + bytes <= maxQueueBytes
  }
}

const NOTHING = { length: 0, bytes: 0 }
