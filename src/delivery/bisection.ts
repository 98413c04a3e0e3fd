import type { Range } from './range.ts'

/** The greatest number of additional requests to find the bad event in one refused range. */
export const MAX_ADDED_REQUESTS = 24

export interface Bisection {
  /** The parts whose events fail. */
  readonly failed: readonly Range[]
  readonly next: Range | undefined
}

/**
 * Halves a refused range until the bad event is alone in a request, so that the other events are delivered.
 *
 * The first two halves are sent one right after the other: if both are refused with the same text, no single event is at fault,
 * and all events fail. Later parts are sent in the order of their events.
 *
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

/** Finds the part of a chain to send next. A part that is known to hold a bad event is halved without being sent. */
export function proceed(range: Range | undefined): Bisection {
  const failed: Range[] = []
  let next = range
  while (next?.knownBad !== undefined && next.items.length > 1) {
    const halved = halve(next)
    if (halved !== undefined) return { failed, next: halved }
    // The limit of additional requests is reached. A part that was only inferred to be bad is still sent as a whole.
    if (next.knownBad === 'inferred') break
    failed.push(next)
    next = next.next
  }
  return { failed, next }
}

/** The part before `next` was delivered. If the two are the halves of a refused part, the bad event is in `next`. */
export function inferFromDelivery(next: Range): void {
  if (next.isSecondOfPair) next.knownBad ??= 'inferred'
}

function halve(range: Range): Range | undefined {
  const { origin } = range
  // Halving makes two requests of one. If the part itself was not sent, only one of the two is additional.
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

function swap(first: Range, second: Range): Range {
  first.next = second.next
  second.next = first
  first.isSecondOfPair = false
  second.isSecondOfPair = false
  return second
}
