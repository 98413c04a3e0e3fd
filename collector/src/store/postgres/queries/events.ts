import type { EventRecord, EventSummary } from '../../../record.ts'
import type { NumberedPage, NumberedSearch } from '../../find.ts'
import { endOfPage, PageRoom } from '../../page-room.ts'
import { cursorOf } from '../../place.ts'
import type { EventCount } from '../../queries.ts'
import type { EventsPage } from '../../query-results.ts'
import { countEvents, findEvents } from '../find.ts'
import { receivedAtOf, recordsOf, summariesOf } from '../records.ts'
import type { QueryContext } from './context.ts'

/** Each may have 32 KB, and a page has room for a part of them only. */
const RECORDS_AT_A_TIME = 100

export interface EventsQuery extends NumberedPage {
  isFull: boolean
}

export async function listEvents(context: QueryContext, query: EventsQuery): Promise<EventsPage> {
  // One more than asked for tells whether there is a next page.
  const found = await findEvents(context, { ...query, limit: query.limit + 1 }, context.budget)
  const seqs = found.seqs.slice(0, query.limit)
  const room = new PageRoom()
  const events: Array<EventSummary | EventRecord> = query.isFull ? [] : await summariesOf(context, seqs)
  for (let start = 0; query.isFull && start < seqs.length && !room.isFull; start += RECORDS_AT_A_TIME) {
    events.push(...(await recordsOf(context, seqs.slice(start, start + RECORDS_AT_A_TIME), room)))
  }
  const { next, isComplete, searchedTo } = endOfPage(found, seqs, events, room)
  return {
    events,
    next,
    head: cursorOf(context.span.last),
    isComplete,
    searchedTo: searchedTo === undefined ? null : await timeOf(context, searchedTo),
  }
}

async function timeOf(context: QueryContext, seq: number): Promise<string | null> {
  const atMs = await receivedAtOf(context, seq)
  return atMs === undefined ? null : new Date(atMs).toISOString()
}

export async function count(context: QueryContext, query: NumberedSearch): Promise<EventCount> {
  const { count, countedTo } = await countEvents(context, query)
  const isComplete = countedTo === undefined
  return { count, isComplete, next: isComplete ? null : cursorOf(countedTo) }
}
