import { setTimeout as sleep } from 'node:timers/promises'
import { type CollectorApi, type EventSummary, LostError, type News } from './collector-api.ts'

export interface FollowOptions {
  /** The collector's search line. */
  readonly q: string | undefined
  /** So many of the events that are there already come first. */
  readonly last: number
  /** Whether events come with their whole message. */
  readonly isFull: boolean
  /** Stops after so many events. */
  readonly count: number | undefined
  readonly signal: AbortSignal
  readonly onNote: (text: string) => void
}

/** Most events in one response. */
export const MAX_LIMIT = 1_000
const MAX_WAIT_MS = 5_000

/**
 * The events that a collector receives, in their order, each once. A lost connection is made again; events that came meanwhile follow.
 *
 * @throws CommandError when the collector refuses what is asked.
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
      const isNothingThere = !isFound && error.message.includes('ECONNREFUSED')
      const hint = isNothingThere ? '. Is there a collector? npx trackpost-collector starts one' : ''
      if (failures++ === 0) onNote(`${error.message}; trying again${hint}`)
      const waitMs = Math.min(MAX_WAIT_MS, 250 * 2 ** Math.min(failures, 6)) * (0.5 + Math.random() / 2)
      await sleep(waitMs, undefined, { signal }).catch(() => {})
    }
  }
}

/** New records since a place in the log, as far as they have been read. */
interface Pass {
  readonly after: string | undefined
  cursor?: string | undefined
  head?: string
}

/** Remembers up to where events were given out, also in the middle of a pass that a lost connection has ended. */
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
    if (!this.#hasStarted) {
      // Asked first: what is forgotten from now on is noticed.
      this.#forgetWhenNew(await this.#api.stats(signal))
      yield await this.#readLast()
      this.#hasStarted = true
    }
    for await (const news of this.#api.news(signal)) {
      this.#forgetWhenNew(news)
      if (news.head === this.#head && this.#pass === undefined) yield []
      else yield* this.#readNew()
    }
  }

  #forgetWhenNew({ epoch, lastSeq }: News): void {
    if ((this.#epoch ?? epoch) !== epoch || lastSeq < this.#lastSeq) {
      this.#options.onNote('the collector has forgotten its events')
      this.#head = undefined
      this.#pass = undefined
    }
    this.#epoch = epoch
    this.#lastSeq = lastSeq
  }

  async #readLast(): Promise<readonly EventSummary[]> {
    const { q, last, signal } = this.#options
    const limit = String(Math.max(1, Math.min(last, MAX_LIMIT)))
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
      // The first page's: what comes while the others are read is asked for next time.
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
