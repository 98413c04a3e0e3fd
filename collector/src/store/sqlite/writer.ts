import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventSummary } from '../../record.ts'
import type { EventLog, NewEvent, NewRequest, RequestLog } from '../ports.ts'

interface Waiting {
  events: readonly NewEvent[]
  resolve(summaries: EventSummary[]): void
  reject(cause: unknown): void
}

/** So many events are written before the event loop gets its turn again; about 30 ms of work. */
const EVENTS_PER_COMMIT = 1000
/** Requests that wait to be written down; more than that are not. */
const MAX_WAITING_REQUESTS = 10_000
const REQUESTS_PER_COMMIT = 1000
/** What a request id leaves for the requests of one opening of the database. */
const IDS_PER_OPENING = 2 ** 32

/** What a writer needs of the store. */
export interface WriterParts {
  commit(events: readonly NewEvent[], requests: readonly NewRequest[]): EventSummary[]
  /** Told of every commit, after the requests in it were settled. */
  onCommit(summaries: readonly EventSummary[], requests: readonly NewRequest[]): void
  onFault(what: string, cause: unknown): void
  /** How often the database has been opened: makes request ids unique. */
  opening: number
}

/**
 * Group commit: what several requests brought in one turn of the event loop is written in one transaction,
 * and each is answered when that has been committed. A request with more events than one commit takes is written in several,
 * so that the loop is never held for long.
 */
export class Writer implements EventLog {
  readonly #parts: WriterParts
  #waiting: Waiting[] = []
  #requests: NewRequest[] = []
  #isScheduled = false
  #lastRequest = 0

  constructor(parts: WriterParts) {
    this.#parts = parts
  }

  /** Takes requests in; they share the commits of events. */
  readonly requests: RequestLog = {
    nextId: () => {
      this.#lastRequest++
      return String(this.#parts.opening * IDS_PER_OPENING + this.#lastRequest)
    },
    append: (request) => {
      if (this.#requests.length >= MAX_WAITING_REQUESTS) return
      this.#requests.push(request)
      this.#schedule()
    },
  }

  /**
   * Resolves when the events are in the database, with what became of each.
   * Rejects when they could not be written; then none of them was, or of more than a commit takes only the first ones.
   */
  async append(events: readonly NewEvent[]): Promise<EventSummary[]> {
    if (events.length <= EVENTS_PER_COMMIT) return this.#enqueue(events)
    const summaries: EventSummary[] = []
    for (let start = 0; start < events.length; start += EVENTS_PER_COMMIT) {
      summaries.push(...(await this.#enqueue(events.slice(start, start + EVENTS_PER_COMMIT))))
      await nextTurn()
    }
    return summaries
  }

  #enqueue(events: readonly NewEvent[]): Promise<EventSummary[]> {
    if (events.length === 0) return Promise.resolve([])
    return new Promise((resolve, reject) => {
      this.#waiting.push({ events, resolve, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    // After the sockets that are readable now have been read: their requests share the commit.
    setImmediate(() => {
      this.#isScheduled = false
      this.flush(EVENTS_PER_COMMIT)
      if (this.#waiting.length > 0 || this.#requests.length > 0) this.#schedule()
    })
  }

  /** Commits what waits, now. */
  flush(limit = Number.POSITIVE_INFINITY): void {
    const group: Waiting[] = []
    let size = 0
    while (this.#waiting.length > 0) {
      const next = this.#waiting[0] as Waiting
      if (group.length > 0 && size + next.events.length > limit) break
      this.#waiting.shift()
      group.push(next)
      size += next.events.length
    }
    const requests = this.#requests.splice(0, Math.min(limit, REQUESTS_PER_COMMIT))
    if (group.length > 0 || requests.length > 0) this.#commitGroup(group, requests)
  }

  #commitGroup(group: readonly Waiting[], requests: readonly NewRequest[]): void {
    let summaries: EventSummary[]
    try {
      summaries = this.#parts.commit(
        group.flatMap(({ events }) => events),
        requests,
      )
    } catch (cause) {
      if (requests.length > 0) {
        // A request is written down for people to see; it must not cost an event.
        this.#parts.onFault('requests could not be recorded', cause)
        if (group.length > 0) this.#commitGroup(group, [])
      } else if (group.length === 1) group[0]?.reject(cause)
      // One bad request must not cost the others theirs.
      else for (const one of group) this.#commitGroup([one], [])
      return
    }
    let start = 0
    for (const { events, resolve } of group) {
      resolve(summaries.slice(start, start + events.length))
      start += events.length
    }
    this.#parts.onCommit(summaries, requests)
  }
}
