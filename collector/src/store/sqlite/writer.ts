import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../clock.ts'
import type { EventSummary } from '../../record.ts'
import type { EventGroup, EventLog, NewEvent, NewRequest, RequestLog } from '../ports.ts'
import { requestIds } from '../request-ids.ts'
import { refusalOf } from './consumed.ts'

interface Waiting {
  events: readonly NewEvent[]
  /** Given for events that may come more than once: a commit of their own. */
  groups?: readonly EventGroup[]
  resolve(summaries: EventSummary[]): void
  reject(cause: unknown): void
}

/** So many events are written before the event loop gets its turn again; about 30 ms of work. */
const EVENTS_PER_COMMIT = 1000
/** Requests that wait to be written down; more than that are not. */
const MAX_WAITING_REQUESTS = 10_000
const REQUESTS_PER_COMMIT = 1000
/** Requests are written down at once, and then not again for so long: for each by itself a commit would cost most of all. */
const REQUESTS_REST_MS = 200

/** From so many appends in one commit on it pays to collect more for the next one. */
const CROWD = 4
/**
 * The longest rest after a commit of a crowd. Every commit writes all pages that it touches, and what comes within some milliseconds
 * touches mostly the same ones. Longer ones make it no cheaper, and fifty clients that wait for their responses send no faster
 * than a rest and a commit allow.
 */
const MAX_REST_MS = 4
/** The rest is over when nothing has come for so long: everybody waits for the commit already. */
const QUIET_MS = 1

/** What a writer needs of the store. */
export interface WriterParts {
  commit(events: readonly NewEvent[], requests: readonly NewRequest[]): EventSummary[]
  /** The same for those of the groups that are not known. */
  commitOnce(groups: readonly EventGroup[], requests: readonly NewRequest[]): EventSummary[]
  /** Told of every commit, after the requests in it were settled. */
  onCommit(summaries: readonly EventSummary[], requests: readonly NewRequest[]): void
  onFault(what: string, cause: unknown): void
  /** How often the database has been opened: makes request ids unique. */
  opening: number
  clock: Clock
}

/**
 * Group commit: what several requests brought is written in one transaction, and each is answered when that has been
 * committed. A single caller never waits for others; when many come at a time, commits keep a distance, since each has a price
 * of its own. A request with more events than one commit takes is written in several, so that the loop is never held for long.
 */
export class Writer implements EventLog {
  readonly #parts: WriterParts
  readonly #nextRequestId: () => string
  readonly #waiting: Waiting[] = []
  readonly #requests: NewRequest[] = []
  #cancel: (() => void) | undefined
  #isHeld = false
  #restsUntilMs = Number.NEGATIVE_INFINITY
  #requestsRestUntilMs = Number.NEGATIVE_INFINITY
  #isRequestTimerSet = false

  constructor(parts: WriterParts) {
    this.#parts = parts
    this.#nextRequestId = requestIds(parts.opening)
  }

  /** Takes requests in; they share the commits of events. */
  readonly requests: RequestLog = {
    nextId: () => this.#nextRequestId(),
    append: (request) => {
      if (this.#requests.length >= MAX_WAITING_REQUESTS) return
      this.#requests.push(request)
      this.#scheduleRequests()
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

  async appendOnce(groups: readonly EventGroup[]): Promise<void> {
    if (groups.length === 0) return
    const events = groups.flatMap((group) => group.events)
    await this.#wait({ events, groups }).catch((cause) => {
      throw refusalOf(cause)
    })
  }

  #enqueue(events: readonly NewEvent[]): Promise<EventSummary[]> {
    return events.length === 0 ? Promise.resolve([]) : this.#wait({ events })
  }

  #wait(what: Pick<Waiting, 'events' | 'groups'>): Promise<EventSummary[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...what, resolve, reject })
      this.#schedule()
    })
  }

  /** Events that wait for a commit. */
  get waitingEvents(): number {
    return this.#waiting.reduce((sum, { events }) => sum + events.length, 0)
  }

  /** Writes nothing until `resume`. The loop goes on meanwhile, and what comes in waits. */
  hold(): void {
    this.#isHeld = true
    this.#cancel?.()
    this.#cancel = undefined
  }

  resume(): void {
    this.#isHeld = false
    this.#schedule()
  }

  #schedule(): void {
    const hasWork = this.#waiting.length > 0 || this.#areRequestsDue()
    if (!hasWork || this.#isHeld || this.#cancel !== undefined) return
    const { clock } = this.#parts
    const run = () => {
      this.#cancel = undefined
      this.#commitSome()
      this.#schedule()
    }
    const rest = () => {
      const { length } = this.#waiting
      this.#cancel = clock.setTimer(() => {
        const isOver = this.#restsUntilMs <= clock.monotonic() || this.#waiting.length === length
        if (isOver) run()
        else rest()
      }, QUIET_MS)
    }
    if (this.#restsUntilMs > clock.monotonic()) return rest()
    // After the sockets that are readable now have been read: their requests share the commit.
    const immediate = setImmediate(run)
    this.#cancel = () => clearImmediate(immediate)
  }

  #areRequestsDue(): boolean {
    return this.#requests.length > 0 && this.#requestsRestUntilMs <= this.#parts.clock.monotonic()
  }

  #scheduleRequests(): void {
    if (this.#areRequestsDue()) return this.#schedule()
    if (this.#isRequestTimerSet) return
    this.#isRequestTimerSet = true
    const { clock } = this.#parts
    clock.setTimer(() => {
      this.#isRequestTimerSet = false
      if (this.#requests.length > 0) this.#scheduleRequests()
    }, this.#requestsRestUntilMs - clock.monotonic())
  }

  #commitSome(): void {
    const { clock } = this.#parts
    const areRequestsDue = this.#areRequestsDue()
    const group = this.#take(EVENTS_PER_COMMIT)
    const requests = areRequestsDue ? this.#requests.splice(0, REQUESTS_PER_COMMIT) : []
    this.#commitGroup(group, requests)
    const endMs = clock.monotonic()
    // What did not fit into this commit waits no longer.
    const isRest = group.length >= CROWD && this.#waiting.length === 0
    this.#restsUntilMs = isRest ? endMs + MAX_REST_MS : endMs
    if (!areRequestsDue) return
    // What did not fit is written at once as well.
    if (this.#requests.length === 0) this.#requestsRestUntilMs = endMs + REQUESTS_REST_MS
  }

  /** The first of those that wait, as many as fit into one commit. */
  #take(limit: number): Waiting[] {
    let count = 0
    let size = 0
    for (const { events, groups } of this.#waiting) {
      if (count > 0 && (groups !== undefined || size + events.length > limit)) break
      count++
      size += events.length
      if (groups !== undefined) break
    }
    return this.#waiting.splice(0, count)
  }

  /** Commits all that waits, now. */
  flush(): void {
    do this.#commitGroup(this.#take(Number.POSITIVE_INFINITY), this.#requests.splice(0))
    while (this.#waiting.length > 0)
  }

  #commitGroup(group: readonly Waiting[], requests: readonly NewRequest[]): void {
    if (group.length === 0 && requests.length === 0) return
    let summaries: EventSummary[]
    try {
      summaries = this.#write(group, requests)
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

  #write(group: readonly Waiting[], requests: readonly NewRequest[]): EventSummary[] {
    const groups = group[0]?.groups
    if (groups !== undefined) return this.#parts.commitOnce(groups, requests)
    return this.#parts.commit(
      group.flatMap(({ events }) => events),
      requests,
    )
  }
}
