import { systemClock } from '../system-clock.ts'
import type { Bounds } from './dialect.ts'

export interface SliceSizes {
  /** Sequence numbers in the first slice, if each row needs one comparison. */
  first: number
  /** Sequence numbers in the largest slice, if each row needs one comparison. */
  most: number
  /** No slice contains a multiple of this number but as its first sequence number. */
  border: number
}

/** The size of the next slice is adapted so that its statement takes about this time. */
const SLICE_MS = 30
const MAX_GROWTH = 8
const MIN_SLICE = 8

/**
 * Divides bounds into slices for one statement each, in the order of the search. A statement cannot be ended early, so the
 * more comparisons each row needs, the smaller the slices are.
 */
export function* slicesOf(
  bounds: Bounds,
  order: 'oldest' | 'newest',
  sizes: SliceSizes,
  comparisons: number,
): Generator<Bounds> {
  const most = Math.max(MIN_SLICE, Math.floor(sizes.most / Math.max(1, comparisons)))
  let size = Math.max(MIN_SLICE, Math.floor(sizes.first / Math.max(1, comparisons)))
  const { border } = sizes
  let { first, last } = bounds
  while (first <= last) {
    const slice =
      order === 'oldest'
        ? { first, last: Math.min(last, first + size - 1, first - (first % border) + border - 1) }
        : { first: Math.max(first, last - size + 1, last - (last % border)), last }
    const startMs = systemClock.monotonic()
    yield slice
    const growth = SLICE_MS / Math.max(1, systemClock.monotonic() - startMs)
    size = Math.min(most, Math.max(MIN_SLICE, Math.floor(size * Math.min(MAX_GROWTH, growth))))
    if (order === 'oldest') first = slice.last + 1
    else last = slice.first - 1
  }
}
