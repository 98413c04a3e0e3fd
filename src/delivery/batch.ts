import type { DeliveryError, FailureCode } from '../errors/errors.ts'
import type { Holder, StoredMessage } from './store.ts'

/** What the parts of one batch share, however often it is halved. */
export interface Origin {
  /** Batches are numbered in the order in which they were cut. */
  readonly sequence: number
  /** Requests that were added because the service refused the batch or a part of it (400, 422). */
  addedRequests: number
  /** How the service refused the first half. */
  firstHalfRefusal: string | undefined
  /** The bound on the bytes of a request before the first 413 for this batch. */
  bytesBefore413: number | undefined
}

/**
 * The events of one request, from its first attempt to its outcome. When it is halved, its parts form a chain that keeps
 * the order of the events: one part is sent at a time, and the chain holds one place among the open batches.
 */
export class Batch<Entry extends Holder> {
  /** Requests made, uncounted retries included. */
  attempts = 0
  /** Counted retries. */
  retries = 0
  /** The retry at once after a lost connection was used. */
  isFreeRetryUsed = false
  /** How many requests the service had accepted when the credentials were last renewed for this batch. */
  renewedAt: number | undefined
  isSettled = false
  /** Makes the error that the last response stands for. */
  failure: ((code: FailureCode) => DeliveryError) | undefined
  /** The monotonic moments at which a batch that keeps failing, or keeps being told to wait, is given up. */
  backoffUntilMs: number | undefined
  limitedUntilMs: number | undefined
  /** The part that is sent after this one. */
  next: Batch<Entry> | undefined
  /** Which half it is of a batch that was refused, while both are being tried. */
  half: 'first' | 'second' | undefined
  /** The batch before it in the chain and this one are the halves of a part that was refused. */
  isSecondOfPair = false
  /** One of its events is refused: the part was (`sent`), or it is the other half that was taken (`inferred`). */
  knownBad: 'sent' | 'inferred' | undefined
  #entries: readonly Entry[]

  constructor(
    entries: readonly Entry[],
    readonly origin: Origin,
  ) {
    this.#entries = entries
  }

  get entries(): readonly Entry[] {
    return this.#entries
  }

  get length(): number {
    return this.#entries.length
  }

  /** When its time is over: the first failure, and the first wait, start a clock that later ones do not reset. */
  get expiresAtMs(): number {
    return Math.min(
      this.backoffUntilMs ?? Number.POSITIVE_INFINITY,
      this.limitedUntilMs ?? Number.POSITIVE_INFINITY,
    )
  }

  /** The messages and the commas between them. */
  get bytes(): number {
    return totalBytes(this.#entries)
  }

  /** How many events from the first one on have room in `maxBytes`; one at least. */
  countWithin(maxBytes: number): number {
    let bytes = -1
    let count = 0
    for (const { stored } of this.#entries) {
      bytes += bytesOf(stored) + 1
      if (bytes > maxBytes) break
      count++
    }
    return Math.max(1, count)
  }

  /**
   * Two parts in its place in the chain: each with the attempts, retries and deadlines of the whole.
   *
   * @param middle How many events the first part has. Default: half of them.
   */
  split(middle: number = this.length >> 1): Batch<Entry> {
    const [first, second] = [this.#part(0, middle), this.#part(middle, this.length)]
    first.next = second
    second.next = this.next
    // What comes after is no longer the other half of what goes before it.
    if (this.next !== undefined) this.next.isSecondOfPair = false
    return first
  }

  /** Marks it as settled, and keeps nothing of it. */
  settle(): readonly Entry[] {
    const entries = this.#entries
    this.isSettled = true
    this.failure = undefined
    this.next = undefined
    this.#entries = []
    return entries
  }

  #part(start: number, end: number): Batch<Entry> {
    const part = new Batch(this.#entries.slice(start, end), this.origin)
    part.attempts = this.attempts
    part.retries = this.retries
    part.isFreeRetryUsed = this.isFreeRetryUsed
    part.renewedAt = this.renewedAt
    part.failure = this.failure
    part.backoffUntilMs = this.backoffUntilMs
    part.limitedUntilMs = this.limitedUntilMs
    return part
  }
}

/** @param sequence Its number among all batches of the client. */
export function createBatch<Entry extends Holder>(entries: readonly Entry[], sequence: number): Batch<Entry> {
  return new Batch(entries, {
    sequence,
    addedRequests: 0,
    firstHalfRefusal: undefined,
    bytesBefore413: undefined,
  })
}

/** Bytes of the messages and the commas between them. */
export function totalBytes(holders: readonly Holder[]): number {
  let total = -1
  for (const { stored } of holders) total += bytesOf(stored) + 1
  return total
}

/** The bytes of a message; 0 when there is none. */
function bytesOf(stored: StoredMessage | undefined): number {
  return stored === undefined ? 0 : stored.bytes
}

/** Successes that it takes to let the bound grow once. */
const SUCCESSES_TO_GROW = 20
/** By this share of itself. */
const GROWTH = 0.1

/**
 * Bound on the messages of one request, as far as the service's 413s have shown. A 413 may come from a proxy that is
 * replaced the next day, so the bound grows back.
 *
 * @see docs/spec.md, section 8
 */
export class BodyLimit {
  readonly #maxBytes: number
  #bytes: number
  #successes = 0

  /** @param maxBytes What a request may hold when no 413 says otherwise. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
    this.#bytes = maxBytes
  }

  /** UTF-8 bytes of the messages and the commas between them. */
  get bytes(): number {
    return this.#bytes
  }

  /** A request with this many bytes of messages was too large: later ones hold half of that. */
  shrink(refusedBytes: number): void {
    this.#bytes = Math.min(this.#bytes, Math.floor(refusedBytes / 2))
    this.#successes = 0
  }

  /** The refusal was one event's fault: the bound returns to what it was before. */
  restore(bytes: number): void {
    this.#bytes = Math.max(this.#bytes, bytes)
  }

  /** A request was accepted. */
  succeed(): void {
    if (this.#bytes === this.#maxBytes || ++this.#successes < SUCCESSES_TO_GROW) return
    this.#successes = 0
    this.#bytes = Math.min(this.#maxBytes, this.#bytes + Math.ceil(this.#bytes * GROWTH))
  }
}
