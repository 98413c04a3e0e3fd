import type { Item } from './item.ts'

const NEVER = Number.POSITIVE_INFINITY

/**
 * The events that wait to be sent, in the order of their places. An event that is due goes out without waiting for more
 * events.
 */
export class Line {
  #items: Item[] = []
  /** Before this index, items have been taken: moving 100,000 items for each request would be slow. */
  #head = 0
  #lastPlace = 0
  /** Events up to this place were made due. One that came back may be due behind it. */
  #duePlace = 0
  /** Bytes of the waiting messages. */
  bytes = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  get isDue(): boolean {
    return (this.#items[this.#head]?.dueMs ?? NEVER) < NEVER
  }

  /** Whether all events that wait are due. */
  get isAllDue(): boolean {
    return this.#lastPlace === this.#duePlace
  }

  all(): Item[] {
    return this.#items.slice(this.#head)
  }

  join(item: Item): void {
    item.place = ++this.#lastPlace
    this.bytes += item.bytes
    this.#items.push(item)
  }

  makeDue(nowMs: number): void {
    for (let index = this.#items.length - 1; index >= this.#head; index--) {
      const item = this.#items[index] as Item
      if (item.place <= this.#duePlace) break
      if (item.dueMs > nowMs) item.dueMs = nowMs
    }
    this.#duePlace = this.#lastPlace
  }

  /**
   * Takes the next events, as many as fit, at least one.
   *
   * @param maxBytes Includes the commas between the messages.
   */
  take(maxEvents: number, maxBytes: number): Item[] {
    const items = this.#items
    const most = Math.min(items.length, this.#head + maxEvents)
    let index = this.#head
    let bytes = 0
    for (; index < most; index++) {
      const more = bytes + (items[index] as Item).bytes + 1
      if (more > maxBytes && index > this.#head) break
      bytes = more
    }
    const taken = items.slice(this.#head, index)
    this.bytes -= bytes - taken.length
    this.#head = index
    if (index * 2 > items.length) {
      this.#items = items.slice(index)
      this.#head = 0
    }
    return taken
  }

  /** Takes the newest event of those that have failed least: after a hundred bad events, it is one that came later. */
  takeFreshest(): Item | undefined {
    const items = this.#items
    let best = items.length - 1
    for (let index = best; index >= this.#head && (items[best] as Item).failures > 0; index--) {
      if ((items[index] as Item).failures < (items[best] as Item).failures) best = index
    }
    if (best < this.#head) return undefined
    const [item] = items.splice(best, 1) as [Item]
    this.bytes -= item.bytes
    return item
  }

  /** Puts events back into their places. */
  putBack(items: readonly Item[]): void {
    for (const { bytes } of items) this.bytes += bytes
    this.#set([...items, ...this.#items.slice(this.#head)].sort((one, other) => one.place - other.place))
  }

  /** Takes the events for which `isMeant` returns `true`. */
  extract(isMeant: (item: Item) => boolean): Item[] {
    const taken: Item[] = []
    const kept: Item[] = []
    for (let index = this.#head; index < this.#items.length; index++) {
      const item = this.#items[index] as Item
      if (isMeant(item)) taken.push(item)
      else kept.push(item)
    }
    if (taken.length > 0) this.#set(kept)
    for (const { bytes } of taken) this.bytes -= bytes
    return taken
  }

  #set(items: Item[]): void {
    this.#items = items
    this.#head = 0
  }
}
