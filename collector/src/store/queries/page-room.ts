import { cursorOf } from '../cursor.ts'
import type { Cursor } from '../ports.ts'
import type { Found } from './find.ts'

/** Characters of the messages in one page of full records; the rest comes with the next page. */
const MAX_PAGE_CHARACTERS = 2 * 1024 * 1024

/**
 * Limits the size of a page, as messages may have 32 KB: a large page would block the event loop, and stay in memory for a slow
 * client.
 */
export class PageRoom {
  #left: number
  #isFull = false

  constructor(characters = MAX_PAGE_CHARACTERS) {
    this.#left = characters
  }

  /** Whether a message did not fit. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Reserves room for a message; false = it does not fit. The first one always fits. */
  take(body: string | null, inherited?: string | null): boolean {
    this.#isFull ||= this.#left <= 0
    this.#left -= (body?.length ?? 0) + (inherited?.length ?? 0)
    return !this.#isFull
  }
}

/** Where a page ends. */
interface PageEnd {
  /** Where the next page begins; null = this is the last one. */
  next: Cursor | null
  /** Whether the page reached its limit of length or size, or has all records. */
  isComplete: boolean
  /** The last number searched when the time ran out; undefined = it did not run out. */
  searchedTo: number | undefined
}

/**
 * Where a page ends.
 *
 * @param found The result of a search for one more than the limit of the page.
 * @param records The records of the page, needed with `room`.
 */
export function endOfPage(
  found: Found,
  limit: number,
  records: readonly { seq: number }[] = [],
  room?: PageRoom,
): PageEnd {
  const isFull = room?.isFull ?? false
  const isComplete = found.isComplete || isFull
  const last = found.rows.slice(0, limit).at(-1)?.seq
  const end = isFull ? records.at(-1)?.seq : isComplete ? last : found.searchedTo
  const hasNext = found.rows.length > limit || !found.isComplete || isFull
  return {
    next: hasNext && end !== undefined ? cursorOf(end) : null,
    isComplete,
    searchedTo: isComplete ? undefined : end,
  }
}
