import { cursorOf } from '../cursor.ts'
import type { Cursor } from '../ports.ts'
import type { Found } from './find.ts'

/** Characters of the messages in one page of full records: what more there is comes with the next page. */
const MAX_PAGE_CHARACTERS = 2 * 1024 * 1024

/** Keeps a page from holding up the loop, and the memory for a client that does not read it: a message may have 32 KB. */
export class PageRoom {
  #left: number
  #isFull = false

  constructor(characters = MAX_PAGE_CHARACTERS) {
    this.#left = characters
  }

  /** Whether something did not fit any more. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Takes the room for a message; false = there is none. The first one always fits. */
  take(body: string | null, inherited?: string | null): boolean {
    this.#isFull ||= this.#left <= 0
    this.#left -= (body?.length ?? 0) + (inherited?.length ?? 0)
    return !this.#isFull
  }
}

/** Where a page ends. */
export interface PageEnd {
  /** From where the next page goes on; null = this is the last one. */
  next: Cursor | null
  /** Whether the page is as long as asked for, or as there is room for, or has all that there is. */
  isComplete: boolean
  /** Number up to which was searched when the time for it was over; undefined = it was not. */
  searchedTo: number | undefined
}

/**
 * Says where a page of events ends.
 *
 * @param found What was looked for, with one more than the page may have.
 * @param seqs Those of them that the page may have.
 * @param events The page.
 */
export function endOfPage(
  found: Found,
  seqs: readonly number[],
  events: readonly { seq: number }[],
  room: PageRoom,
): PageEnd {
  const isComplete = found.isComplete || room.isFull
  const end = room.isFull ? events.at(-1)?.seq : isComplete ? seqs.at(-1) : found.searchedTo
  const hasNext = found.seqs.length > seqs.length || !found.isComplete || room.isFull
  return {
    next: hasNext && end !== undefined ? cursorOf(end) : null,
    isComplete,
    searchedTo: isComplete ? undefined : end,
  }
}
