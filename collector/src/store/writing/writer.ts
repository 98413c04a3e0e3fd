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
import { type Append, Appends, EVENTS_PER_COMMIT } from './appends.ts'
import type { Batch } from './batch.ts'
import { requestIds } from './request-ids.ts'

/** Requests that wait to be written down; more than that are not. */
const MAX_WAITING_REQUESTS = 10_000
const REQUESTS_PER_COMMIT = 1000
/** Requests are written down at once, and then not again for so long: for each by itself a commit would cost most of all. */
const REQUESTS_REST_MS = 200

/** From so many events that wait on, a second commit is begun beside the first. */
const EVENTS_FOR_SECOND_COMMIT = 200
/** From so many appends in one commit on it pays to collect more for the next one. */
const APPENDS_FOR_REST = 4
/** A rest is over when nothing has come for so long: everybody waits for the commit already. */
const QUIET_MS = 1

/** A database that cannot be reached is waited for this long; who waits longer is better told so. */
const PATIENCE_MS = 5000
const FIRST_DELAY_MS = 20
const MAX_DELAY_MS = 500
/** After that, everything is refused at once for this long, before it is tried again. */
const REFUSAL_MS = 1000

/** The parts of the store that a writer needs. */
export interface WriterParts {
  /** Writes a batch, or throws; once also when it is given again after a connection was lost. */
  commit(batch: Batch): EventSummary[] | Promise<EventSummary[]>
  /** Whether a commit failed for the data that were given: it fails again, and others do not. */
  isOfData(cause: unknown): boolean
  /** Whether the same may succeed in a moment. */
  isPassing(cause: unknown): boolean
  /** Commits at a time: while one is written the next one is prepared; more would only be smaller. */
  commitsAtATime: 1 | 2
  /**
   * The longest rest after a commit of a crowd, milliseconds; 0 = none. Where a commit costs the caller's own time for all that it
   * touches, what comes within some milliseconds is better written together.
   */
  restMs: number
  /** Told of every commit, after what it brought was settled. */
  onCommit(summaries: readonly EventSummary[], requests: readonly NewRequest[]): void
  onFault(what: string, cause: unknown): void
  /** How often the database has been opened: makes request ids unique. */
  opening: number
  clock: Clock
}

/**
 * Group commit: what several requests brought is written in one transaction, and each is answered when that has been committed. A single
 * caller never waits for others. While a commit is under way the next one fills up, so that the slower the database is, the
 * fewer and larger they get. A request with more events than one commit takes is written in several.
 */
export class Writer implements EventLog {
  readonly #parts: WriterParts
  readonly #nextRequestId: () => string
  readonly #appends = new Appends()
  readonly #requests: NewRequest[] = []
  readonly #underWay = new Set<Promise<void>>()
  #cancelTurn: (() => void) | undefined
  #isHeld = false
  #isClosed = false
  #restsUntilMs = Number.NEGATIVE_INFINITY
  #requestsRestUntilMs = Number.NEGATIVE_INFINITY
  #isRequestTimerSet = false
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
    return this.#appends.unsettledEvents
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

  /** Begins no commit until `resume`. The loop goes on meanwhile, and what comes in waits. */
  hold(): void {
    this.#isHeld = true
    this.#cancelTurn?.()
    this.#cancelTurn = undefined
  }

  resume(): void {
    this.#isHeld = false
    this.#schedule()
  }

