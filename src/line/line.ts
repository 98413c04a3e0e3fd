import type { Item } from './item.ts'

export interface LineLimits {
  readonly maxQueueSize: number
  readonly maxQueueBytes: number
}

/**
 * The events of a client that are neither only in the spool nor about to get their outcome, in the order in which they joined:
 * first those that are ready to be sent, then those of the turn that has not ended. Also counts the events inside plugins, in
 * flight and in batches, so that its size is what the bounds of the queue limit.
 *
 * A linked list, so that any event can be removed in constant time.
 *
 * @see docs/spec.md, sections 5 and 6
 */
export class Line {
  /** All events that the bounds count, and the bytes of their messages. */
  size = 0
  bytes = 0
  /** The events that wait to be sent, without those of the turn. */
  readyLength = 0
  readyBytes = 0
  turnLength = 0
  turnBytes = 0
  /** The last place that was given. */
  lastOrder = 0
  /** Events up to this place have passed the end of their turn. */
  passedOrder = 0
  /** Events up to this place are due: they are sent without waiting for more events. */
  dueOrder = 0
  first: Item | undefined
  /** The first event of the turn. */
  turnFirst: Item | undefined
  #last: Item | undefined
  readonly #limits: LineLimits

  constructor(limits: LineLimits) {
    this.#limits = limits
  }

  get isDue(): boolean {
    return this.first !== undefined && this.first.order <= this.dueOrder
  }

  /** Adds an event to the turn. */
  join(item: Item, bytes: number): void {
    this.count(1, bytes)
    item.bytes = bytes
    this.rejoin(item)
  }

  /** Adds an event that is counted already, because it comes from its plugins. */
  rejoin(item: Item): void {
    item.state = 'line'
    item.order = ++this.lastOrder
    this.#link(item, this.#last, undefined)
    this.turnFirst ??= item
    this.turnLength++
    this.turnBytes += item.bytes
  }

  /** The first event of the turn has passed the end of the turn. */
  passFirst(): void {
    const item = this.turnFirst as Item
    this.turnFirst = item.next
    this.passedOrder = item.order
    this.turnLength--
    this.turnBytes -= item.bytes
    this.readyLength++
    this.readyBytes += item.bytes
  }

  /** All events of the turn have passed. */
  passAll(): void {
    this.turnFirst = undefined
    this.passedOrder = this.lastOrder
    this.readyLength += this.turnLength
    this.readyBytes += this.turnBytes
    this.turnLength = 0
    this.turnBytes = 0
  }

  /** Puts an event that has left its plugins within the end of the turn back before the rest of the turn. */
  putBack(item: Item): void {
    const next = this.turnFirst
    item.state = 'line'
    this.#link(item, next === undefined ? this.#last : next.previous, next)
    this.passedOrder = item.order
    this.readyLength++
    this.readyBytes += item.bytes
  }

  makeAllDue(): void {
    this.dueOrder = this.passedOrder
  }

  /**
   * Takes the next waiting events, as many as fit. They stay counted until they leave.
   *
   * @param maxBytes Includes the commas between the messages. The first event is always taken.
   * @param first Default: the oldest.
   */
  take(maxBytes: number, maxItems: number, first: Item | undefined = this.first): Item[] {
    const taken: Item[] = []
    let bytes = -1
    for (let item = first; item !== undefined && taken.length < maxItems; ) {
      bytes += item.bytes + 1
      if (item.order > this.passedOrder || (bytes > maxBytes && taken.length > 0)) break
      const { next }: Item = item
      this.remove(item)
      item.state = 'sent'
      taken.push(item)
      item = next
    }
    return taken
  }

  /** Puts taken events back into their places. `items` must be in the order of their places. They are due. */
  giveBack(items: readonly Item[]): void {
    let next = this.first
    for (const item of items) {
      while (next !== undefined && next.order < item.order) next = next.next
      item.state = 'line'
      this.#link(item, next === undefined ? this.#last : next.previous, next)
      this.readyLength++
      this.readyBytes += item.bytes
      if (item.order > this.dueOrder) this.dueOrder = item.order
    }
  }

  /** Takes one event out of the list; it stays counted. */
  remove(item: Item): void {
    const { previous, next } = item
    if (previous === undefined) this.first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    item.previous = undefined
    item.next = undefined
    if (item.order > this.passedOrder) {
      if (this.turnFirst === item) this.turnFirst = next
      this.turnLength--
      this.turnBytes -= item.bytes
    } else {
      this.readyLength--
      this.readyBytes -= item.bytes
    }
  }

  /** Frees the room of an event. Its message stays stored. */
  leave(item: Item): void {
    const { state } = item
    if (state === 'new' || state === 'done') return
    if (state === 'line') this.remove(item)
    item.state = 'new'
    this.count(-1, -item.bytes)
  }

  count(events: number, bytes: number): void {
    this.size += events
    this.bytes += bytes
  }

  /** The oldest waiting event among those that have failed least. */
  get freshest(): Item | undefined {
    let freshest = this.#passed(this.first)
    for (let item = freshest; item !== undefined; item = this.#passed(item.next)) {
      if ((freshest as Item).failures === 0) break
      if (item.failures < (freshest as Item).failures) freshest = item
    }
    return freshest
  }

  /** The waiting events for which `isMeant` returns `true`, up to this place. */
  find(upTo: number, isMeant: (item: Item) => boolean): Item[] {
    const found: Item[] = []
    for (let item = this.first; item !== undefined && item.order <= upTo; item = item.next) {
      if (isMeant(item)) found.push(item)
    }
    return found
  }

  get isFull(): boolean {
    return this.size >= this.#limits.maxQueueSize || this.bytes >= this.#limits.maxQueueBytes
  }

  /** Whether there is room for one more event of this size. */
  hasRoom(bytes: number): boolean {
    const { maxQueueSize, maxQueueBytes } = this.#limits
    return this.size < maxQueueSize && this.bytes + bytes <= maxQueueBytes
  }

  /** Whether there would be room if no event waited in the list. */
  couldHaveRoom(bytes: number): boolean {
    const { maxQueueSize, maxQueueBytes } = this.#limits
    const [length, listed] = [this.readyLength + this.turnLength, this.readyBytes + this.turnBytes]
    return this.size - length < maxQueueSize && this.bytes - listed + bytes <= maxQueueBytes
  }

  #passed(item: Item | undefined): Item | undefined {
    return item !== undefined && item.order <= this.passedOrder ? item : undefined
  }

  #link(item: Item, previous: Item | undefined, next: Item | undefined): void {
    item.previous = previous
    item.next = next
    if (previous === undefined) this.first = item
    else previous.next = item
    if (next === undefined) this.#last = item
    else next.previous = item
  }
}
