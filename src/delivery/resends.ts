import type { Item } from '../line/item.ts'
import type { Range } from './range.ts'

/** Ranges that are sent again as they are, parts of halved ones among them, in the order of their events. */
export class Resends {
  readonly #ranges: Range[] = []

  get length(): number {
    return this.#ranges.length
  }

  /** The oldest one. */
  get first(): Range | undefined {
    return this.#ranges[0]
  }

  /** Events of all of them, parts that come later included, and the bytes of their messages. */
  get waiting(): { readonly count: number; readonly bytes: number } {
    return countWaiting(this.#ranges)
  }

  /** Adds a range, or the first part of a chain, in its place. Does nothing when it is there. */
  add(range: Range): void {
    let index = this.#ranges.length
    while (index > 0 && (this.#ranges[index - 1] as Range).order >= range.order) index--
    if (this.#ranges[index] !== range) this.#ranges.splice(index, 0, range)
  }

  take(range: Range): Range {
    const index = this.#ranges.indexOf(range)
    if (index >= 0) this.#ranges.splice(index, 1)
    return range
  }

  takeAll(): Range[] {
    return this.#ranges.splice(0)
  }

  /** Takes out the events for which `isMeant` holds; parts that are left without any are gone. */
  drop(isMeant: (item: Item) => boolean): Item[] {
    const dropped: Item[] = []
    for (const first of this.takeAll()) {
      let head: Range | undefined
      let last: Range | undefined
      for (let part: Range | undefined = first; part !== undefined; part = part.next) {
        dropped.push(...part.drop(isMeant))
        if (part.isEmpty) continue
        if (last === undefined) head = part
        else last.next = part
        last = part
      }
      if (last !== undefined) last.next = undefined
      if (head !== undefined) this.#ranges.push(head)
    }
    return dropped
  }
}

/** Events of these chains, and the bytes of their messages. */
export function countWaiting(firsts: Iterable<Range | undefined>): { count: number; bytes: number } {
  let [count, bytes] = [0, 0]
  for (const first of firsts) {
    for (let part = first; part !== undefined; part = part.next) {
      count += part.length
      // Without the commas between them.
      bytes += part.bytes - part.length + 1
    }
  }
  return { count, bytes }
}
