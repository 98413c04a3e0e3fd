import type { Clock } from '../clock.ts'
import type { EventRecord, EventSummary } from '../record.ts'
import { asksForStatus, type EventFilter, equals, searchOf } from '../search/filter.ts'
import type { Search } from '../search/syntax.ts'

/** What to wait for: a filter and how many records must match it. */
export interface WaitOptions extends EventFilter {
  /** Default 1. */
  count?: number
  /** Longest wait, milliseconds; default 5000. */
  timeout?: number
}

/** The wait ended without enough records; the message says what was there instead. */
export class WaitTimeoutError extends Error {
  override readonly name = 'WaitTimeoutError'
  readonly code = 'wait_timeout'
  /** How many records matched. */
  readonly found: number

  constructor(message: string, found: number) {
    super(message)
    this.found = found
  }
}

/** Which records are looked at: of this search, between these numbers, both excluded. */
export interface WaitQuery {
  search: Search
  after: number | undefined
  before: number | undefined
}

/** What a wait reads. */
export interface WaitSource {
  /** Number of the newest record. */
  lastSeq(): number
  /** Counts in what has just come, at once. */
  countNew(query: WaitQuery): number
  /** The records that match, oldest first, at most so many. */
  find(query: WaitQuery, limit: number): Promise<EventRecord[]>
  /** How many match, up to a limit. */
  count(query: WaitQuery, limit: number): Promise<number>
  newest(limit: number): EventSummary[]
}

interface Waiter {
  query: WaitQuery
  count: number
  /** Matching records up to `seen`; undefined while what was there before is being looked through. */
  found: number | undefined
  seen: number
  /** Newest record when everything was forgotten during the first look. */
  clearedAt?: number
  check(): Promise<void>
}

const DEFAULT_TIMEOUT_MS = 5000
/** A wait for fewer resolves with more when they are there. */
const MIN_RECORDS = 1000
/** Looking for what is new may take so long in one turn. */
const TURN_MS = 10

/** Callers that wait for events to arrive. */
export class Waiters {
  readonly #source: WaitSource
  readonly #clock: Clock
  readonly #waiters = new Set<Waiter>()
  readonly #cancels = new Set<() => void>()
  #isScheduled = false

  constructor(source: WaitSource, clock: Clock) {
    this.#source = source
    this.#clock = clock
  }

  /**
   * Resolves with the matching records, oldest first, as soon as there are enough; those that are there already count.
   *
   * Only accepted records count unless the filter says something of status or reason.
   *
   * @throws SearchSyntaxError when `q` cannot be read; WaitTimeoutError when the time is over, naming what did arrive.
   */
  async wait(options: WaitOptions, signal?: AbortSignal): Promise<EventRecord[]> {
    const { count = 1, timeout = DEFAULT_TIMEOUT_MS, after, before, ...filter } = options
    const given = searchOf(filter)
    const search: Search = asksForStatus(given)
      ? given
      : { kind: 'and', parts: [given, equals('status', 'accepted')] }
    const query: WaitQuery = { search, after, before }
    return new Promise((resolve, reject) => {
      const end = () => {
        cancelTimer()
        this.#waiters.delete(waiter)
        this.#cancels.delete(cancel)
        signal?.removeEventListener('abort', cancel)
      }
      const cancel = () => {
        end()
        reject(new Error('the collector was closed'))
      }
      const finish = () => {
        end()
        this.#source.find(query, Math.max(count, MIN_RECORDS)).then(resolve, reject)
      }
      const waiter: Waiter = {
        query,
        count,
        found: undefined,
        seen: 0,
        check: () => this.#look(waiter, finish),
      }
      const cancelTimer = this.#clock.setTimer(() => {
        this.#waiters.delete(waiter)
        // Once more from the beginning, in case that something came in another way than usual.
        this.#source.count(query, count).then((found) => {
          if (!this.#cancels.has(cancel)) return
          if (found >= count) return finish()
          end()
          reject(this.#timeoutError(options, count, timeout, found))
        }, reject)
      }, timeout)
      this.#waiters.add(waiter)
      this.#cancels.add(cancel)
      signal?.addEventListener('abort', cancel)
      waiter.check().catch((cause: unknown) => {
        end()
        reject(cause)
      })
    })
  }

  /** Looks through all that is there, then at what came meanwhile. */
  async #look(waiter: Waiter, finish: () => void): Promise<void> {
    waiter.found = undefined
    const seen = this.#source.lastSeq()
    const before = Math.min(waiter.query.before ?? Number.MAX_SAFE_INTEGER, seen + 1)
    const found = await this.#source.count({ ...waiter.query, before }, waiter.count)
    if (!this.#waiters.has(waiter)) return
    waiter.found = waiter.clearedAt === undefined ? found : 0
    waiter.seen = waiter.clearedAt ?? seen
    waiter.check = async () => this.#lookAtNew(waiter, finish)
    this.#lookAtNew(waiter, finish)
  }

  #lookAtNew(waiter: Waiter, finish: () => void): void {
    if (waiter.found === undefined) return
    const lastSeq = this.#source.lastSeq()
    if (waiter.found < waiter.count && lastSeq > waiter.seen) {
      const after = Math.max(waiter.query.after ?? 0, waiter.seen)
      const before = Math.min(waiter.query.before ?? Number.MAX_SAFE_INTEGER, lastSeq + 1)
      waiter.found += this.#source.countNew({ ...waiter.query, after, before })
      waiter.seen = lastSeq
    }
    if (waiter.found >= waiter.count) finish()
  }

  /** Tells that the log has grown. */
  news(): void {
    if (this.#isScheduled || this.#waiters.size === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      const endMs = this.#clock.monotonic() + TURN_MS
      for (const waiter of [...this.#waiters]) {
        if (waiter.found === undefined) continue
        void waiter.check()
        // The others have their turn first the next time.
        if (this.#waiters.delete(waiter)) this.#waiters.add(waiter)
        if (this.#clock.monotonic() > endMs) return this.news()
      }
    })
  }

  /** Everything was forgotten: what was found counts no more. */
  cleared(): void {
    const lastSeq = this.#source.lastSeq()
    for (const waiter of this.#waiters) {
      if (waiter.found === undefined) {
        waiter.clearedAt = lastSeq
      } else {
        waiter.found = 0
        waiter.seen = lastSeq
      }
    }
  }

  /** Rejects everybody who still waits. */
  close(): void {
    for (const cancel of [...this.#cancels]) cancel()
  }

  #timeoutError(options: WaitOptions, count: number, timeoutMs: number, found: number): WaitTimeoutError {
    const { count: _, timeout: __, ...filter } = options
    const last = this.#source.newest(5).map((event) => {
      const what = [event.type, event.name].filter((part) => part !== null).join(' ')
      const who = event.userId ?? event.anonymousId ?? 'nobody'
      return `${what} by ${who} (${event.reason ?? 'accepted'})`
    })
    const arrived = last.length === 0 ? 'nothing arrived at all' : `newest first: ${last.join(', ')}`
    return new WaitTimeoutError(
      `waited ${timeoutMs} ms for ${count} records matching ${JSON.stringify(filter)}, found ${found}; ${arrived}`,
      found,
    )
  }
}
