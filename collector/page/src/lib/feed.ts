import { batch, signal } from '@preact/signals'
import { getJson, type RequestError } from './http.ts'
import type { PageOf } from './types.ts'

/** The request parameters that filter the list. */
export type Question = Readonly<Record<string, string>>

export type FeedName = 'events' | 'requests'

type Page<T> = PageOf & { [name in FeedName]?: T[] }

export interface Item {
  id: string
  seq?: number
}

const PAGE_SIZE = 200
/** Maximum number of rows in memory while the user looks at the newest rows. Older rows are fetched again on scrolling. */
const MAX_WATCHED = 5000

/**
 * A list with the newest item first. New items are added at the top, and older ones at the bottom when the user scrolls.
 *
 * While the user looks at older items, or has paused the list, new items are counted but not shown.
 */
export class Feed<T extends Item> {
  readonly items = signal<T[]>([])
  /** Number of new items that match but are not shown yet. */
  readonly waiting = signal(0)
  /** Ids of the items that were added to the top last. */
  readonly fresh = signal<ReadonlySet<string>>(new Set())
  readonly error = signal<RequestError | undefined>(undefined)
  readonly isLoading = signal(true)
  /** Whether the items belong to an earlier query, because the current query has no response yet or has failed. */
  readonly isStale = signal(true)
  readonly hasMore = signal(false)

  readonly #name: FeedName
  #question: Question = {}
  #next: string | null = null
  #head: string | undefined
  #gone = new AbortController()
  #isFetchingNewer = false
  #isFetchingOlder = false
  /** The `isHeld` of the last call of `follow` during a request; `undefined` if there was no such call. */
  #missedNews: boolean | undefined

  constructor(name: FeedName) {
    this.#name = name
  }

  /** Until there is a response, the old items stay, and `isStale` is true. */
  async ask(question: Question): Promise<void> {
    this.#question = question
    await this.reload()
  }

  async reload(): Promise<void> {
    this.#gone.abort()
    const gone = new AbortController()
    this.#gone = gone
    this.#isFetchingNewer = false
    this.#isFetchingOlder = false
    this.isLoading.value = true
    this.isStale.value = true
    try {
      const page = await this.#fetch({}, gone.signal)
      batch(() => {
        this.items.value = this.#itemsOf(page)
        this.isLoading.value = false
        this.isStale.value = false
        this.waiting.value = 0
        this.fresh.value = new Set()
        this.#head = page.head
        this.#turned(page)
      })
      this.#followMissed()
    } catch (cause) {
      this.#failed(cause, gone.signal)
    }
  }

  async loadOlder(): Promise<void> {
    if (this.#next === null || this.#isFetchingOlder || this.isLoading.peek()) return
    this.#isFetchingOlder = true
    const { signal } = this.#gone
    try {
      const page = await this.#fetch({ cursor: this.#next }, signal)
      batch(() => {
        this.items.value = [...this.items.value, ...this.#itemsOf(page)]
        this.#turned(page)
      })
    } catch (cause) {
      this.#failed(cause, signal)
    } finally {
      if (signal === this.#gone.signal) this.#isFetchingOlder = false
    }
  }

  /**
   * Adds or counts the items that have arrived since the last response.
   *
   * @param isHeld Whether the list must not move. New items are then only counted.
   */
  async follow(isHeld: boolean): Promise<void> {
    if (this.#isFetchingNewer || this.isLoading.peek()) {
      // The pending response may have been sent before the new items arrived.
      this.#missedNews = isHeld
      return
    }
    if (this.#head === undefined) return
    this.#isFetchingNewer = true
    const { signal } = this.#gone
    try {
      if (isHeld) await this.#countNewer(signal)
      else await this.#showNewer(signal)
    } catch (cause) {
      this.#failed(cause, signal)
    } finally {
      if (signal === this.#gone.signal) {
        this.#isFetchingNewer = false
        this.#followMissed()
      }
    }
  }

  #followMissed(): void {
    const isHeld = this.#missedNews
    this.#missedNews = undefined
    if (isHeld !== undefined) void this.follow(isHeld)
  }

  /** Fetches the visible items again, since some of them may have changed. */
  async refresh(visible: readonly T[]): Promise<void> {
    const numbers = visible.flatMap(({ seq }) => (seq === undefined ? [] : [seq]))
    if (numbers.length === 0) return
    const { signal } = this.#gone
    const range = { after: String(Math.min(...numbers) - 1), order: 'oldest', limit: String(numbers.length) }
    try {
      const page = await this.#fetch(range, signal)
      const byId = new Map(this.#itemsOf(page).map((item) => [item.id, item]))
      this.items.value = this.items.value.map((item) => byId.get(item.id) ?? item)
    } catch (cause) {
      this.#failed(cause, signal)
    }
  }

  close(): void {
    this.#gone.abort()
  }

  #itemsOf(page: Page<T>): T[] {
    return page[this.#name] ?? []
  }

  #fetch(more: Question, signal: AbortSignal): Promise<Page<T>> {
    const parameters = new URLSearchParams({
      ...this.#question,
      order: 'newest',
      limit: String(PAGE_SIZE),
      ...(this.#name === 'events' ? { view: 'summary' } : {}),
      ...more,
    })
    return getJson(`api/${this.#name}?${parameters}`, signal)
  }

  #turned(page: PageOf): void {
    this.#next = page.next
    this.error.value = undefined
    this.hasMore.value = page.next !== null
  }

  async #countNewer(signal: AbortSignal): Promise<void> {
    const after = this.#head ?? ''
    if (this.#name === 'requests') {
      // Their number cannot be asked for.
      this.waiting.value = this.#itemsOf(await this.#fetch({ after }, signal)).length
    } else {
      const parameters = new URLSearchParams({ ...this.#question, after })
      const { count } = await getJson<{ count: number }>(`api/count?${parameters}`, signal)
      this.waiting.value = count
    }
  }

  async #showNewer(signal: AbortSignal): Promise<void> {
    const page = await this.#fetch({ after: this.#head ?? '' }, signal)
    const newer = this.#itemsOf(page)
    batch(() => {
      this.#head = page.head
      this.waiting.value = 0
      this.error.value = undefined
      if (newer.length > 0) this.fresh.value = new Set(newer.map(({ id }) => id))
      if (page.next !== null) {
        // More than one page of items has arrived. The list starts again with the newest page, so that it has no gap.
        this.items.value = newer
        this.#turned(page)
        return
      }
      if (newer.length === 0) return
      this.items.value = [...newer, ...this.items.value]
    })
    if (this.items.peek().length > MAX_WATCHED) await this.reload()
  }

  #failed(cause: unknown, signal: AbortSignal): void {
    if (signal.aborted) return
    batch(() => {
      this.error.value = cause as RequestError
      this.isLoading.value = false
    })
  }
}
