import type { EventSummary } from '../../record.ts'
import type { EventGroup, NewEvent } from '../ports.ts'

/** Events that are written in one commit: those of a call of `appendOnce`, or some or all of those of a call of `append`. */
export interface Append {
  events: readonly NewEvent[]
  /** Set for `appendOnce`. These events are written in a separate commit. */
  groups?: readonly EventGroup[] | undefined
  /** Number of characters of all the messages. */
  size: number
  resolve(summaries: EventSummary[]): void
  reject(cause: unknown): void
}

/** The maximum number of events in a commit, except for `appendOnce`. With SQLite, a commit blocks the event loop. */
export const EVENTS_PER_COMMIT = 1000
/** The maximum number of characters of the messages in a commit. A commit of a single append may have more. */
const SIZE_PER_COMMIT = 4 * 1024 * 1024
const MAX_EVENTS = 100_000
/** The limit on characters in the queue: large events would fill the memory long before they reach `MAX_EVENTS`. */
const MAX_SIZE = 128 * 1024 * 1024

/** The queue of appends that wait for a commit, with limits on the size of the queue and of a commit. */
export class AppendQueue {
  readonly #waiting: Append[] = []
  #unsettled = 0
  #size = 0

  /** The number of waiting appends. */
  get length(): number {
    return this.#waiting.length
  }

  /** The number of events in waiting appends. */
  get waitingEvents(): number {
    return this.#waiting.reduce((sum, { events }) => sum + events.length, 0)
  }

  /** The number of events that wait or are in a running commit. */
  get unsettledEvents(): number {
    return this.#unsettled
  }

  /** Adds an append. Resolves when its events are written; rejects at once when the queue is full. */
  add(what: Pick<Append, 'events' | 'groups'>): Promise<EventSummary[]> {
    const count = what.events.length
    const size = what.events.reduce((sum, { body }) => sum + (body?.length ?? 0), 0)
    const isOver =
      this.#unsettled + count > MAX_EVENTS || (this.#unsettled > 0 && this.#size + size > MAX_SIZE)
    if (isOver) return Promise.reject(new Error('too many events wait for the database'))
    this.#unsettled += count
    this.#size += size
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#unsettled -= count
        this.#size -= size
      }
      this.#waiting.push({
        events: what.events,
        groups: what.groups,
        size,
        resolve(summaries) {
          leave()
          resolve(summaries)
        },
        reject(cause) {
          leave()
          reject(cause)
        },
      })
    })
  }

  /** Removes and returns as many of the first appends as fit into one commit. */
  take(): Append[] {
    let count = 0
    let eventCount = 0
    let sum = 0
    for (const { events, size, groups } of this.#waiting) {
      const isFull = eventCount + events.length > EVENTS_PER_COMMIT || sum + size > SIZE_PER_COMMIT
      if (count > 0 && (groups !== undefined || isFull)) break
      count++
      eventCount += events.length
      sum += size
      if (groups !== undefined) break
    }
    return this.#waiting.splice(0, count)
  }

  /** Removes and returns all appends. */
  takeAll(): Append[] {
    return this.#waiting.splice(0)
  }
}
