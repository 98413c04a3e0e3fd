import type { Budget } from '../budget.ts'
import type { InNumbers } from '../cursor.ts'
import type { Bounds, EventCondition, SliceKind } from '../dialect.ts'
import type { EventSearch, Paging } from '../queries.ts'
import { eventCondition } from '../search/event-condition.ts'
import { all, first, type Query, raw, type Sql, sql } from '../sql.ts'
import type { QueryContext } from './context.ts'

/** A search in events, its cursors as numbers. */
export type NumberedSearch = InNumbers<EventSearch>

/** Numbers of the records that were found, in the order of the search. */
export interface Found {
  seqs: number[]
  /** Whether there may be more. */
  hasMore: boolean
  /** Whether everything was searched, or the limit was reached. */
  isComplete: boolean
  /** Last number searched; undefined = none. */
  searchedTo: number | undefined
}

interface Plan {
  bounds: Bounds
  kind: SliceKind
  /** `event WHERE ...` of one slice. */
  matching(slice: Bounds): Sql
}

function* planOf({ dialect, nowMs }: QueryContext, query: NumberedSearch): Query<Plan> {
  const condition = eventCondition(dialect, query.search, nowMs)
  const bounds = { ...(yield* dialect.boundsOf(query)) }
  if (query.after !== undefined) bounds.first = Math.max(bounds.first, query.after + 1)
  if (query.before !== undefined) bounds.last = Math.min(bounds.last, query.before - 1)
  const { fromMs, toMs } = query
  const from = fromMs === undefined ? raw('') : sql` AND received_at >= ${fromMs}`
  const to = toMs === undefined ? raw('') : sql` AND received_at < ${toMs}`
  return {
    bounds,
    kind: kindOf(condition),
    matching: (slice) => sql`${dialect.matching(condition, slice)}${from}${to}`,
  }
}

function kindOf({ index, needsOnlyFacts }: EventCondition): SliceKind {
  if (index !== undefined && !index.isSegmented) return 'few'
  return index === undefined && needsOnlyFacts ? 'index' : 'rows'
}

/** Finds records until there are enough, everything was searched, or the time is used up. */
export function* findEvents(
  context: QueryContext,
  query: InNumbers<EventSearch & Paging>,
  budget: Budget,
): Query<Found> {
  const { bounds, kind, matching } = yield* planOf(context, query)
  const isNewest = query.order === 'newest'
  const direction = raw(isNewest ? 'DESC' : 'ASC')
  const seqs: number[] = []
  let searchedTo: number | undefined
  for (const slice of context.dialect.slices(bounds, query.order, kind)) {
    const left = query.limit - seqs.length
    const rows = yield* all<{ seq: number }>(
      sql`SELECT event.seq AS seq FROM ${matching(slice)} ORDER BY event.seq ${direction} LIMIT ${left}`,
    )
    for (const { seq } of rows) seqs.push(seq)
    if (seqs.length >= query.limit) return { seqs, hasMore: true, isComplete: true, searchedTo: seqs.at(-1) }
    searchedTo = isNewest ? slice.first : slice.last
    const isEnd = searchedTo === (isNewest ? bounds.first : bounds.last)
    if (!isEnd && budget.isUsedUp) return { seqs, hasMore: true, isComplete: false, searchedTo }
  }
  return { seqs, hasMore: false, isComplete: true, searchedTo }
}

/**
 * Counts records, newest first, until everything was counted or the time is used up; then `countedTo` is the last one counted.
 */
export function* countEvents(
  context: QueryContext,
  query: NumberedSearch,
): Query<{ count: number; countedTo: number | undefined }> {
  const { bounds, kind, matching } = yield* planOf(context, query)
  let count = 0
  for (const slice of context.dialect.slices(bounds, 'newest', kind)) {
    const row = yield* first<{ value: number }>(sql`SELECT count(*) AS value FROM ${matching(slice)}`)
    count += row?.value ?? 0
    if (slice.first > bounds.first && context.budget.isUsedUp) return { count, countedTo: slice.first }
  }
  return { count, countedTo: undefined }
}
