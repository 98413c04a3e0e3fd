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
  take(body: string | null): boolean {
    this.#isFull ||= this.#left <= 0
    this.#left -= body?.length ?? 0
    return !this.#isFull
  }
}
