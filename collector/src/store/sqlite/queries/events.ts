import type { EventRecord, EventSummary } from '../../../record.ts'
import type { NumberedPage, NumberedSearch } from '../../find.ts'
import { endOfPage, PageRoom } from '../../page-room.ts'
import { cursorOf } from '../../place.ts'
import type { EventCount } from '../../queries.ts'
import type { EventsPage } from '../../query-results.ts'
import { countEvents, findEvents } from '../find.ts'
import { recordsOf, summariesOf } from '../records.ts'
import { segmentOf } from '../schema.ts'
import { newestSeq } from '../slices.ts'
import type { Work } from '../work.ts'
import type { QueryContext } from './context.ts'

export interface EventsQuery extends NumberedPage {
  isFull: boolean
}

export function* listEvents(context: QueryContext, query: EventsQuery): Work<EventsPage> {
  const { database, budget, nowMs } = context
  const head = newestSeq(database)
  // One more than asked for tells whether there is a next page.
  const found = yield* findEvents(database, { ...query, limit: query.limit + 1 }, budget, nowMs)
  const seqs = found.seqs.slice(0, query.limit)
  const room = new PageRoom()
  const events: Array<EventSummary | EventRecord> = []
  for (let start = 0; start < seqs.length && !room.isFull; start += 100) {
    const part = seqs.slice(start, start + 100)
    events.push(...(query.isFull ? recordsOf(database, part, room) : summariesOf(database, part)))
    yield
  }
  const { next, isComplete, searchedTo } = endOfPage(found, seqs, events, room)
  return {
    events,
    next,
    head: cursorOf(head),
    isComplete,
    searchedTo: searchedTo === undefined ? null : timeOf(context, searchedTo, query.order),
  }
}

/** The time of receipt at the edge of a segment that was searched to its end. */
function timeOf({ database }: QueryContext, seq: number, order: 'oldest' | 'newest'): string | null {
  const column = order === 'newest' ? 'first_at' : 'last_at'
  const atMs = database.value<number>(`SELECT ${column} AS value FROM segment WHERE n = ?`, segmentOf(seq))
  return atMs === undefined ? null : new Date(atMs).toISOString()
}

export function* count({ database, budget, nowMs }: QueryContext, query: NumberedSearch): Work<EventCount> {
  const { count, countedTo } = yield* countEvents(database, query, budget, nowMs)
  const isComplete = countedTo === undefined
  return { count, isComplete, next: isComplete ? null : cursorOf(countedTo) }
}
