import { FairQueue } from '../../fair-queue.ts'
import type { EventSummary } from '../../record.ts'
import type { EventGroup, NewEvent } from '../ports.ts'

/** A call of `append` with very many events becomes several appends. The events of each append are written in one commit. */
export interface Append {
  events: readonly NewEvent[]
  /** Set for `appendOnce`. These events are written in a separate commit. */
  groups?: readonly EventGroup[] | undefined
  /** Characters of all the messages. */
  size: number
  resolve(summaries: EventSummary[]): void
  reject(cause: unknown): void
}

/** The limit exists because a commit with SQLite blocks the event loop. It does not apply to `appendOnce`. */
export const EVENTS_PER_COMMIT = 1000
/** Characters of the messages. A commit of a single append may have more. */
const SIZE_PER_COMMIT = 4 * 1024 * 1024
const MAX_EVENTS = 100_000
/** The limit on characters in the queue: large events would fill the memory long before they reach `MAX_EVENTS`. */
const MAX_SIZE = 128 * 1024 * 1024

/** The sources take turns, by the number of their events. */
export class AppendQueue {
  readonly #waiting = new FairQueue<Append>()
  #waitingEvents = 0
  #unsettled = 0
  #size = 0

  get length(): number {
    return this.#waiting.length
  }

  get waitingEvents(): number {
    return this.#waitingEvents
  }

  /** The number of events that wait or are in a running commit. */
  get unsettledEvents(): number {
    return this.#unsettled
  }

  /** Resolves when the events are written; rejects at once when the queue is full. */
  add(what: Pick<Append, 'events' | 'groups'>): Promise<EventSummary[]> {
    const count = what.events.length
    const size = what.events.reduce((sum, { body }) => sum + (body?.length ?? 0), 0)
    const isOver =
      this.#unsettled + count > MAX_EVENTS || (this.#unsettled > 0 && this.#size + size > MAX_SIZE)
    if (isOver) return Promise.reject(new Error('too many events wait for the database'))
    this.#unsettled += count
    this.#size += size
    this.#waitingEvents += count
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#unsettled -= count
        this.#size -= size
      }
      this.#waiting.add(what.events[0]?.source ?? '', count, {
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
    const taken: Append[] = []
    let eventCount = 0
    let sum = 0
    for (let next = this.#waiting.peek(); next !== undefined; next = this.#waiting.peek()) {
      const { events, size, groups } = next
      const isFull = eventCount + events.length > EVENTS_PER_COMMIT || sum + size > SIZE_PER_COMMIT
      if (taken.length > 0 && (groups !== undefined || isFull)) break
      taken.push(next)
      this.#waiting.take()
      eventCount += events.length
      sum += size
      if (groups !== undefined) break
    }
    this.#waitingEvents -= eventCount
    return taken
  }

  takeAll(): Append[] {
    const taken: Append[] = []
    while (this.#waiting.length > 0) taken.push(...this.take())
    return taken
  }
}
