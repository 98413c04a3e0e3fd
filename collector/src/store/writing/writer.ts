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
import { type Append, AppendQueue, EVENTS_PER_COMMIT } from './append-queue.ts'
import type { Batch } from './batch.ts'
import { requestIds } from './request-ids.ts'

/** Further records of requests are dropped. */
const MAX_WAITING_REQUESTS = 10_000
const REQUESTS_PER_COMMIT = 1000
/** Shortest time between two commits with records of requests, because a commit for each request would cost too much. */
const REQUESTS_REST_MS = 200

/** If at least this many events wait, a second commit is started while the first one is running. */
const EVENTS_FOR_SECOND_COMMIT = 200
/** After a commit of at least this many appends, the writer rests: it pauses to collect appends for the next commit. */
const APPENDS_FOR_REST = 4
/** A rest ends early when no append has arrived for this time: probably all clients are already waiting for the next commit. */
const QUIET_MS = 1

/** How long a commit is repeated while the database is unreachable. */
const PATIENCE_MS = 5000
const FIRST_DELAY_MS = 20
const MAX_DELAY_MS = 500
/** After a commit has failed for `PATIENCE_MS`, all appends are refused at once for this time. */
const REFUSAL_MS = 1000

export interface WriterParts {
  /** A batch that is passed again after a lost connection must be written only once. */
  commit(batch: Batch): EventSummary[] | Promise<EventSummary[]>
  /** Whether the data caused a commit to fail: the same data would fail again, but other data may be written. */
  isDataError(cause: unknown): boolean
  /** Whether the same commit may succeed if it is repeated soon. */
  isTransient(cause: unknown): boolean
  /** More than two concurrent commits would only make the commits smaller. */
  commitsAtATime: 1 | 2
  /**
   * The longest rest after a commit of several appends; 0 = no rest. A rest saves time if commits block this thread, because
   * one commit takes less time than several commits with the same events.
   */
  restMs: number
  /** Called after every commit, once its appends are settled. */
  onCommit(summaries: readonly EventSummary[], requests: readonly NewRequest[]): void
  onFault(what: string, cause: unknown): void
  /** How often the database has been opened. Request ids contain this number, which makes them unique. */
  opening: number
  clock: Clock
}

/**
 * Group commit: the events of several requests are written in one transaction, and each request gets its response when the
 * transaction is committed. A single append is written at once. Appends that arrive during a commit are written together in the
 * next one, so a slower database gets fewer and larger commits.
 */
export class Writer implements EventLog {
  readonly #parts: WriterParts
  readonly #nextRequestId: () => string
  readonly #appends = new AppendQueue()
  readonly #requests: NewRequest[] = []
  readonly #runningCommits = new Set<Promise<void>>()
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

  /** Records of requests are written in the same commits as events. */
  readonly requests: RequestLog = {
    nextId: () => this.#nextRequestId(),
    append: (request) => {
      if (this.#requests.length >= MAX_WAITING_REQUESTS || this.#isClosed) return
      this.#requests.push(request)
      this.#scheduleRequests()
    },
  }

  /** Includes the events of running commits. */
  get waitingEvents(): number {
    return this.#appends.unsettledEvents
  }

  /** The error of the last commit; undefined when the database can be written to. */
  get failure(): unknown {
    return this.#failure
  }

  /** Called when a health check or a commit has shown that the database can be written to again. */
  recovered(): void {
    this.#failure = undefined
    this.#refusesUntilMs = Number.NEGATIVE_INFINITY
  }

  /** Prevents new commits until `resume` is called or the writer is closed. Incoming events wait. */
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
   * After a rejection, no event was written, with two exceptions. If the events need more than one commit, the first ones may
   * be written. If the connection was lost during a commit, the database may have stored its events. When a client sends such
   * events again, they are duplicates.
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
      throw this.#parts.isDataError(cause) ? new RefusedError((cause as Error).message, { cause }) : cause
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
    // `setImmediate` runs after all readable sockets have been read, so that the requests from these sockets share the commit.
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
    if (this.#runningCommits.size === 0 || this.#isClosed) return true
    return (
      this.#runningCommits.size < this.#parts.commitsAtATime &&
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
    // While records of requests remain, the next commit does not wait.
    if (areRequestsDue && this.#requests.length === 0)
      this.#requestsRestUntilMs = clock.monotonic() + REQUESTS_REST_MS
    const one: Promise<void> = this.#commit(group, requests).finally(() => {
      this.#runningCommits.delete(one)
      const isRest = group.length >= APPENDS_FOR_REST && this.#appends.length === 0
      if (isRest) this.#restsUntilMs = clock.monotonic() + restMs
      this.#schedule()
    })
    this.#runningCommits.add(one)
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
      // `appendOnce` ignores the summaries.
      resolve(groups === undefined ? summaries.slice(start, start + events.length) : summaries)
      start += events.length
    }
    this.#parts.onCommit(summaries, requests)
  }

  async #failed(group: readonly Append[], requests: readonly NewRequest[], cause: unknown): Promise<void> {
    const { isTransient, onFault } = this.#parts
    if (requests.length > 0) onFault('requests could not be recorded', cause)
    if (isTransient(cause) || group.length === 0) for (const { reject } of group) reject(cause)
    // Records of requests are only shown to people. No event may be lost because of them.
    else if (requests.length > 0) await this.#commit(group, [])
    // One append may have bad data or be too large for the disk. The other appends are committed without it.
    else if (group.length > 1) for (const one of group) await this.#commit([one], [])
    else group[0]?.reject(cause)
  }

  async #write(batch: Batch): Promise<EventSummary[]> {
    const { clock, commit, isDataError, isTransient } = this.#parts
    const startMs = clock.monotonic()
    for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(MAX_DELAY_MS, delayMs * 2)) {
      try {
        const summaries = await commit(batch)
        this.recovered()
        return summaries
      } catch (cause) {
        // An error that is caused by the data does not mean that the database cannot be written to.
        if (!isDataError(cause)) this.#failure = cause
        if (!isTransient(cause)) throw cause
        if (this.#isClosed || clock.monotonic() - startMs + delayMs > PATIENCE_MS) {
          this.#refuse(cause)
          throw cause
        }
      }
      await sleep(clock, delayMs)
    }
  }

  #refuse(cause: unknown): void {
    this.#refusesUntilMs = this.#parts.clock.monotonic() + REFUSAL_MS
    for (const { reject } of this.#appends.takeAll()) reject(cause)
  }

  /** Refuses further appends. Resolves when all waiting appends and records of requests are written or have failed. */
  async close(): Promise<void> {
    this.#isClosed = true
    do {
      while (this.#mayBegin()) this.#begin()
      await Promise.all(this.#runningCommits)
    } while (this.#mayBegin())
  }
}

function batchOf(group: readonly Append[], requests: readonly NewRequest[]): Batch {
  const groups = group[0]?.groups
  if (groups !== undefined) return { groups, requests, isOnce: true }
  const events = group.flatMap((one) => one.events)
  return { groups: [{ key: randomUUID(), events }], requests, isOnce: false }
}
