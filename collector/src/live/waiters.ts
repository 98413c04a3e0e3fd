import type { Clock } from '../clock.ts'
import type { EventRecord, EventSummary } from '../record.ts'
import { asksForStatus, type EventFilter, equals, searchOf } from '../search/filter.ts'
import type { Search } from '../search/syntax.ts'
import type { Cursor } from '../store/ports.ts'
import type { EventSearch } from '../store/queries.ts'
import { Gate } from './gate.ts'

/** The condition of a wait: a filter and how many records must match it. */
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

/** The collector was closed while somebody waited. */
export class ClosedError extends Error {
  override readonly name = 'ClosedError'

  constructor() {
    super('the collector was closed')
  }
}

/** The reads of a wait. */
export interface WaitSource {
  /** Number of the newest record that can be read. */
  lastSeq(): number
  /** Some of the records that match, oldest first, at most so many; more from `next` on. */
  find(query: EventSearch, page: WaitPage, signal?: AbortSignal): Promise<WaitedFor>
  /** How many match; counting may end when the limit is reached. */
  count(query: EventSearch, limit: number, signal?: AbortSignal): Promise<number>
  newest(limit: number): Promise<EventSummary[]>
}

/** Which part of the records a wait reads. */
export interface WaitPage {
  cursor: Cursor | undefined
  limit: number
}

/** A part of the records; null = it is the last one. */
export interface WaitedFor {
  records: EventRecord[]
  next: Cursor | null
}

interface Waiter {
  query: EventSearch
  signal: AbortSignal | undefined
  count: number
  /** Matching records up to number `seen`; that is -1 until all that is there was looked through. */
  found: number
  seen: number
  isLooking: boolean
  finish(): void
  fail(cause: unknown): void
}

const DEFAULT_TIMEOUT_MS = 5000
/** A wait for fewer resolves with more when they are there. */
const MIN_RECORDS = 1000
/** Records that are read at a time; each may have 32 KB. */
const PAGE = 100
/** Waits that ask at a time. The others stand in line: who searches has to wait for a few of them, not for all. */
const ASKING = 4
/** Looking for what is new may be begun for so long in one turn. */
const TURN_MS = 10

/** Callers that wait for events to arrive. */
export class Waiters {
  readonly #source: WaitSource
  readonly #clock: Clock
  readonly #waiters = new Set<Waiter>()
  readonly #cancels = new Set<() => void>()
  readonly #gate = new Gate(ASKING)
  #isScheduled = false
  /** Grows when everything was forgotten. */
  #epoch = 0

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
  async wait(options: WaitOptions): Promise<EventRecord[]> {
    const records: EventRecord[] = []
    for await (const page of await this.waitInPages(options)) records.push(...page)
    return records
  }

  /**
   * The same with the records in pages, each of which is read when it is asked for: a caller that passes them on need not hold all.
   *
   * @param signal Ends the wait, and the work for it.
   */
  async waitInPages(options: WaitOptions, signal?: AbortSignal): Promise<AsyncIterable<EventRecord[]>> {
    const query = await this.#untilEnough(options, signal)
    return this.#pages(query, Math.max(options.count ?? 1, MIN_RECORDS), signal)
  }

