import { cursorOf } from '../cursor.ts'
import type { Cursor } from '../ports.ts'
import type { Found } from './find.ts'

/** Characters of all messages on one page. */
const MAX_PAGE_CHARACTERS = 2 * 1024 * 1024

/**
 * Limits the size of a page. Messages may have 32 KB, and a page with many of these would block the event loop and take up
 * memory until a slow client has received the page.
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

  /** Returns false if the message does not fit. The first message always fits. */
  take(body: string | null, inherited?: string | null): boolean {
    this.#isFull ||= this.#left <= 0
    this.#left -= (body?.length ?? 0) + (inherited?.length ?? 0)
    return !this.#isFull
  }
}

interface PageEnd {
  next: Cursor | null
  /** Whether the page has all records or has reached a limit on its length or size; false = the time was used up. */
  isComplete: boolean
  /** The last sequence number that was searched before the time was used up; undefined = the time was enough. */
  searchedTo: number | undefined
}

/**
 * @param found The result of a search for `limit` + 1 records.
 * @param records The records on the page; needed only with `room`.
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
