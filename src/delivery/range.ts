import type { DeliveryError, FailureCode } from '../errors/errors.ts'
import type { Item } from '../line/item.ts'

/** State that all parts of one split range share. */
export interface Origin {
  /** Additional requests that were made because the service refused the range or a part of it (400, 422). */
  addedRequests: number
  /** The text of the response that refused the first half. */
  firstHalfRefusal: string | undefined
  /** The body limit before the first 413 for this range. */
  bytesBefore413: number | undefined
}

/**
 * The events of one request. When a range is split, its parts form a chain in the order of the events, and one part is sent at
 * a time.
 */
export class Range {
  /** Whether the immediate, uncounted retry after a lost connection was used. */
  isFreeRetryUsed = false
  /** Whether the access token was already renewed for this range. */
  isRenewed = false
  /** Makes the error for the last failed attempt. */
  failure: ((code: FailureCode) => DeliveryError) | undefined
  next: Range | undefined
  /** Which of the first two halves of a refused range this part is. */
  half: 'first' | 'second' | undefined
  /** Whether this part and the previous part in the chain are the two halves of a refused part. */
  isSecondOfPair = false
  /**
   * Set when this part contains a bad event: the part itself was refused (`sent`), or the other half was accepted (`inferred`).
   */
  knownBad: 'sent' | 'inferred' | undefined
  /** Whether this is a part of a split range: it is sent again as a whole, not together with other events. */
  isPart = false

  constructor(
    /** The events. Empty in a probe without events, and once the events have their outcome or are back in the line. */
    public items: readonly Item[],
    readonly origin: Origin = { addedRequests: 0, firstHalfRefusal: undefined, bytesBefore413: undefined },
  ) {}

  /** The place of the first event in the line. */
  get order(): number {
    return this.items[0]?.order ?? 0
  }

  get attempts(): number {
    return this.items.reduce((most, item) => Math.max(most, item.attempts), 0)
  }

  /** Bytes of the messages, including the commas between them. */
  get bytes(): number {
    return this.items.reduce((bytes, item) => bytes + item.bytes, this.items.length - 1)
  }

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
   * Replaces this range in the chain by two parts, and returns the first part.
   *
   * @param middle How many events the first part has.
   */
  split(middle: number = this.items.length >> 1): Range {
    const [first, second] = [this.#part(0, middle), this.#part(middle, this.items.length)]
    first.next = second
    second.next = this.next
    // The part after the two new parts is no longer the second half of a pair.
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

/** The ranges that are sent again as a whole, in the order of their events. A chain is represented by its first part. */
export class Resends {
  readonly ranges: Range[] = []

  /** Does nothing if the range was already added. */
  add(range: Range): void {
    let index = this.ranges.length
    while (index > 0 && (this.ranges[index - 1] as Range).order >= range.order) index--
    if (this.ranges[index] !== range) this.ranges.splice(index, 0, range)
  }

  /** Takes the oldest range. Must not be called when there is none. */
  take(): Range {
    return this.ranges.shift() as Range
  }

  takeAll(): Range[] {
    return this.ranges.splice(0)
  }

  /** Removes and returns the events for which `isMeant` returns `true`. Empty parts are removed too. */
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

/** @param firsts The first parts of chains. */
export function countWaiting(firsts: Iterable<Range | undefined>): { count: number; bytes: number } {
  let [count, bytes] = [0, 0]
  for (const first of firsts) {
    for (let part = first; part !== undefined; part = part.next) {
      count += part.items.length
      // Without the commas between the messages.
      bytes += part.bytes - part.items.length + 1
    }
  }
  return { count, bytes }
}

const SUCCESSES_TO_GROW = 20
/** As a fraction of the limit. */
const GROWTH = 0.1

/**
 * The greatest size of the messages of one request, learnt from 413 responses. It grows back after successes, because a 413 may
 * come from a proxy whose limit is raised later.
 *
 * @see docs/spec.md, section 8
 */
export class BodyLimit {
  /** Includes the commas between the messages. */
  bytes: number
  /** The limit before the first 413. */
  readonly maxBytes: number
  #successes = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
    this.bytes = maxBytes
  }

  shrink(refusedBytes: number): void {
    this.bytes = Math.min(this.bytes, Math.floor(refusedBytes / 2))
    this.#successes = 0
  }

  /** A single large event was the cause of the 413: restores the limit from before. */
  restore(bytes: number): void {
    this.bytes = Math.max(this.bytes, bytes)
  }

  succeed(): void {
    if (++this.#successes < SUCCESSES_TO_GROW) return
    this.#successes = 0
    this.bytes = Math.min(this.maxBytes, this.bytes + Math.ceil(this.bytes * GROWTH))
  }
}
