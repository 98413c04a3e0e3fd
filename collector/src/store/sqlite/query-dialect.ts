import { Budget } from '../budget.ts'
import type { QueryDialect, ReasonExample, SequencedTable, SliceKind } from '../queries/dialect.ts'
import type { TimeRange } from '../queries.ts'
import type { Bounds } from '../search/dialect.ts'
import type { EventCondition } from '../search/event-condition.ts'
import { all, first, type Query, raw, type Sql, sql } from '../sql.ts'
import { type Database, readMeta } from './database.ts'
import { SEGMENT_BITS, SEGMENT_SIZE, segmentOf } from './schema.ts'
import { SQLITE } from './search.ts'

/** Milliseconds for which the newest events of reasons are searched. */
const EXAMPLES_MS = 60

/** Segments in one slice. */
const SEGMENTS: Readonly<Record<SliceKind, number>> = {
  rows: 1,
  index: 16,
  few: Number.MAX_SAFE_INTEGER / SEGMENT_SIZE,
}

/** The same expression as in the indexes. */
const SEGMENT = raw(`seq >> ${SEGMENT_BITS}`)

/** Number of the newest record, even if it has been cleared. */
export function newestSeq(database: Database): number {
  return Math.max(
    database.value<number>('SELECT max(seq) AS value FROM event') ?? 0,
    readMeta<number>(database, 'floor'),
  )
}

/** The dialect of a file, with the numbers of its events now. */
export function queryDialect(database: Database): QueryDialect {
  const floor = readMeta<number>(database, 'floor')
  const oldest = database.value<number>('SELECT min(seq) AS value FROM event') ?? 1
  const whole = { first: Math.max(floor + 1, oldest), last: newestSeq(database) }
  return { ...SQLITE, ...METHODS, ...whole, boundsOf: (range) => boundsOf(whole, range) }
}

const METHODS: Omit<QueryDialect, 'first' | 'last' | 'boundsOf' | keyof typeof SQLITE> = {
  slices: (bounds, order, kind) => slices(bounds, order, SEGMENTS[kind]),
  within: (bounds, table = 'event') => sql`${raw(table)}.seq BETWEEN ${bounds.first} AND ${bounds.last}`,
  among,
  matching,
  has: (column, value) => sql`event.${raw(column)} = ${value}`,
  lookup(column, condition, { first, last }, beside) {
    const by = raw(`INDEXED BY event_${column}`)
    const [from, to] = [segmentOf(first), segmentOf(last)]
    // Without the join the rows come in the order of the index.
    if (beside === undefined && from === to)
      return sql`event ${by} WHERE ${SEGMENT} = ${from} AND ${condition} AND seq BETWEEN ${first} AND ${last}`
    return sql`${beside === undefined ? raw('') : sql`${beside} CROSS JOIN `}(WITH RECURSIVE part(n) AS
        (SELECT ${from} UNION ALL SELECT n + 1 FROM part WHERE n < ${to}) SELECT n FROM part) AS part
      CROSS JOIN event ${by} ON ${SEGMENT} = part.n AND ${condition}
      WHERE seq BETWEEN ${first} AND ${last}`
  },
  ids: (texts) => sql`(SELECT value AS id FROM json_each(${JSON.stringify(texts)})) AS ids`,
  by: (index) => raw(`INDEXED BY ${index}`),
  newestByReason,
}

export function among(seqs: readonly number[], table: SequencedTable = 'event'): Sql {
  return sql`${raw(table)}.seq IN (SELECT value FROM json_each(${JSON.stringify(seqs)}))`
}

/** The bounds of records received in a range of time. If the clock was set, other records may lie between them. */
function* boundsOf(whole: Bounds, { fromMs, toMs }: TimeRange): Query<Bounds> {
  if (fromMs === undefined && toMs === undefined) return whole
  const found = yield* first<{ first: number | null; last: number | null }>(
    sql`SELECT min(n) AS first, max(n) AS last FROM segment
        WHERE last_at >= ${fromMs ?? Number.MIN_SAFE_INTEGER} AND first_at < ${toMs ?? Number.MAX_SAFE_INTEGER}`,
  )
  if (found === undefined || found.first === null || found.last === null) return { first: 1, last: 0 }
  return {
    first: Math.max(whole.first, found.first * SEGMENT_SIZE),
    last: Math.min(whole.last, (found.last + 1) * SEGMENT_SIZE - 1),
  }
}

/** Cuts bounds into slices that end where segments end, in the order of the search. */
function* slices(bounds: Bounds, order: 'oldest' | 'newest', segments: number): Generator<Bounds> {
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

function matching(condition: EventCondition, slice: Bounds): Sql {
  const { index, needsOnlyFacts } = condition
  const within = sql`seq BETWEEN ${slice.first} AND ${slice.last}`
  if (index === undefined)
    return sql`event ${raw(needsOnlyFacts ? 'INDEXED BY event_facts' : '')} WHERE ${within} AND ${condition.on(slice)}`
  const segment = index.isSegmented ? sql`${SEGMENT} = ${segmentOf(slice.first)} AND` : raw('')
  // First by the indexes alone: with two columns, that is the only way to use both.
  const found = index.columns.map(
    (column) =>
      sql`SELECT seq FROM event INDEXED BY event_${raw(column)} WHERE ${segment} event.${raw(column)} = ${index.value} AND ${within}`,
  )
  const either = found.reduce((before, one) => sql`${before} UNION ${one}`)
  return sql`event WHERE seq IN (${either}) AND ${condition.on(slice)}`
}

function* newestByReason(
  reasons: readonly string[],
  bounds: Bounds,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Query<ReasonExample[]> {
  const missing = new Set(reasons)
  const found: ReasonExample[] = []
  const budget = new Budget(EXAMPLES_MS)
  for (const { first, last } of slices(bounds, 'newest', SEGMENTS.index)) {
    if (missing.size === 0 || budget.isUsedUp) break
    const rows = yield* all<ReasonExample>(
      sql`SELECT reason, max(seq) AS seq, received_at AS at FROM event INDEXED BY event_facts
          WHERE seq BETWEEN ${first} AND ${last} AND reason IS NOT NULL
            AND received_at >= ${fromMs} AND received_at < ${toMs} GROUP BY reason`,
    )
    for (const row of rows) if (missing.delete(row.reason)) found.push(row)
  }
  return found
}
