import type { EventSchema } from '../catalogue/samples.ts'
import type { Search } from '../search/syntax.ts'
import type { Cursor } from './ports.ts'
import type {
  Catalogue,
  CatalogueDetail,
  DestinationState,
  EventDetail,
  EventsPage,
  Overview,
  Problems,
  RequestDetail,
  RequestsPage,
  UserDetail,
  UsersPage,
} from './query-results.ts'

/** A range of time of receipt, milliseconds since the epoch; `toMs` is not part of it. */
export interface TimeRange {
  fromMs?: number | undefined
  toMs?: number | undefined
}

/** A cursor, or the `seq` of an event. */
export type CursorOrSeq = Cursor | number

/** A selection of events. */
export interface EventSearch extends TimeRange {
  search: Search
  /** Only events after the one, and only events before the other; both excluded. */
  after?: CursorOrSeq | undefined
  before?: CursorOrSeq | undefined
  /** A further limit, for counts of new events: only sequence numbers between these, both excluded. */
  between?: { afterSeq: number; beforeSeq: number }
}

/** One page of a list. */
export interface Paging {
  order: 'oldest' | 'newest'
  limit: number
  /** `next` of the previous page, to continue in the order of the list. The other limits still apply. */
  cursor?: Cursor | undefined
}

/** The number of matching events, counted from the newest on until the time limit. */
export interface EventCount {
  count: number
  isComplete: boolean
  /** Where to continue counting; null when complete. */
  next: Cursor | null
}

/** All queries, by name. */
export interface Queries {
  events: {
    /** With `isExact`, numbers in messages are as `parseExact` returns them. */
    parameters: EventSearch & Paging & { isFull: boolean; isExact?: boolean }
    result: EventsPage
  }
  count: { parameters: EventSearch & { cursor?: Cursor | undefined }; result: EventCount }
  event: { parameters: { id: string }; result: EventDetail | null }
  requests: {
    parameters: TimeRange & Paging & { search: Search; after?: CursorOrSeq | undefined }
    result: RequestsPage
  }
  request: { parameters: { id: string }; result: RequestDetail | null }
  overview: { parameters: TimeRange; result: Overview }
  catalogue: { parameters: TimeRange; result: Catalogue }
  catalogueEntry: { parameters: TimeRange & { key: string }; result: CatalogueDetail | null }
  schemas: { parameters: TimeRange; result: EventSchema[] }
  users: { parameters: { q: string; limit: number; cursor?: Cursor | undefined }; result: UsersPage }
  user: { parameters: Paging & { id: string }; result: UserDetail | null }
  problems: { parameters: TimeRange; result: Problems }
  destinations: { parameters: { names: string[] }; result: DestinationState[] }
}

export type QueryName = keyof Queries
export type QueryParameters<N extends QueryName> = Queries[N]['parameters']
export type QueryResult<N extends QueryName> = Queries[N]['result']

/** Runs queries on the stored data without delaying incoming events. */
export interface EventReader {
  /**
   * Resolves with the stored data, including everything for which `append` has already resolved.
   *
   * @param signal Ends the query soon after it is aborted: nobody waits for the result any more.
   * @throws SearchSyntaxError when the search has a value that its field cannot have; CursorError when a cursor was not issued
   * by this store; the reason of the signal.
   */
  ask<N extends QueryName>(
    name: N,
    parameters: QueryParameters<N>,
    signal?: AbortSignal,
  ): Promise<QueryResult<N>>
}

/** A cursor that this store has not issued. */
export class CursorError extends Error {
  override readonly name = 'CursorError'
  /** As the caller gave it. */
  readonly cursor: string

  constructor(cursor: string) {
    super('expected a cursor')
    this.cursor = cursor
  }
}
