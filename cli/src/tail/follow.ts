import { setTimeout as sleep } from 'node:timers/promises'
import { type CollectorApi, type EventSummary, LostError, type News } from './collector-api.ts'

export interface FollowOptions {
  /** A search in the syntax of the collector's search box. */
  readonly q: string | undefined
  /** Existing events to print first. */
  readonly last: number
  /** Whether the events include the complete message. */
  readonly isFull: boolean
  /** Stops after this many events. Default: no limit. */
  readonly count: number | undefined
  readonly signal: AbortSignal
  readonly onNote: (text: string) => void
}

/** Events in one response. */
export const MAX_LIMIT = 1_000
const MAX_WAIT_MS = 5_000
/** How often the collector is asked. */
const POLL_MS = 500

/**
 * Yields the events that a collector receives, in order and without repetition. Reconnects after a lost connection, and then
 * yields the events that have arrived in the meantime.
 *
 * @throws CommandError when the collector refuses the request.
 */
export async function* follow(api: CollectorApi, options: FollowOptions): AsyncGenerator<EventSummary> {
  const { count = Number.POSITIVE_INFINITY, signal, onNote } = options
  const reader = new Reader(api, options)
  let given = 0
  let failures = 0
  let isFound = false
  while (!signal.aborted) {
    try {
      for await (const events of reader.read()) {
        if (failures > 0) onNote('connected')
        failures = 0
        isFound = true
        for (const event of events) {
          yield event
          if (++given >= count) return
        }
      }
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof LostError)) throw error
      if (failures++ === 0) onNote(`${error.message}; trying again${isFound ? '' : hintOf(error)}`)
      const waitMs = Math.min(MAX_WAIT_MS, 250 * 2 ** Math.min(failures, 6)) * (0.5 + Math.random() / 2)
      await sleep(waitMs, undefined, { signal }).catch(() => {})
    }
  }
}

/** What may be wrong if there was no connection yet. */
function hintOf({ message }: LostError): string {
  if (message.includes('ECONNREFUSED')) return '. Is there a collector? npx trackpost-collector starts one'
  if (message.includes('ENOTFOUND')) return '. Is the name of the host right?'
  return ''
}

/** The pages of new events after a position. If the connection is lost, the next read continues at `cursor`. */
interface Pass {
  readonly after: string | undefined
  cursor?: string | undefined
  head?: string
}

/** After a lost connection, even between two pages, the next read continues after the last page that arrived. */
class Reader {
  readonly #api: CollectorApi
  readonly #options: FollowOptions
  #head: string | undefined
  #pass: Pass | undefined
  #epoch: number | undefined
  #lastSeq = 0
  #hasStarted = false

  constructor(api: CollectorApi, options: FollowOptions) {
    this.#api = api
    this.#options = options
  }

  async *read(): AsyncGenerator<readonly EventSummary[]> {
    const { signal } = this.#options
    while (!signal.aborted) {
      // First the epoch, so that a deletion after this point is noticed.
      const news = await this.#api.stats(signal)
      this.#forgetWhenNew(news)
      if (!this.#hasStarted) yield await this.#readLast()
      else if (news.head === this.#head && this.#pass === undefined) yield []
      else yield* this.#readNew()
      this.#hasStarted = true
      await sleep(POLL_MS, undefined, { signal }).catch(() => {})
    }
  }

  #forgetWhenNew({ epoch, lastSeq }: News): void {
    if ((this.#epoch ?? epoch) !== epoch || lastSeq < this.#lastSeq) {
      this.#options.onNote('the events of the collector were deleted')
      this.#head = undefined
      this.#pass = undefined
    }
    this.#epoch = epoch
    this.#lastSeq = lastSeq
  }

  async #readLast(): Promise<readonly EventSummary[]> {
    const { q, count = MAX_LIMIT, signal } = this.#options
    // With a count, the newest events are wanted, not the oldest of the last ones.
    const last = Math.min(this.#options.last, count, MAX_LIMIT)
    const limit = String(Math.max(1, last))
    const page = await this.#api.events({ q, order: 'newest', limit, view: this.#view }, signal)
    this.#head = page.head
    return last === 0 ? [] : [...page.events].reverse()
  }

  async *#readNew(): AsyncGenerator<readonly EventSummary[]> {
    const { q, signal } = this.#options
    this.#pass ??= { after: this.#head }
    const pass = this.#pass
    const query = { q, after: pass.after, order: 'oldest', limit: String(MAX_LIMIT), view: this.#view }
    do {
      const page = await this.#api.events({ ...query, cursor: pass.cursor }, signal)
      // From the first page: events that arrive while the other pages are read belong to the next read.
      pass.head ??= page.head
      pass.cursor = page.next ?? undefined
      yield page.events
    } while (pass.cursor !== undefined)
    this.#head = pass.head
    this.#pass = undefined
  }

  get #view(): string {
    return this.#options.isFull ? 'full' : 'summary'
  }
}
