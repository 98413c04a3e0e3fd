import type { Holder, StoredMessage } from './store.ts'

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
