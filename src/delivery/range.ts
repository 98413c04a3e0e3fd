import type { DeliveryError, FailureCode } from '../errors/errors.ts'
import type { Item } from '../line/item.ts'

/** What the parts of one range share, however often it is halved. */
export interface Origin {
  /** Requests that were added because the service refused the range or a part of it (400, 422). */
  addedRequests: number
  /** How the service refused the first half. */
  firstHalfRefusal: string | undefined
  /** The bound on the bytes of a request before the first 413 for this range. */
  bytesBefore413: number | undefined
}

/**
 * The events of one request. When it is halved, its parts form a chain that keeps the order of the events: one part is sent
 * at a time.
 */
export class Range {
  /** The retry at once after a lost connection was used. */
  isFreeRetryUsed = false
  /** The credentials were renewed for it. */
  isRenewed = false
  /** Makes the error that the last response stands for. */
  failure: ((code: FailureCode) => DeliveryError) | undefined
  /** The part that is sent after this one. */
  next: Range | undefined
  /** Which half it is of a range that was refused, while both are being tried. */
  half: 'first' | 'second' | undefined
  /** The part before it in the chain and this one are the halves of a part that was refused. */
  isSecondOfPair = false
  /** One of its events is refused: the part was (`sent`), or it is the other half that was taken (`inferred`). */
  knownBad: 'sent' | 'inferred' | undefined
  /** It is sent as it is, and not together with other events. */
  isPart = false
  #items: readonly Item[]

  constructor(
    items: readonly Item[],
    readonly origin: Origin = { addedRequests: 0, firstHalfRefusal: undefined, bytesBefore413: undefined },
  ) {
    this.#items = items
  }

  get items(): readonly Item[] {
    return this.#items
  }

  get length(): number {
    return this.#items.length
  }

  /** Its place: that of its first event. */
  get order(): number {
    return this.#items[0]?.order ?? 0
  }

  /** Requests that have carried one of its events. */
  get attempts(): number {
    let most = 0
    for (const { attempts } of this.#items) if (attempts > most) most = attempts
    return most
  }

  /** Its events have their outcome, or went back into the line. */
  get isEmpty(): boolean {
    return this.#items.length === 0
  }

  /** The messages and the commas between them. */
  get bytes(): number {
    let bytes = this.#items.length - 1
    for (const item of this.#items) bytes += item.bytes
    return bytes
  }

  /** The events for which `isMeant` holds are no longer part of it. */
  drop(isMeant: (item: Item) => boolean): Item[] {
    const dropped = this.#items.filter(isMeant)
    if (dropped.length > 0) this.#items = this.#items.filter((item) => !isMeant(item))
    return dropped
  }

  /** How many events from the first one on have room in `maxBytes`; one at least. */
  countWithin(maxBytes: number): number {
    let bytes = -1
    let count = 0
    for (const item of this.#items) {
      bytes += item.bytes + 1
      if (bytes > maxBytes) break
      count++
    }
    return Math.max(1, count)
  }

  /**
   * Two parts in its place in the chain.
   *
   * @param middle How many events the first part has. Default: half of them.
   */
  split(middle: number = this.length >> 1): Range {
    const [first, second] = [this.#part(0, middle), this.#part(middle, this.length)]
    first.next = second
    second.next = this.next
    // What comes after is no longer the other half of what goes before it.
    if (this.next !== undefined) this.next.isSecondOfPair = false
    return first
  }

  /** All events of this part and of those after it, which are no longer part of them. */
  takeAll(): Item[] {
    const items: Item[] = []
    for (let part: Range | undefined = this; part !== undefined; part = part.next) {
      items.push(...part.#items)
      part.#items = []
    }
    return items
  }

  /** Its events, which are no longer part of it. */
  take(): readonly Item[] {
    const items = this.#items
    this.#items = []
    return items
  }

  #part(start: number, end: number): Range {
    const part = new Range(this.#items.slice(start, end), this.origin)
    part.isPart = true
    part.isFreeRetryUsed = this.isFreeRetryUsed
    part.isRenewed = this.isRenewed
    part.failure = this.failure
    return part
  }
}
