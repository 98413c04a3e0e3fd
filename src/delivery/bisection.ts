import type { Range } from './range.ts'

/** At most this many additional requests for one range because the service refused it or parts of it. */
export const MAX_ADDED_REQUESTS = 24

/** The decision about a range that was refused. */
export interface Bisection {
  /** The parts that fail: the event that was refused alone, or all of them. */
  readonly failed: readonly Range[]
  /** This part is sent next. */
  readonly next: Range | undefined
}

/**
 * Halves a refused range until the bad event stands alone, so that one bad event does not fail the others.
 *
 * The first two halves are sent one right after the other. When both are refused with the same text, no single event is at
 * fault, and all fail. Later parts are sent in the order of their events.
 *
 * @param text The text of the response.
 * @see docs/spec.md, section 8
 */
export function bisect(range: Range, text: string): Bisection {
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
 * Finds the part to send next. A part that is known to hold a bad event is halved without being sent.
 *
 * @param range The start of a chain.
 */
export function proceed(range: Range | undefined): Bisection {
  const failed: Range[] = []
  let next = range
  while (next?.knownBad !== undefined && next.items.length > 1) {
    const halved = halve(next)
    if (halved !== undefined) return { failed, next: halved }
    // No request is left to search for the bad event. A part that was not sent itself is still sent as a whole.
    if (next.knownBad === 'inferred') break
    failed.push(next)
    next = next.next
  }
  return { failed, next }
}

/**
 * A part of the chain was delivered: if it was one half of a refused part, the bad event is in the other half.
 *
 * @param next The part after the delivered one.
 */
export function inferFromDelivery(next: Range): void {
  if (next.isSecondOfPair) next.knownBad ??= 'inferred'
}

function halve(range: Range): Range | undefined {
  const { origin } = range
  // A part that was not sent has not used its own request yet.
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

/** Swaps two neighbouring parts of a chain. */
function swap(first: Range, second: Range): Range {
  first.next = second.next
  second.next = first
  first.isSecondOfPair = false
  second.isSecondOfPair = false
  return second
}
