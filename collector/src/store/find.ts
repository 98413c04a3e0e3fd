import type { InNumbers } from './cursor.ts'
import type { EventSearch, Paging } from './queries.ts'

/** A search in events, its places as numbers. */
export type NumberedSearch = InNumbers<EventSearch>

/** One page of the events that are looked for. */
export type NumberedPage = InNumbers<EventSearch & Paging>

/** Numbers of the records that were found, in the order of the search. */
export interface Found {
  seqs: number[]
  /** Whether there may be more. */
  hasMore: boolean
  /** Whether everything was looked at, or as much as was asked for was found. */
  isComplete: boolean
  /** Last number that was looked at; undefined = none. */
  searchedTo: number | undefined
}
