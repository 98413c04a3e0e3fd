import type { EventRecord, EventSummary } from '../../record.ts'
import { cursorOf, type InNumbers } from '../cursor.ts'
import type { QueryParameters } from '../event-reader.ts'
import type { EventsPage } from '../query-results.ts'
import { type Query, sql } from '../sql.ts'
import type { QueryContext } from './context.ts'
import { findEvents } from './find.ts'
import { endOfPage, PageRoom } from './page-room.ts'
import { recordsOf, summariesOf, timeAt } from './records.ts'

/** Time limit of the first answer to a search. Until it comes, nothing shows that the search has begun. */
const FIRST_ANSWER_MS = 75

export function* listEvents(
  context: QueryContext,
  query: InNumbers<QueryParameters<'events'>>,
): Query<EventsPage> {
  const isFirst = !query.isFull && query.before === undefined && query.after === undefined
  const budget = isFirst ? context.budget.part(FIRST_ANSWER_MS) : context.budget
  // Reads one more event than the page can have, to find out whether there is a next page.
  const found = yield* findEvents(context, { ...query, limit: query.limit + 1 }, budget)
  const seqs = found.rows.slice(0, query.limit).map(({ seq }) => seq)
  const room = new PageRoom()
  const events: Array<EventSummary | EventRecord> = query.isFull
    ? yield* recordsOf({ ...context, isExact: query.isExact }, seqs, room)
    : yield* summariesOf(context, seqs)
  const { next, isComplete, searchedTo } = endOfPage(found, query.limit, events, room)
  return {
    events,
    next,
    head: cursorOf(context.dialect.last),
    isComplete,
    searchedTo: yield* timeAt(sql`received_at AS at FROM event`, searchedTo),
  }
}
