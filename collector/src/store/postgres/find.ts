import type { Budget } from '../budget.ts'
import type { Found, NumberedPage, NumberedSearch } from '../find.ts'
import type { TimeRange } from '../queries.ts'
import { boundTo, type SqlValue } from '../search/condition.ts'
import { type EventCondition, eventCondition } from '../search/event-condition.ts'
import type { QueryContext } from './queries/context.ts'
import { numbered, POSTGRES } from './search/dialect.ts'
import { MESSAGE } from './search/json-text.ts'
import { MESSAGE_COLUMN } from './search/path-condition.ts'
import { slices } from './slices.ts'
import { type Bounds, boundsOf } from './span.ts'

// The OFFSET keeps the planner from putting the expression wherever the message is asked for: it would be parsed each time.
const EVENT_WITH_MESSAGE = `event CROSS JOIN LATERAL (SELECT ${MESSAGE} AS message OFFSET 0) AS parsed`

interface Plan {
  condition: EventCondition
  bounds: Bounds
  range: TimeRange
}

async function plan(context: QueryContext, query: NumberedSearch): Promise<Plan> {
  const condition = eventCondition(POSTGRES, query.search, context.nowMs)
  const bounds = { ...(await boundsOf(context.sql, context.span, query)) }
  if (query.after !== undefined) bounds.first = Math.max(bounds.first, query.after + 1)
  if (query.before !== undefined) bounds.last = Math.min(bounds.last, query.before - 1)
  return { condition, bounds, range: query }
}

/** One slice's part of the question. */
function sliceSql(
  { condition, range }: Plan,
  { span }: QueryContext,
  { first, last }: Bounds,
): { sql: string; values: SqlValue[] } {
  const from = condition.sql.includes(MESSAGE_COLUMN) ? EVENT_WITH_MESSAGE : 'event'
  const where = ['event.seq BETWEEN ? AND ?', 'event.day BETWEEN ?::date AND ?::date', condition.sql]
  const values = [first, last, ...span.daysOf({ first, last }), ...boundTo(condition.values, first, last)]
  if (range.fromMs !== undefined) {
    where.push('received_at >= ?')
    values.push(range.fromMs)
  }
  if (range.toMs !== undefined) {
    where.push('received_at < ?')
    values.push(range.toMs)
  }
  return { sql: `${from} WHERE ${where.join(' AND ')}`, values }
}

/** Finds records until there are enough, everything was looked at, or the time is used up. */
export async function findEvents(context: QueryContext, query: NumberedPage, budget: Budget): Promise<Found> {
  const thePlan = await plan(context, query)
  const direction = query.order === 'newest' ? 'DESC' : 'ASC'
  const seqs: number[] = []
  let searchedTo: number | undefined
  for (const slice of slices(thePlan.bounds, query.order)) {
    const { sql, values } = sliceSql(thePlan, context, slice)
    const rows = await context.sql.query<{ seq: number }>(
      numbered(`SELECT event.seq AS seq FROM ${sql} ORDER BY event.seq ${direction} LIMIT ?`),
      [...values, query.limit - seqs.length],
    )
    for (const { seq } of rows) seqs.push(seq)
    if (seqs.length >= query.limit) return { seqs, hasMore: true, isComplete: true, searchedTo: seqs.at(-1) }
    searchedTo = query.order === 'newest' ? slice.first : slice.last
    const isEnd = searchedTo === (query.order === 'newest' ? thePlan.bounds.first : thePlan.bounds.last)
    if (!isEnd && budget.isUsedUp) return { seqs, hasMore: true, isComplete: false, searchedTo }
  }
  return { seqs, hasMore: false, isComplete: true, searchedTo }
}

/** Counts records, newest first, until everything was looked at or the time is used up; then `countedTo` is the last that was. */
export async function countEvents(
  context: QueryContext,
  query: NumberedSearch,
): Promise<{ count: number; countedTo: number | undefined }> {
  const thePlan = await plan(context, query)
  let count = 0
  for (const slice of slices(thePlan.bounds, 'newest')) {
    const { sql, values } = sliceSql(thePlan, context, slice)
    const [row] = await context.sql.query<{ value: number }>(
      numbered(`SELECT count(*) AS value FROM ${sql}`),
      values,
    )
    count += row?.value ?? 0
    if (slice.first > thePlan.bounds.first && context.budget.isUsedUp)
      return { count, countedTo: slice.first }
  }
  return { count, countedTo: undefined }
}
