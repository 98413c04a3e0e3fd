import { requireSize } from '../message/serialize.ts'
import { byteLength } from '../message/utf8.ts'
import { soon } from '../runtime/clock.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { SpoolConnection } from '../spool/spool.ts'
import type { Item } from './item.ts'
import { ReadyList } from './ready-list.ts'
import { bytesOf, type MessageStore } from './store.ts'

export interface LineOptions {
  readonly settings: Pick<ResolvedSettings, 'maxQueueSize' | 'maxQueueBytes' | 'maxMessageBytes' | 'overflow'>
  readonly store: MessageStore
  /** Where events go for which there is no room. */
  readonly spool?: SpoolConnection | undefined
  /** Takes an event that had to make room for a newer one, while its message is still stored. */
  readonly displace: (item: Item) => void
}

/**
 * Events without an outcome, in plugins and in flight included: the only owner of the bound on them.
 *
 * @see docs/spec.md, section 5
 */
export class Line {
  readonly #options: LineOptions
  /** All that count in the bound. */
  #size = 0
  #bytes = 0
  /** Those of them that wait to be sent. */
  readonly ready = new ReadyList()
  /** Those inside asynchronous plugins, with the bytes that each is expected to need. */
  readonly #inPlugins = new Map<Item, number>()
  /** Waits for events to leave their plugins. */
  readonly #leaving = new Set<{ readonly items: Set<Item>; readonly resolve: () => void }>()
  /** Told once for each turn in which something was added. Set by the delivery, which then decides what goes. */
  onTurn: () => void = () => {}
  #isTurnScheduled = false
  /** The place that was given out last before this turn. */
  #orderBefore = 0

  constructor(options: LineOptions) {
    this.#options = options
  }

  get store(): MessageStore {
    return this.#options.store
  }

  /** Events that count in the bound. */
  get size(): number {
    return this.#size
  }

