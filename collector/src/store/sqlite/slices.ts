import type { TimeRange } from '../queries.ts'
import { type Database, readMeta } from './database.ts'
import { SEGMENT_SIZE } from './schema.ts'

/** The numbers between which the records lie that a query is about, both included. */
export interface Bounds {
  first: number
  last: number
}

/** Number of the newest record, also of one that was cleared away. */
export function newestSeq(database: Database): number {
  return Math.max(
    database.value<number>('SELECT max(seq) AS value FROM event') ?? 0,
    readMeta<number>(database, 'floor'),
  )
}

/** Where records of a time can lie; records in there may still be outside of it when the clock was set. */
export function boundsOf(database: Database, range: TimeRange = {}): Bounds {
  const floor = readMeta<number>(database, 'floor')
  let first = Math.max(floor + 1, database.value<number>('SELECT min(seq) AS value FROM event') ?? 1)
  let last = database.value<number>('SELECT max(seq) AS value FROM event') ?? 0
  if (range.fromMs !== undefined || range.toMs !== undefined) {
    const found = database.get<{ first: number | null; last: number | null }>(
      'SELECT min(n) AS first, max(n) AS last FROM segment WHERE last_at >= ? AND first_at < ?',
      range.fromMs ?? Number.MIN_SAFE_INTEGER,
      range.toMs ?? Number.MAX_SAFE_INTEGER,
    )
    if (found?.first === null || found?.last === null || found === undefined) return { first: 1, last: 0 }
    first = Math.max(first, found.first * SEGMENT_SIZE)
    last = Math.min(last, (found.last + 1) * SEGMENT_SIZE - 1)
  }
  return { first, last }
}

/** Cuts bounds into slices that end where segments end, in the order of the search. */
export function* slices(bounds: Bounds, order: 'oldest' | 'newest', segments: number): Generator<Bounds> {
  const size = segments * SEGMENT_SIZE
  if (order === 'oldest') {
    for (let first = bounds.first; first <= bounds.last; ) {
      const last = Math.min(bounds.last, first - (first % size) + size - 1)
      yield { first, last }
      first = last + 1
    }
  } else {
    for (let last = bounds.last; last >= bounds.first; ) {
      const first = Math.max(bounds.first, last - (last % size))
      yield { first, last }
      last = first - 1
    }
  }
}
