import type { EventSummary } from '../record.ts'
import type { NewEvent } from './store.ts'

interface Waiting {
  events: readonly NewEvent[]
  resolve(summaries: EventSummary[]): void
  reject(cause: unknown): void
}

// So many events are written before the event loop gets its turn again; about 30 ms of work.
const EVENTS_PER_COMMIT = 2000

/**
 * Group commit: what several requests brought in one turn of the event loop is written in one transaction,
 * and each is answered when that has been committed.
 */
export class Writer {
  readonly #commit: (events: readonly NewEvent[]) => EventSummary[]
  readonly #onCommit: (summaries: readonly EventSummary[]) => void
  #waiting: Waiting[] = []
  #isScheduled = false

  /** @param onCommit Told of every commit, after the requests in it were settled. */
  constructor(
    commit: (events: readonly NewEvent[]) => EventSummary[],
    onCommit: (summaries: readonly EventSummary[]) => void,
  ) {
    this.#commit = commit
    this.#onCommit = onCommit
  }

  /**
   * Resolves when the events are in the database, with what became of each.
   * Rejects when they could not be written; then none of them was.
   */
  write(events: readonly NewEvent[]): Promise<EventSummary[]> {
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
      if (this.#waiting.length > 0) this.#schedule()
    })
  }

  /** Commits what waits, now. */
  flush(limit = Number.POSITIVE_INFINITY): void {
    const group: Waiting[] = []
    let size = 0
    while (this.#waiting.length > 0 && (group.length === 0 || size < limit)) {
      const next = this.#waiting.shift() as Waiting
      group.push(next)
      size += next.events.length
    }
    if (group.length > 0) this.#commitGroup(group)
  }

  #commitGroup(group: readonly Waiting[]): void {
    let summaries: EventSummary[]
    try {
      summaries = this.#commit(group.flatMap(({ events }) => events))
    } catch (cause) {
      if (group.length === 1) group[0]?.reject(cause)
      // One bad request must not cost the others theirs.
      else for (const one of group) this.#commitGroup([one])
      return
    }
    let start = 0
    for (const { events, resolve } of group) {
      resolve(summaries.slice(start, start + events.length))
      start += events.length
    }
    this.#onCommit(summaries)
  }
}
