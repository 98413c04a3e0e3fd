import type { DeliveryError, FailureCode } from '../errors/errors.ts'
import type { Item } from '../line/item.ts'

/** State that all parts of one range share. */
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
  /** The immediate, uncounted retry after a lost connection was used. */
  isFreeRetryUsed = false
  /** The credentials were renewed for it. */
  isRenewed = false
  /** Makes the error for the last response. */
  failure: ((code: FailureCode) => DeliveryError) | undefined
  /** The part that is sent after this one. */
  next: Range | undefined
  /** Which half of a refused range it is, while both are being tried. */
  half: 'first' | 'second' | undefined
  /** This part and the one before it in the chain are the two halves of a refused part. */
  isSecondOfPair = false
  /** It holds a bad event: the part itself was refused (`sent`), or the other half was accepted (`inferred`). */
  knownBad: 'sent' | 'inferred' | undefined
  /** It is sent again as a whole, not together with other events. */
  isPart = false

  constructor(
    /** Its events; none once they have their outcome or went back into the line, and in a probe that has none. */
    public items: readonly Item[],
    readonly origin: Origin = { addedRequests: 0, firstHalfRefusal: undefined, bytesBefore413: undefined },
  ) {}

  /** Its place in the line: that of its first event. */
  get order(): number {
    return this.items[0]?.order ?? 0
  }

  /** The most attempts of any of its events. */
  get attempts(): number {
    return this.items.reduce((most, item) => Math.max(most, item.attempts), 0)
  }

  /** Bytes of the messages and the commas between them. */
  get bytes(): number {
    return this.items.reduce((bytes, item) => bytes + item.bytes, this.items.length - 1)
  }

  /** Removes and returns the events for which `isMeant` holds. */
  drop(isMeant: (item: Item) => boolean): Item[] {
    const dropped = this.items.filter(isMeant)
    this.items = this.items.filter((item) => !isMeant(item))
    return dropped
  }

  /** How many events, from the first one on, fit into `maxBytes`; at least one. */
  countWithin(maxBytes: number): number {
    let bytes = -1
    let count = 0
    for (const item of this.items) {
      bytes += item.bytes + 1
      if (bytes > maxBytes) break
      count++
    }
    return Math.max(1, count)
  }

  /**
   * Replaces it in the chain by two parts, and returns the first.
   *
   * @param middle How many events the first part has. Default: half of them.
   */
  split(middle: number = this.items.length >> 1): Range {
    const [first, second] = [this.#part(0, middle), this.#part(middle, this.items.length)]
    first.next = second
    second.next = this.next
    // The part after the two is no longer the second half of a pair.
    if (this.next !== undefined) this.next.isSecondOfPair = false
    return first
  }

  /** Removes and returns all events of this part and of the parts after it. */
  takeAll(): Item[] {
    const items: Item[] = []
    for (let part: Range | undefined = this; part !== undefined; part = part.next) {
      items.push(...part.items)
      part.items = []
    }
    return items
  }

  /** Removes and returns its events. */
  take(): readonly Item[] {
    const items = this.items
    this.items = []
    return items
  }

  #part(start: number, end: number): Range {
    const part = new Range(this.items.slice(start, end), this.origin)
    part.isPart = true
    part.isFreeRetryUsed = this.isFreeRetryUsed
    part.isRenewed = this.isRenewed
    part.failure = this.failure
    return part
  }
}

/** Ranges that are sent again as a whole, including parts of halved ranges, in the order of their events. */
export class Resends {
  /** The oldest first. */
  readonly ranges: Range[] = []

  /** Adds a range, or the first part of a chain, in its place. Does nothing when it is already there. */
  add(range: Range): void {
    let index = this.ranges.length
    while (index > 0 && (this.ranges[index - 1] as Range).order >= range.order) index--
    if (this.ranges[index] !== range) this.ranges.splice(index, 0, range)
  }

  /** Removes and returns the oldest. Call only when there is one. */
  take(): Range {
    return this.ranges.shift() as Range
  }

  takeAll(): Range[] {
    return this.ranges.splice(0)
  }

  /** Removes and returns the events for which `isMeant` holds. Empty parts are removed too. */
  drop(isMeant: (item: Item) => boolean): Item[] {
    const dropped: Item[] = []
    for (const first of this.takeAll()) {
      let head: Range | undefined
      let last: Range | undefined
      for (let part: Range | undefined = first; part !== undefined; part = part.next) {
        dropped.push(...part.drop(isMeant))
        if (part.items.length === 0) continue
        if (last === undefined) head = part
        else last.next = part
        last = part
      }
      if (last !== undefined) last.next = undefined
      if (head !== undefined) this.ranges.push(head)
    }
    return dropped
  }
}

/** Counts the events of these chains and the bytes of their messages. */
export function countWaiting(firsts: Iterable<Range | undefined>): { count: number; bytes: number } {
  let [count, bytes] = [0, 0]
  for (const first of firsts) {
    for (let part = first; part !== undefined; part = part.next) {
      count += part.items.length
      // Without the commas between them.
      bytes += part.bytes - part.items.length + 1
    }
  }
  return { count, bytes }
}

/** Successes after which the bound grows once. */
const SUCCESSES_TO_GROW = 20
/** The bound grows by this share of itself. */
const GROWTH = 0.1

/**
 * Bound on the messages of one request, learnt from 413 responses. A 413 may come from a proxy that is replaced the next day,
 * so the bound grows back.
 *
 * @see docs/spec.md, section 8
 */
export class BodyLimit {
  /** UTF-8 bytes of the messages and the commas between them. */
  bytes: number
  /** The bound before any 413. */
  readonly maxBytes: number
  #successes = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
    this.bytes = maxBytes
  }

  /** A request with this many bytes of messages was too large: later ones hold half of that. */
  shrink(refusedBytes: number): void {
    this.bytes = Math.min(this.bytes, Math.floor(refusedBytes / 2))
    this.#successes = 0
  }

  /** The refusal was the fault of one event: restores the bound from before. */
  restore(bytes: number): void {
    this.bytes = Math.max(this.bytes, bytes)
  }

  /** A request was accepted. */
  succeed(): void {
    if (++this.#successes < SUCCESSES_TO_GROW) return
    this.#successes = 0
    this.bytes = Math.min(this.maxBytes, this.bytes + Math.ceil(this.bytes * GROWTH))
  }
}
