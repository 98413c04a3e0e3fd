import type { Batch } from './batch.ts'
import type { Holder } from './store.ts'

/** How many requests one batch may cost more because the service refused it or parts of it. */
export const MAX_ADDED_REQUESTS = 24

/** What to do about a batch that was refused. */
export interface Refusal<Entry extends Holder> {
  /** These fail: the event that was refused alone, or all that there are. */
  readonly failed: readonly Batch<Entry>[]
  /** This part is sent next. */
  readonly next: Batch<Entry> | undefined
}

/**
 * One bad event must not cost its neighbours: halves what was refused, until the bad one stands alone.
 *
 * The first two halves are sent one right after the other. When both are refused with the same text, no event is at
 * fault, and all fail. From then on the parts go in the order of their events.
 *
 * @param text What the service said.
 * @see docs/spec.md, section 8
 */
export function refuse<Entry extends Holder>(batch: Batch<Entry>, text: string): Refusal<Entry> {
  const { origin, next } = batch
  if (batch.half === 'first') origin.firstHalfRefusal = text
  const isWaitingFirst = next?.half === 'first' && next.knownBad === 'sent'
  if (batch.half === 'second' && origin.firstHalfRefusal === text) {
    return isWaitingFirst ? { failed: [batch, next], next: next.next } : { failed: [batch], next }
  }
  if (batch.length === 1) return { failed: [batch], next }
  batch.knownBad = 'sent'
  if (batch.half === 'first' && next?.half === 'second') return { failed: [], next: swap(batch, next) }
  if (batch.half === 'second' && isWaitingFirst) return proceed(swap(batch, next))
  return proceed(batch)
}

/**
 * The part that is sent next: a part that is known to hold a bad event is halved first, without being sent.
 *
 * @param batch The start of a chain.
 */
export function proceed<Entry extends Holder>(batch: Batch<Entry> | undefined): Refusal<Entry> {
  const failed: Batch<Entry>[] = []
  let next = batch
  while (next?.knownBad !== undefined && next.length > 1) {
    const halved = halve(next)
    if (halved !== undefined) return { failed, next: halved }
    // No request is left to look for the bad event. What was not sent since may still be sent as a whole.
    if (next.knownBad === 'inferred') break
    failed.push(next)
    next = next.next
  }
  return { failed, next }
}

/**
 * A part of the chain was delivered: when it was one half of what was refused, the bad event is in the other.
 *
 * @param next What comes after that part.
 */
export function inferFromDelivery<Entry extends Holder>(next: Batch<Entry>): void {
  if (next.isSecondOfPair) next.knownBad ??= 'inferred'
}

function halve<Entry extends Holder>(batch: Batch<Entry>): Batch<Entry> | undefined {
  const { origin } = batch
  // A part that was not sent has its own request to spare.
  const cost = batch.knownBad === 'sent' ? 2 : 1
  if (origin.addedRequests + cost > MAX_ADDED_REQUESTS) return undefined
  const isFirst = origin.addedRequests === 0
  origin.addedRequests += cost
  const first = batch.split()
  const second = first.next as Batch<Entry>
  second.isSecondOfPair = true
  if (isFirst) {
    first.half = 'first'
    second.half = 'second'
  }
  return first
}

/** Puts the second of two before the first. */
function swap<Entry extends Holder>(first: Batch<Entry>, second: Batch<Entry>): Batch<Entry> {
  first.next = second.next
  second.next = first
  first.isSecondOfPair = false
  second.isSecondOfPair = false
  return second
}