  async *#pages(query: EventSearch, limit: number, signal?: AbortSignal): AsyncGenerator<EventRecord[]> {
    let left = limit
    for (let cursor: Cursor | undefined; ; ) {
      const page = { cursor, limit: Math.min(PAGE, left) }
      const { records, next } = await this.#gate.run(() => this.#source.find(query, page, signal))
      yield records
      left -= records.length
      if (next === null || left <= 0) return
      cursor = next
    }
  }

  /** The records that were waited for, when there are enough. */
  async #untilEnough(options: WaitOptions, signal?: AbortSignal): Promise<EventSearch> {
    const { count = 1, timeout = DEFAULT_TIMEOUT_MS, after, before, ...filter } = options
    const given = searchOf(filter)
    const search: Search = asksForStatus(given)
      ? given
      : { kind: 'and', parts: [given, equals('status', 'accepted')] }
    const query: EventSearch = { search, after, before }
    return new Promise((resolve, reject) => {
      const end = () => {
        cancelTimer()
        this.#waiters.delete(waiter)
        this.#cancels.delete(cancel)
        signal?.removeEventListener('abort', cancel)
      }
      const cancel = () => {
        end()
        reject(new ClosedError())
      }
      const fail = (cause: unknown) => {
        end()
        reject(cause)
      }
      const finish = () => {
        end()
        resolve(query)
      }
      const waiter: Waiter = { query, signal, count, found: 0, seen: -1, isLooking: false, finish, fail }
      const cancelTimer = this.#clock.setTimer(() => {
        this.#waiters.delete(waiter)
        this.#lastLook(waiter, options, timeout).then(
          (cause) => {
            if (!this.#cancels.has(cancel)) return
            if (cause === undefined) finish()
            else fail(cause)
          },
          (cause: unknown) => fail(cause),
        )
      }, timeout)
      this.#waiters.add(waiter)
      this.#cancels.add(cancel)
      signal?.addEventListener('abort', cancel)
      void this.#look(waiter)
    })
  }

  /** Counts what has come since the last look; the first one looks through all that is there. */
  async #look(waiter: Waiter): Promise<void> {
    if (waiter.isLooking) return
    waiter.isLooking = true
    try {
      // A turn for each look: while events come in, there is always one more to be had.
      while (this.#waiters.has(waiter) && waiter.seen < this.#source.lastSeq()) {
        await this.#gate.run(() => this.#lookOnce(waiter))
      }
    } catch (cause) {
      if (this.#waiters.has(waiter)) waiter.fail(cause)
    } finally {
      waiter.isLooking = false
    }
  }

  async #lookOnce(waiter: Waiter): Promise<void> {
    // It may have ended while it stood in line.
    if (!this.#waiters.has(waiter)) return
    const lastSeq = this.#source.lastSeq()
    const between = { afterSeq: waiter.seen, beforeSeq: lastSeq + 1 }
    const epoch = this.#epoch
    const missing = waiter.count - waiter.found
    const found = await this.#source.count({ ...waiter.query, between }, missing, waiter.signal)
    // Forgotten meanwhile: `cleared` has said from where to go on.
    if (!this.#waiters.has(waiter) || epoch !== this.#epoch) return
    waiter.found += found
    waiter.seen = lastSeq
    if (waiter.found >= waiter.count) waiter.finish()
  }

  /** Once more from the beginning, in case that something came in another way than usual. Undefined = there are enough. */
  async #lastLook(
    { query, count, signal }: Waiter,
    options: WaitOptions,
    timeoutMs: number,
  ): Promise<WaitTimeoutError | undefined> {
    const found = await this.#gate.run(() => this.#source.count(query, count, signal))
    return found >= count ? undefined : this.#timeoutError(options, count, timeoutMs, found)
  }

  /** Tells that the log has grown. */
  news(): void {
    if (this.#isScheduled || this.#waiters.size === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      const endMs = this.#clock.monotonic() + TURN_MS
      for (const waiter of [...this.#waiters]) {
        void this.#look(waiter)
        // The others have their turn first the next time.
        if (this.#waiters.delete(waiter)) this.#waiters.add(waiter)
        if (this.#clock.monotonic() > endMs) return this.news()
      }
    })
  }

  /** Everything was forgotten: what was found counts no more. */
  cleared(): void {
    this.#epoch++
    const lastSeq = this.#source.lastSeq()
    for (const waiter of this.#waiters) {
      waiter.found = 0
      waiter.seen = lastSeq
    }
  }

  /** Rejects everybody who still waits. */
  close(): void {
    for (const cancel of [...this.#cancels]) cancel()
  }

  async #timeoutError(
    options: WaitOptions,
    count: number,
    timeoutMs: number,
    found: number,
  ): Promise<WaitTimeoutError> {
    const { count: _, timeout: __, ...filter } = options
    const last = (await this.#source.newest(5)).map((event) => {
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
