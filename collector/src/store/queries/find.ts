import type { Budget } from '../budget.ts'
import { cursorOf, type InNumbers } from '../cursor.ts'
import type { Bounds, EventCondition, SliceKind } from '../dialect.ts'
import type { EventCount, EventSearch, Paging } from '../event-reader.ts'
import { eventCondition } from '../search/event-condition.ts'
import { all, first, type Query, raw, type Sql, sql } from '../sql.ts'
import type { QueryContext } from './context.ts'

type NumberedSearch = InNumbers<EventSearch>

interface Numbered {
  seq: number
}

/** The rows are in the order of the search. */
export interface Found<R extends Numbered = Numbered> {
  rows: R[]
  /** Whether everything was searched or the limit on rows was reached; false = the time was used up. */
  isComplete: boolean
  /** The last sequence number searched; undefined = nothing was searched. */
  searchedTo: number | undefined
}

interface SearchPlan {
  bounds: Bounds
  slices: Iterable<Bounds>
  /** See `Dialect.matching`. */
  matching(slice: Bounds): Sql
}

function* planOf(
  { dialect, nowMs }: QueryContext,
  query: NumberedSearch,
  order: Paging['order'],
): Query<SearchPlan> {
  const condition = eventCondition(dialect, query.search, nowMs)
  const bounds = { ...(yield* dialect.boundsOf(query)) }
  if (query.after !== undefined) bounds.first = Math.max(bounds.first, query.after + 1)
  if (query.before !== undefined) bounds.last = Math.min(bounds.last, query.before - 1)
  const { fromMs, toMs } = query
  const from = fromMs === undefined ? raw('') : sql` AND received_at >= ${fromMs}`
  const to = toMs === undefined ? raw('') : sql` AND received_at < ${toMs}`
  return {
    bounds,
    slices: dialect.slices(bounds, order, kindOf(condition), condition.comparisons),
    matching: (slice) => sql`${dialect.matching(condition, slice)}${from}${to}`,
  }
}

function kindOf({ index, needsOnlyFacts }: EventCondition): SliceKind {
  if (index !== undefined && !index.isSegmented) return 'few'
  return index === undefined && needsOnlyFacts ? 'index' : 'rows'
}

export function* findEvents(
  context: QueryContext,
  query: InNumbers<EventSearch & Paging>,
  budget: Budget,
): Query<Found> {
  const { bounds, slices, matching } = yield* planOf(context, query, query.order)
  const from = (slice: Bounds) => sql`event.seq AS seq FROM ${matching(slice)}`
  return yield* search(slices, bounds, query, budget, from)
}

/**
 * Reads slice after slice until there are enough rows, everything was searched, or the time is used up.
 *
 * @param from Returns columns, table and condition of the statement for a slice.
 */
export function* search<R extends Numbered>(
  slices: Iterable<Bounds>,
  bounds: Bounds,
  { order, limit }: Pick<Paging, 'order' | 'limit'>,
  budget: Budget,
  from: (slice: Bounds) => Sql,
): Query<Found<R>> {
  const isNewest = order === 'newest'
  const direction = raw(isNewest ? 'DESC' : 'ASC')
  const rows: R[] = []
  let searchedTo: number | undefined
  for (const slice of slices) {
    const found = yield* all<R>(
      sql`SELECT ${from(slice)} ORDER BY seq ${direction} LIMIT ${limit - rows.length}`,
    )
    rows.push(...found)
    if (rows.length >= limit) return { rows, isComplete: true, searchedTo: rows.at(-1)?.seq }
    searchedTo = isNewest ? slice.first : slice.last
    const isEnd = searchedTo === (isNewest ? bounds.first : bounds.last)
    if (!isEnd && budget.isUsedUp) return { rows, isComplete: false, searchedTo }
  }
  return { rows, isComplete: true, searchedTo }
}

export function* count(context: QueryContext, query: NumberedSearch): Query<EventCount> {
  const { bounds, slices, matching } = yield* planOf(context, query, 'newest')
  let count = 0
  for (const slice of slices) {
    const row = yield* first<{ value: number }>(sql`SELECT count(*) AS value FROM ${matching(slice)}`)
    count += row?.value ?? 0
    if (slice.first > bounds.first && context.budget.isUsedUp)
      return { count, isComplete: false, next: cursorOf(slice.first) }
  }
  return { count, isComplete: true, next: null }
}
