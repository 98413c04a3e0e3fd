import type { EventRecord, EventSummary } from '../../record.ts'
import { cursorOf, type InNumbers } from '../cursor.ts'
import type { EventCount, QueryParameters } from '../queries.ts'
import type { EventsPage } from '../query-results.ts'
import { first, type Query, sql } from '../sql.ts'
import type { QueryContext } from './context.ts'
import { countEvents, findEvents, type NumberedSearch } from './find.ts'
import { endOfPage, PageRoom } from './page-room.ts'
import { recordsOf, summariesOf } from './records.ts'

export function* listEvents(
  context: QueryContext,
  query: InNumbers<QueryParameters<'events'>>,
): Query<EventsPage> {
  // One more than asked for tells whether there is a next page.
  const found = yield* findEvents(context, { ...query, limit: query.limit + 1 }, context.budget)
  const seqs = found.seqs.slice(0, query.limit)
  const room = new PageRoom()
  const events: Array<EventSummary | EventRecord> = query.isFull
    ? yield* recordsOf({ ...context, isExact: query.isExact }, seqs, room)
    : yield* summariesOf(context, seqs)
  const { next, isComplete, searchedTo } = endOfPage(found, seqs, events, room)
  return {
    events,
    next,
    head: cursorOf(context.dialect.last),
    isComplete,
    searchedTo: searchedTo === undefined ? null : yield* timeAt(searchedTo),
  }
}

/** The time of receipt where a search ended; the event there may be gone. */
function* timeAt(seq: number): Query<string | null> {
  const row = yield* first<{ at: number }>(
    sql`SELECT received_at AS at FROM event WHERE seq >= ${seq} ORDER BY seq LIMIT 1`,
  )
  return row === undefined ? null : new Date(row.at).toISOString()
}

export function* count(context: QueryContext, query: NumberedSearch): Query<EventCount> {
  const { count, countedTo } = yield* countEvents(context, query)
  const isComplete = countedTo === undefined
  return { count, isComplete, next: isComplete ? null : cursorOf(countedTo) }
}