  /**
   * Resolves when the events are in the database, with what became of each.
   * Rejects when they could not be written; then none of them was, or of more than a commit takes only the first ones. A database
   * that is lost while it commits may have them all the same; events that come again are then known by their messageIds.
   */
  async append(events: readonly NewEvent[]): Promise<EventSummary[]> {
    if (events.length <= EVENTS_PER_COMMIT) return events.length === 0 ? [] : this.#wait({ events })
    const summaries: EventSummary[] = []
    for (let start = 0; start < events.length; start += EVENTS_PER_COMMIT)
      summaries.push(...(await this.#wait({ events: events.slice(start, start + EVENTS_PER_COMMIT) })))
    return summaries
  }

  async appendOnce(groups: readonly EventGroup[]): Promise<void> {
    if (groups.length === 0) return
    const keys = new Set<string>()
    const distinct = groups.filter(({ key }) => !keys.has(key) && keys.add(key))
    try {
      await this.#wait({ events: distinct.flatMap(({ events }) => events), groups: distinct })
    } catch (cause) {
      throw this.#parts.isOfData(cause) ? new RefusedError((cause as Error).message, { cause }) : cause
    }
  }

  #wait(what: Pick<Append, 'events' | 'groups'>): Promise<EventSummary[]> {
    if (this.#isClosed) return Promise.reject(new Error('the store is closed'))
    if (this.#refusesUntilMs > this.#parts.clock.monotonic()) return Promise.reject(this.#failure)
    const written = this.#appends.add(what)
    this.#schedule()
    return written
  }

  #schedule(): void {
    if (this.#cancelTurn !== undefined || !this.#mayBegin()) return
    const { clock } = this.#parts
    if (this.#restsUntilMs > clock.monotonic() && !this.#isClosed) return this.#rest()
    // After the sockets that are readable now have been read: their requests share the commit.
    const turn = setImmediate(() => this.#beginAll())
    this.#cancelTurn = () => clearImmediate(turn)
  }

  #rest(): void {
    const { clock } = this.#parts
    const { length } = this.#appends
    this.#cancelTurn = clock.setTimer(() => {
      const isOver = this.#restsUntilMs <= clock.monotonic() || this.#appends.length === length
      if (isOver) this.#beginAll()
      else this.#rest()
    }, QUIET_MS)
  }

  #beginAll(): void {
    this.#cancelTurn = undefined
    while (this.#mayBegin()) this.#begin()
  }

  #mayBegin(): boolean {
    if (this.#isHeld && !this.#isClosed) return false
    if (this.#appends.length === 0 && !this.#areRequestsDue()) return false
    if (this.#underWay.size === 0 || this.#isClosed) return true
    return (
      this.#underWay.size < this.#parts.commitsAtATime &&
      this.#appends.waitingEvents >= EVENTS_FOR_SECOND_COMMIT
    )
  }

  #areRequestsDue(): boolean {
    if (this.#requests.length === 0) return false
    return this.#isClosed || this.#requestsRestUntilMs <= this.#parts.clock.monotonic()
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

  #begin(): void {
    const { clock, restMs } = this.#parts
    const areRequestsDue = this.#areRequestsDue()
    const group = this.#appends.take()
    const requests = areRequestsDue ? this.#requests.splice(0, REQUESTS_PER_COMMIT) : []
    // The rest is written at once as well.
    if (areRequestsDue && this.#requests.length === 0)
      this.#requestsRestUntilMs = clock.monotonic() + REQUESTS_REST_MS
    const one: Promise<void> = this.#commit(group, requests).finally(() => {
      this.#underWay.delete(one)
      const isRest = group.length >= APPENDS_FOR_REST && this.#appends.length === 0
      if (isRest) this.#restsUntilMs = clock.monotonic() + restMs
      this.#schedule()
    })
    this.#underWay.add(one)
  }

  async #commit(group: readonly Append[], requests: readonly NewRequest[]): Promise<void> {
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

  async #failed(group: readonly Append[], requests: readonly NewRequest[], cause: unknown): Promise<void> {
    const { isPassing, onFault } = this.#parts
    if (requests.length > 0) onFault('requests could not be recorded', cause)
    if (isPassing(cause) || group.length === 0) for (const { reject } of group) reject(cause)
    // A request is written down for people to see; it must not cost an event.
    else if (requests.length > 0) await this.#commit(group, [])
    // One append that is bad, or too large for the room that is left, must not cost the others theirs.
    else if (group.length > 1) for (const one of group) await this.#commit([one], [])
    else group[0]?.reject(cause)
  }

  /** Tries as long as it is the moment that fails, and somebody may still be waiting. */
  async #write(batch: Batch): Promise<EventSummary[]> {
    const { clock, commit, isOfData, isPassing } = this.#parts
    const startMs = clock.monotonic()
    for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(MAX_DELAY_MS, delayMs * 2)) {
      try {
        const summaries = await commit(batch)
        this.recovered()
        return summaries
      } catch (cause) {
        // Data that are refused say nothing about the database.
        if (!isOfData(cause)) this.#failure = cause
        if (!isPassing(cause)) throw cause
        if (this.#isClosed || clock.monotonic() - startMs + delayMs > PATIENCE_MS) {
          this.#refuse(cause)
          throw cause
        }
      }
      await sleep(clock, delayMs)
    }
  }

  /** Whoever waits for a database that cannot be reached is told so now, and so are those who come in the next moment. */
  #refuse(cause: unknown): void {
    this.#refusesUntilMs = this.#parts.clock.monotonic() + REFUSAL_MS
    for (const { reject } of this.#appends.takeAll()) reject(cause)
  }

  /** Takes nothing any more, and resolves when what waits is written, or cannot be. */
  async close(): Promise<void> {
    this.#isClosed = true
    do {
      while (this.#mayBegin()) this.#begin()
      await Promise.all(this.#underWay)
    } while (this.#mayBegin())
  }
}

function batchOf(group: readonly Append[], requests: readonly NewRequest[]): Batch {
  const groups = group[0]?.groups
  if (groups !== undefined) return { groups, requests, isOnce: true }
  const events = group.flatMap((one) => one.events)
  return { groups: [{ key: randomUUID(), events }], requests, isOnce: false }
}