  /** Their bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Takes the message of an event. Sending starts when the current turn of the event loop is over, so that the call stays
   * short.
   *
   * @param json The message. It is kept as bytes until the event has its outcome.
   * @param isDue It is sent without waiting for more.
   * @returns Whether there was room. With `drop-oldest`, older events make room.
   * @throws DeliveryError `too_large` when the message is over the limit.
   */
  add(item: Item, json: string, isDue: boolean): boolean {
    const { settings, store, spool } = this.#options
    requireSize(json, settings.maxMessageBytes)
    if (spool !== undefined && this.#spills(spool, json) && spool.spill(item, json)) return true
    const stored = store.put(json)
    if (!this.#makeRoom(stored.bytes)) {
      store.release(stored)
      return false
    }
    item.stored = stored
    try {
      this.ready.append(item)
    } catch (error) {
      // A stack overflow: what is stored counts as waiting.
      item.stored = undefined
      throw error
    }
    this.#size++
    this.#bytes += stored.bytes
    if (isDue) this.ready.makeAllDue()
    this.#scheduleTurn()
    return true
  }

  /** Takes an event back that was accepted before, and whose message is stored. It is due, and never refused. */
  admit(item: Item): void {
    this.ready.append(item)
    this.#size++
    this.#bytes += bytesOf(item.stored)
    this.ready.makeAllDue()
    this.#scheduleTurn()
  }

  /**
   * Takes the next events that wait, until one would not fit. They count until they leave.
   *
   * @param maxBytes Bound on the messages and the commas between them. The first event is taken whatever its size.
   * @param first Where to begin. Default: at the front.
   */
  take(maxBytes: number, maxItems: number, first: Item | undefined = this.ready.first): Item[] {
    const taken = this.ready.take(maxBytes, maxItems, first)
    this.#options.spool?.refill()
    return taken
  }

  /** Takes all that waits. */
  takeAll(): Item[] {
    return this.take(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
  }

  /** An event has its outcome, or goes back into plugins: its room is free. Its message stays until it is released. */
  leave(item: Item): void {
    const { state, stored } = item
    if (state === 'plugins') return this.leavePlugins(item)
    if (state === 'ready') this.ready.remove(item)
    else if (state !== 'sent') return
    item.state = 'new'
    this.discount(bytesOf(stored))
  }

  /** Frees the room of an event that another line has taken from this one. */
  discount(bytes: number): void {
    this.#size--
    this.#bytes -= bytes
    this.#options.spool?.refill()
  }

  /** Gives up the message of an event. */
  release(item: Item): void {
    if (item.stored !== undefined) this.#options.store.release(item.stored)
    item.stored = undefined
  }

  /** The events of this turn that wait. */
  get ofThisTurn(): Item[] {
    const found: Item[] = []
    for (let item = this.ready.last; item !== undefined; item = item.previous) {
      if (item.order <= this.#orderBefore) break
      found.push(item)
    }
    return found.reverse()
  }

  /** An event is inside asynchronous plugins. Ask {@link Line.hasRoom} first. */
  enterPlugins(item: Item, bytes: number): void {
    item.state = 'plugins'
    this.#inPlugins.set(item, bytes)
    this.#size++
    this.#bytes += bytes
    // It may have filled the line, with what waits in it.
    if (this.ready.length > 0) this.#scheduleTurn()
  }

  /** Does nothing for an event that is in none. */
  leavePlugins(item: Item): void {
    const bytes = this.#inPlugins.get(item)
    if (bytes === undefined) return
    this.#inPlugins.delete(item)
    item.state = 'new'
    this.discount(bytes)
    for (const one of this.#leaving) {
      one.items.delete(item)
      if (one.items.size > 0) continue
      this.#leaving.delete(one)
      // Where it goes next, it goes in this very turn.
      soon(one.resolve)
    }
  }

  /** Takes out all that are inside asynchronous plugins. */
  takeFromPlugins(): Item[] {
    const items = [...this.#inPlugins.keys()]
    for (const item of items) this.leavePlugins(item)
    return items
  }

  /** How many are inside asynchronous plugins. */
  get inPlugins(): number {
    return this.#inPlugins.size
  }

  /** Resolves when those that are inside plugins now have left them. */
  leftPlugins(): Promise<void> {
    if (this.#inPlugins.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#leaving.add({ items: new Set(this.#inPlugins.keys()), resolve }))
  }

  /** Whether one more event of `bytes` has room. With `drop-oldest`, older events make room for it. */
  hasRoom(bytes: number): boolean {
    if (this.#options.spool === undefined) return this.#makeRoom(bytes)
    // The spool takes what has left the plugins: only what cannot go there fills the memory.
    return this.#fitsBeside(bytes)
  }

  /** A message may come that has no room: waiting for more events gains nothing. */
  get isNearlyFull(): boolean {
    const { maxQueueSize, maxQueueBytes, maxMessageBytes } = this.#options.settings
    return this.#size >= maxQueueSize || this.#bytes + maxMessageBytes > maxQueueBytes
  }

  /** Nothing more will be taken, however small. */
  get isFull(): boolean {
    const { settings, spool } = this.#options
    const { overflow, maxQueueSize, maxQueueBytes } = settings
    if (overflow !== 'drop-newest' || spool !== undefined) return false
    return this.#size >= maxQueueSize || this.#bytes >= maxQueueBytes
  }

  /** There is no room for it, or others wait in the spool before it. */
  #spills(spool: SpoolConnection, json: string): boolean {
    return spool.length > 0 || !this.#fits(byteLength(json))
  }

  #scheduleTurn(): void {
    if (this.#isTurnScheduled) return
    // In this order: a stack overflow must not leave a turn that never ends.
    soon(this.#endTurn)
    this.#isTurnScheduled = true
  }

  readonly #endTurn = (): void => {
    this.#isTurnScheduled = false
    this.#orderBefore = this.ready.lastOrder
    this.onTurn()
  }

  #makeRoom(bytes: number): boolean {
    if (this.#fits(bytes)) return true
    if (this.#options.settings.overflow === 'drop-newest') return false
    // Only what waits can be displaced: where the rest leaves no room, displacing it would gain nothing.
    if (!this.#fitsBeside(bytes)) return false
    while (!this.#fits(bytes)) {
      const oldest = this.ready.first
      if (oldest === undefined) return false
      this.leave(oldest)
      this.#options.displace(oldest)
      this.release(oldest)
    }
    return true
  }

  #fits(bytes: number): boolean {
    const { maxQueueSize, maxQueueBytes } = this.#options.settings
    return this.#size < maxQueueSize && this.#bytes + bytes <= maxQueueBytes
  }

  /** Whether it would fit if nothing waited. */
  #fitsBeside(bytes: number): boolean {
    const { maxQueueSize, maxQueueBytes } = this.#options.settings
    const { length, bytes: waiting } = this.ready
    return this.#size - length < maxQueueSize && this.#bytes - waiting + bytes <= maxQueueBytes
  }
}
