import type { Item } from './item.ts'
import { bytesOf } from './store.ts'

/**
 * Events that wait to be sent, in the order in which they became ready. A linked list, so that leaving costs the same
 * wherever an event stands, and one that is sent again goes back to its place.
 */
export class ReadyList {
  #first: Item | undefined
  #last: Item | undefined
  #length = 0
  #bytes = 0
  /** Places given out so far, and up to which of them events are sent without waiting for more. */
  #lastOrder = 0
  #dueOrder = 0

  get length(): number {
    return this.#length
  }

  /** The bytes of all messages together. */
  get bytes(): number {
    return this.#bytes
  }

  get first(): Item | undefined {
    return this.#first
  }

  get last(): Item | undefined {
    return this.#last
  }

  /** The place that was given out last. */
  get lastOrder(): number {
    return this.#lastOrder
  }

  /** Up to which place events are due. */
  get dueOrder(): number {
    return this.#dueOrder
  }

  /** Whether something is to be sent without waiting for more. */
  get isDue(): boolean {
    return this.#first !== undefined && this.#first.order <= this.#dueOrder
  }

  /** From now on, all that waits is to be sent without waiting for more. */
  makeAllDue(): void {
    this.#dueOrder = this.#lastOrder
  }

  /** Adds an event whose message is stored. */
  append(item: Item): void {
    item.order = ++this.#lastOrder
    this.#insert(item, undefined)
  }

  remove(item: Item): void {
    const { previous, next } = item
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    item.previous = undefined
    item.next = undefined
    this.#length--
    this.#bytes -= bytesOf(item.stored)
  }

  /**
   * Takes events in their order until the next one would not fit.
   *
   * @param maxBytes Bound on the messages and the commas between them. The first event is taken whatever its size.
   * @param first Where to begin.
   */
  take(maxBytes: number, maxItems: number, first: Item | undefined): Item[] {
    const taken: Item[] = []
    let bytes = -1
    let item = first
    while (item !== undefined && taken.length < maxItems) {
      bytes += bytesOf(item.stored) + 1
      if (bytes > maxBytes && taken.length > 0) break
      const { next }: Item = item
      this.remove(item)
      item.state = 'sent'
      taken.push(item)
      item = next
    }
    return taken
  }

  /** Puts events that were taken back into their places. They are in their order, and due. */
  giveBack(items: readonly Item[]): void {
    let before = this.#first
    for (const item of items) {
      while (before !== undefined && before.order < item.order) before = before.next
      this.#insert(item, before)
    }
    const last = items[items.length - 1]
    if (last !== undefined && last.order > this.#dueOrder) this.#dueOrder = last.order
  }

  /** The first of the events that are due and that the fewest requests have carried. */
  get freshest(): Item | undefined {
    let freshest = this.#first
    for (let item = freshest; item !== undefined && (freshest as Item).attempts > 0; item = item.next) {
      if (item.order > this.#dueOrder) break
      if (item.attempts < (freshest as Item).attempts) freshest = item
    }
    return freshest
  }

  /** The events up to this place for which `isMeant` holds. */
  find(upTo: number, isMeant: (item: Item) => boolean): Item[] {
    const found: Item[] = []
    for (let item = this.#first; item !== undefined && item.order <= upTo; item = item.next) {
      if (isMeant(item)) found.push(item)
    }
    return found
  }

  #insert(item: Item, next: Item | undefined): void {
    const previous = next === undefined ? this.#last : next.previous
    item.previous = previous
    item.next = next
    if (previous === undefined) this.#first = item
    else previous.next = item
    if (next === undefined) this.#last = item
    else next.previous = item
    item.state = 'ready'
    this.#length++
    this.#bytes += bytesOf(item.stored)
  }
}
