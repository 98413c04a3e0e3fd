import { randomUUID } from 'node:crypto'
import { type Clock, sleep } from '../../clock.ts'
import type { EventSummary } from '../../record.ts'
import {
  type EventGroup,
  type EventLog,
  type NewEvent,
  type NewRequest,
  RefusedError,
  type RequestLog,
} from '../ports.ts'
import { requestIds } from '../request-ids.ts'
import type { Batch } from './commit.ts'
import { isOfData } from './database.ts'
import { isPassing } from './passing.ts'

interface Waiting {
  events: readonly NewEvent[]
  /** Characters of their messages. */
  size: number
  /** Given for events that may come more than once: a commit of their own. */
  groups?: readonly EventGroup[]
  resolve(summaries: EventSummary[]): void
  reject(cause: unknown): void
}

const EVENTS_PER_COMMIT = 1000
/** Characters of the messages in a commit. */
const SIZE_PER_COMMIT = 4 * 1024 * 1024
/** While one commit is written the next one is prepared; more at a time would only be smaller. */
const COMMITS_AT_A_TIME = 2
/** So much must wait that a second commit is begun beside the first. */
const CROWD = 200
const MAX_WAITING_EVENTS = 100_000
/** Characters of their messages: large events would fill the memory long before there are so many. */
const MAX_WAITING_SIZE = 128 * 1024 * 1024
const MAX_WAITING_REQUESTS = 10_000
const REQUESTS_PER_COMMIT = 1000
/** Requests are written down together with events, or by themselves after so long. */
const REQUESTS_REST_MS = 200

/** A database that is away is waited for this long; who waits longer is better told so. */
const PATIENCE_MS = 5000
const FIRST_DELAY_MS = 20
const MAX_DELAY_MS = 500
/** After that, everything is refused at once for this long, before it is tried again. */
const REFUSAL_MS = 1000

/** What a writer needs of the store. */
export interface WriterParts {
  /** Writes a batch, once also when it is given again after a connection was lost. */
  commit(batch: Batch): Promise<EventSummary[]>
  /** Told of every commit, after what it brought was settled. */
  onCommit(summaries: readonly EventSummary[], requests: readonly NewRequest[]): void
  onFault(what: string, cause: unknown): void
  /** How often the database has been opened: makes request ids unique. */
  opening: number
  clock: Clock
}

/**
 * Group commit: what several requests brought is written in one transaction, and each is answered when that has been committed.
 * While a commit is under way the next one fills up, so that the slower the database is, the fewer and larger they get.
 */
export class Writer implements EventLog {
  readonly #parts: WriterParts
  readonly #nextRequestId: () => string
  readonly #waiting: Waiting[] = []
  readonly #requests: NewRequest[] = []
  readonly #underWay = new Set<Promise<void>>()
  #waitingEvents = 0
  #waitingSize = 0
  #isScheduled = false
  #isRequestTimerSet = false
  #areRequestsDue = false
  #isClosed = false
  #failure: unknown
  #refusesUntilMs = Number.NEGATIVE_INFINITY

  constructor(parts: WriterParts) {
    this.#parts = parts
    this.#nextRequestId = requestIds(parts.opening)
  }

