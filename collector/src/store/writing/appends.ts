import type { EventSummary } from '../../record.ts'
import type { EventGroup, NewEvent } from '../ports.ts'

/** Events that somebody has brought, and waits for. */
export interface Append {
  events: readonly NewEvent[]
  /** Given for events that may come more than once: a commit of their own. */
  groups?: readonly EventGroup[] | undefined
  /** Characters of their messages. */
  size: number
  resolve(summaries: EventSummary[]): void
  reject(cause: unknown): void
}

/** So many events are written before the event loop gets its turn again. */
export const EVENTS_PER_COMMIT = 1000
/** Characters of the messages in a commit. */
const SIZE_PER_COMMIT = 4 * 1024 * 1024
const MAX_EVENTS = 100_000
/** Characters of their messages: large events would fill the memory long before there are so many. */
const MAX_SIZE = 128 * 1024 * 1024

/** Events that wait for a commit, in order, with a bound on them and on one commit. */
export class Appends {
  readonly #waiting: Append[] = []
  #unsettled = 0
  #size = 0

  /** How many wait. */
  get length(): number {
    return this.#waiting.length
  }

  /** Events that wait. */
  get waitingEvents(): number {
    return this.#waiting.reduce((sum, { events }) => sum + events.length, 0)
  }

  /** Events that wait or are in a commit. */
  get unsettledEvents(): number {
    return this.#unsettled
  }

  /** Resolves when the events are written. */
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

  /** The first of those that wait, as many as fit into one commit. */
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

  /** All that wait. */
  takeAll(): Append[] {
    return this.#waiting.splice(0)
  }
}
