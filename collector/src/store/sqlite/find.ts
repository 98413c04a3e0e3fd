import type { Budget } from '../budget.ts'
import type { Found, NumberedPage, NumberedSearch } from '../find.ts'
import { boundTo } from '../search/condition.ts'
import { type EventCondition, eventCondition } from '../search/event-condition.ts'
import type { Database, SqlValue } from './database.ts'
import { SEGMENT_BITS, SEGMENT_SIZE, segmentOf } from './schema.ts'
import { SQLITE } from './search/dialect.ts'
import { type Bounds, boundsOf, slices } from './slices.ts'
import type { Work } from './work.ts'

/** Segments in one slice of a search that reads nothing but the small index. */
const SEGMENTS_OF_FACTS = 16

interface Plan extends EventCondition {
  bounds: Bounds
  segments: number
}

function plan(database: Database, query: NumberedSearch, nowMs: number): Plan {
  const condition = eventCondition(SQLITE, query.search, nowMs)
  const bounds = boundsOf(database, query)
  if (query.after !== undefined) bounds.first = Math.max(bounds.first, query.after + 1)
  if (query.before !== undefined) bounds.last = Math.min(bounds.last, query.before - 1)
  const { fromMs, toMs } = query
  const sql = [condition.sql]
  const values = [...condition.values]
  if (fromMs !== undefined) {
    sql.push('received_at >= ?')
    values.push(fromMs)
  }
  if (toMs !== undefined) {
    sql.push('received_at < ?')
    values.push(toMs)
  }
  return { ...condition, sql: sql.join(' AND '), values, bounds, segments: segmentsOf(condition) }
}

function segmentsOf({ index, needsOnlyFacts }: EventCondition): number {
  if (index !== undefined) return index.isSegmented ? 1 : Number.MAX_SAFE_INTEGER / SEGMENT_SIZE
  return needsOnlyFacts ? SEGMENTS_OF_FACTS : 1
}

/** One slice's part of the question. */
function sliceSql(plan: Plan, { first, last }: Bounds): { sql: string; values: SqlValue[] } {
  const values = boundTo(plan.values, first, last)
  const { index } = plan
  if (index !== undefined) {
    const segment = index.isSegmented ? `seq >> ${SEGMENT_BITS} = ? AND` : ''
    // By the index alone first: with two columns that is the only way to use both.
    const found = index.columns.map(
      (column) =>
        `SELECT seq FROM event INDEXED BY event_${column} WHERE ${segment} event.${column} = ? AND seq BETWEEN ? AND ?`,
    )
    const own = [...(index.isSegmented ? [segmentOf(first)] : []), index.value, first, last]
    return {
      sql: `event WHERE seq IN (${found.join(' UNION ')}) AND ${plan.sql}`,
      values: [...index.columns.flatMap(() => own), ...values],
    }
  }
  const facts = plan.needsOnlyFacts ? 'INDEXED BY event_facts' : ''
  return { sql: `event ${facts} WHERE seq BETWEEN ? AND ? AND ${plan.sql}`, values: [first, last, ...values] }
}

/** Finds records until there are enough, everything was looked at, or the time is used up. */
export function* findEvents(
  database: Database,
  query: NumberedPage,
  budget: Budget,
  nowMs: number,
): Work<Found> {
  const thePlan = plan(database, query, nowMs)
  const direction = query.order === 'newest' ? 'DESC' : 'ASC'
  const seqs: number[] = []
  let searchedTo: number | undefined
  for (const slice of slices(thePlan.bounds, query.order, thePlan.segments)) {
    const { sql, values } = sliceSql(thePlan, slice)
    const rows = database.all<{ seq: number }>(
      `SELECT seq FROM ${sql} ORDER BY seq ${direction} LIMIT ?`,
      ...values,
      query.limit - seqs.length,
    )
    for (const { seq } of rows) seqs.push(seq)
    if (seqs.length >= query.limit) return { seqs, hasMore: true, isComplete: true, searchedTo: seqs.at(-1) }
    searchedTo = query.order === 'newest' ? slice.first : slice.last
    const isEnd = searchedTo === (query.order === 'newest' ? thePlan.bounds.first : thePlan.bounds.last)
    if (!isEnd && budget.isUsedUp) return { seqs, hasMore: true, isComplete: false, searchedTo }
    yield
  }
  return { seqs, hasMore: false, isComplete: true, searchedTo }
}

/** Counts records, newest first, until everything was looked at or the time is used up; then `countedTo` is the last that was. */
export function* countEvents(
  database: Database,
  query: NumberedSearch,
  budget: Budget,
  nowMs: number,
): Work<{ count: number; countedTo: number | undefined }> {
  const thePlan = plan(database, query, nowMs)
  let count = 0
  for (const slice of slices(thePlan.bounds, 'newest', thePlan.segments)) {
    const { sql, values } = sliceSql(thePlan, slice)
    count += database.value<number>(`SELECT count(*) AS value FROM ${sql}`, ...values) ?? 0
    if (slice.first > thePlan.bounds.first && budget.isUsedUp) return { count, countedTo: slice.first }
    yield
  }
  return { count, countedTo: undefined }
}
