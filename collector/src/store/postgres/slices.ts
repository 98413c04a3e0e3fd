import { systemClock } from '../../clock.ts'
import type { Bounds } from './span.ts'

/** Numbers in the first slice. */
const FIRST_SLICE = 8192
/** A slice is meant to take so long, milliseconds; the next one is made larger or smaller by how long one took. */
const SLICE_MS = 30
const MAX_GROWTH = 8
const MIN_SLICE = 1024

/** Cuts bounds into slices in the order of the search. Each takes about as long, however much or little there is to be looked at. */
export function* slices(bounds: Bounds, order: 'oldest' | 'newest'): Generator<Bounds> {
  let size = FIRST_SLICE
  let { first, last } = bounds
  while (first <= last) {
    const slice =
      order === 'oldest'
        ? { first, last: Math.min(last, first + size - 1) }
        : { first: Math.max(first, last - size + 1), last }
    const start = systemClock.monotonic()
    yield slice
    const growth = SLICE_MS / Math.max(1, systemClock.monotonic() - start)
    size = Math.max(MIN_SLICE, Math.floor(size * Math.min(MAX_GROWTH, growth)))
    if (order === 'oldest') first = slice.last + 1
    else last = slice.first - 1
  }
}
