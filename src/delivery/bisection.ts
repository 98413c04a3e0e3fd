import type { Range } from './range.ts'

/** How many requests one range may cost more because the service refused it or parts of it. */
export const MAX_ADDED_REQUESTS = 24

/** The decision about a range that was refused. */
export interface Refusal {
  /** These fail: the event that was refused alone, or all that there are. */
  readonly failed: readonly Range[]
  /** This part is sent next. */
  readonly next: Range | undefined
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
export function refuse(range: Range, text: string): Refusal {
  const { origin, next } = range
  if (range.half === 'first') origin.firstHalfRefusal = text
  const isWaitingFirst = next?.half === 'first' && next.knownBad === 'sent'
  if (range.half === 'second' && origin.firstHalfRefusal === text) {
    return isWaitingFirst ? { failed: [range, next], next: next.next } : { failed: [range], next }
  }
  if (range.items.length === 1) return { failed: [range], next }
  range.knownBad = 'sent'
  if (range.half === 'first' && next?.half === 'second') return { failed: [], next: swap(range, next) }
  if (range.half === 'second' && isWaitingFirst) return proceed(swap(range, next))
  return proceed(range)
}

/**
 * The part that is sent next: a part that is known to hold a bad event is halved first, without being sent.
 *
 * @param range The start of a chain.
 */
export function proceed(range: Range | undefined): Refusal {
  const failed: Range[] = []
  let next = range
  while (next?.knownBad !== undefined && next.items.length > 1) {
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
export function inferFromDelivery(next: Range): void {
  if (next.isSecondOfPair) next.knownBad ??= 'inferred'
}

function halve(range: Range): Range | undefined {
  const { origin } = range
  // A part that was not sent has its own request to spare.
  const cost = range.knownBad === 'sent' ? 2 : 1
  if (origin.addedRequests + cost > MAX_ADDED_REQUESTS) return undefined
  const isFirst = origin.addedRequests === 0
  origin.addedRequests += cost
  const first = range.split()
  const second = first.next as Range
  second.isSecondOfPair = true
  if (isFirst) {
    first.half = 'first'
    second.half = 'second'
  }
  return first
}

/** Puts the second of two before the first. */
function swap(first: Range, second: Range): Range {
  first.next = second.next
  second.next = first
  first.isSecondOfPair = false
  second.isSecondOfPair = false
  return second
}