  /** Takes requests in; they share the commits of events. */
  readonly requests: RequestLog = {
    nextId: () => this.#nextRequestId(),
    append: (request) => {
      if (this.#requests.length >= MAX_WAITING_REQUESTS || this.#isClosed) return
      this.#requests.push(request)
      this.#scheduleRequests()
    },
  }

  /** Events that wait for a commit or are in one. */
  get waitingEvents(): number {
    return this.#waitingEvents
  }

  /** Why the database cannot be written to; undefined when the last commit was written. */
  get failure(): unknown {
    return this.#failure
  }

  /** The database can be written to again, as somebody else has found out. */
  recovered(): void {
    this.#failure = undefined
    this.#refusesUntilMs = Number.NEGATIVE_INFINITY
  }

  /**
   * Resolves when the events are in the database, with what became of each.
   * Rejects when they could not be written; then none of them was, or of more than a commit takes only the first ones. A database
   * that is lost while it commits may have them all the same; events that come again are then known by their messageIds.
   */
  async append(events: readonly NewEvent[]): Promise<EventSummary[]> {
    const summaries: EventSummary[] = []
    for (let start = 0; start < events.length; start += EVENTS_PER_COMMIT) {
      const part =
        events.length <= EVENTS_PER_COMMIT ? events : events.slice(start, start + EVENTS_PER_COMMIT)
      const kept = await this.#wait({ events: part })
      if (part === events) return kept
      summaries.push(...kept)
    }
    return summaries
  }

  async appendOnce(groups: readonly EventGroup[]): Promise<void> {
    if (groups.length === 0) return
    const keys = new Set<string>()
    const distinct = groups.filter(({ key }) => !keys.has(key) && keys.add(key))
    try {
      await this.#wait({ events: distinct.flatMap(({ events }) => events), groups: distinct })
    } catch (cause) {
      throw isOfData(cause) ? new RefusedError((cause as Error).message, { cause }) : cause
    }
  }

  #wait(what: Pick<Waiting, 'events' | 'groups'>): Promise<EventSummary[]> {
    if (this.#isClosed) return Promise.reject(new Error('the store is closed'))
    if (this.#refusesUntilMs > this.#parts.clock.monotonic()) return Promise.reject(this.#failure)
    const size = what.events.reduce((sum, { body }) => sum + (body?.length ?? 0), 0)
    const isOver =
      this.#waitingEvents + what.events.length > MAX_WAITING_EVENTS ||
      (this.#waitingEvents > 0 && this.#waitingSize + size > MAX_WAITING_SIZE)
    if (isOver) return Promise.reject(new Error('too many events wait for the database'))
    this.#waitingEvents += what.events.length
    this.#waitingSize += size
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...what, size, resolve, reject })
      this.#schedule()
    })
  }

  #scheduleRequests(): void {
    if (this.#isRequestTimerSet) return
    this.#isRequestTimerSet = true
    this.#parts.clock.setTimer(() => {
      this.#isRequestTimerSet = false
      this.#areRequestsDue = this.#requests.length > 0
      this.#schedule()
    }, REQUESTS_REST_MS)
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    // After the sockets that are readable now have been read: their requests share the commit.
    setImmediate(() => {
      this.#isScheduled = false
      while (this.#mayBegin()) this.#begin()
    })
  }

  #mayBegin(): boolean {
    if (this.#waiting.length === 0 && !this.#areRequestsDue) return false
    if (this.#underWay.size === 0 || this.#isClosed) return true
    return (
      this.#underWay.size < COMMITS_AT_A_TIME &&
      this.#waiting.reduce((sum, { events }) => sum + events.length, 0) >= CROWD
    )
  }

  #begin(): void {
    const group = this.#take()
    const requests = this.#requests.splice(0, REQUESTS_PER_COMMIT)
    this.#areRequestsDue = this.#requests.length > 0
    const one: Promise<void> = this.#commitGroup(group, requests).finally(() => {
      for (const one of group) this.#letGo(one)
      this.#underWay.delete(one)
      this.#schedule()
    })
    this.#underWay.add(one)
  }

  /** The first of those that wait, as many as fit into one commit. */
  #take(): Waiting[] {
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

  async #commitGroup(group: readonly Waiting[], requests: readonly NewRequest[]): Promise<void> {
    if (group.length === 0 && requests.length === 0) return
    let summaries: EventSummary[]
    try {
      summaries = await this.#write(batchOf(group, requests))
    } catch (cause) {
      return this.#failed(group, requests, cause)
    }
    let start = 0
    for (const { events, groups, resolve } of group) {
      // Of groups nobody is told what became of each event; some may have been left out.
      resolve(groups === undefined ? summaries.slice(start, start + events.length) : summaries)
      start += events.length
    }
    this.#parts.onCommit(summaries, requests)
  }

  async #failed(group: readonly Waiting[], requests: readonly NewRequest[], cause: unknown): Promise<void> {
    if (requests.length > 0) this.#parts.onFault('requests could not be recorded', cause)
    if (!isOfData(cause) || group.length === 0) {
      for (const { reject } of group) reject(cause)
      return
    }
    // A request is written down for people to see; it must not cost an event.
    if (requests.length > 0) return this.#commitGroup(group, [])
    if (group.length === 1) return group[0]?.reject(cause)
    // One bad request must not cost the others theirs.
    for (const one of group) await this.#commitGroup([one], [])
  }

  /** Tries as long as it is the connection that fails, and somebody may still be waiting. */
  async #write(batch: Batch): Promise<EventSummary[]> {
    const { clock } = this.#parts
    const startMs = clock.monotonic()
    for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(MAX_DELAY_MS, delayMs * 2)) {
      try {
        const summaries = await this.#parts.commit(batch)
        this.recovered()
        return summaries
      } catch (cause) {
        if (!isPassing(cause)) {
          // Data that are refused say nothing about the database.
          if (!isOfData(cause)) this.#failure = cause
          throw cause
        }
        this.#failure = cause
        if (this.#isClosed || clock.monotonic() - startMs + delayMs > PATIENCE_MS) {
          this.#refuse(cause)
          throw cause
        }
      }
      await sleep(clock, delayMs)
    }
  }

  /** Whoever waits for a database that is away is told so now, and so are those who come in the next moment. */
  #refuse(cause: unknown): void {
    this.#refusesUntilMs = this.#parts.clock.monotonic() + REFUSAL_MS
    for (const one of this.#waiting.splice(0)) {
      this.#letGo(one)
      one.reject(cause)
    }
  }

  #letGo({ events, size }: Waiting): void {
    this.#waitingEvents -= events.length
    this.#waitingSize -= size
  }

  /** Takes nothing any more, and resolves when what waits is written, or cannot be. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#areRequestsDue = this.#requests.length > 0
    do {
      while (this.#mayBegin()) this.#begin()
      await Promise.all(this.#underWay)
    } while (this.#mayBegin())
  }
}

function batchOf(group: readonly Waiting[], requests: readonly NewRequest[]): Batch {
  const groups = group[0]?.groups
  if (groups !== undefined) return { groups, requests, isOnce: true }
  const events = group.flatMap((one) => one.events)
  return { groups: [{ key: randomUUID(), events }], requests, isOnce: false }
}
