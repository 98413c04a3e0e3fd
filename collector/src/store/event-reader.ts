import { hasName } from '../error-name.ts'
import type { Search } from '../search/syntax.ts'
import type { Cursor } from './ports.ts'
import type {
  Catalogue,
  CatalogueDetail,
  DestinationState,
  EventDetail,
  EventsPage,
  InferredSchemas,
  Overview,
  Problems,
  RequestDetail,
  RequestsPage,
  UserDetail,
  UsersPage,
} from './query-results.ts'

/** A range of times of receipt, milliseconds since the epoch, from `fromMs` (included) to `toMs` (excluded). */
export interface TimeRange {
  fromMs?: number | undefined
  toMs?: number | undefined
}

export type CursorOrSeq = Cursor | number

export interface EventSearch extends TimeRange {
  search: Search
  /** The limits themselves are excluded. */
  after?: CursorOrSeq | undefined
  before?: CursorOrSeq | undefined
  /** A further limit, to count new events. The sequence numbers themselves are excluded. */
  between?: { afterSeq: number; beforeSeq: number }
}

export interface Paging {
  order: 'oldest' | 'newest'
  limit: number
  /** `next` of the previous page. The other limits still apply. */
  cursor?: Cursor | undefined
}

/** The number of matching events, counted newest first until the time limit. */
export interface EventCount {
  count: number
  isComplete: boolean
  /** Where to continue counting; null when complete. */
  next: Cursor | null
}

export interface Queries {
  events: {
    /** With `isExact`, messages are parsed with `parseExact`, which preserves numbers that JavaScript cannot represent. */
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
  /** Without `isFull`, there is no schema: the search for its exceptions takes long. */
  catalogueEntry: { parameters: TimeRange & { key: string; isFull: boolean }; result: CatalogueDetail | null }
  schemas: { parameters: TimeRange; result: InferredSchemas }
  users: { parameters: { q: string; limit: number; cursor?: Cursor | undefined }; result: UsersPage }
  /** `by` is the time by which the events are ordered; default: that of receipt. */
  user: { parameters: Paging & { id: string; by?: 'receipt' | 'timestamp' }; result: UserDetail | null }
  problems: { parameters: TimeRange; result: Problems }
  destinations: { parameters: { names: string[] }; result: DestinationState[] }
}

export type QueryName = keyof Queries
export type QueryParameters<N extends QueryName> = Queries[N]['parameters']
export type QueryResult<N extends QueryName> = Queries[N]['result']

/** Runs queries on the stored data without delaying incoming events. */
export interface EventReader {
  /**
   * The result includes all events for which `append` has already resolved.
   *
   * @throws SearchSyntaxError when the search has an invalid value for a field; CursorError when a cursor is invalid; the
   *   reason of the signal when it was aborted.
   */
  ask<N extends QueryName>(
    name: N,
    parameters: QueryParameters<N>,
    signal?: AbortSignal,
  ): Promise<QueryResult<N>>
}

/** The store cannot have issued this cursor. */
export class CursorError extends Error {
  override readonly name = 'CursorError'

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasName(value, 'CursorError')
  }
  readonly cursor: string

  constructor(cursor: string) {
    super('expected a cursor')
    this.cursor = cursor
  }
}
