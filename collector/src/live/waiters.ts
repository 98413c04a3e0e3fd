import { type Clock, sleep } from '../clock.ts'
import { limited } from '../limited.ts'
import type { EventRecord, EventSummary } from '../record.ts'
import { asksForDelivery, asksForStatus, type EventFilter, equals, searchOf } from '../search/filter.ts'
import type { Search } from '../search/syntax.ts'
import type { EventCount, EventSearch } from '../store/event-reader.ts'
import type { Cursor } from '../store/ports.ts'
import { Gate } from './gate.ts'

/** The condition of a wait: a filter, and the number of records that must match the filter. */
export interface WaitOptions extends EventFilter {
  /** Default 1. */
  count?: number
  /** Longest wait in milliseconds; default 5000. */
  timeout?: number
}

/** The time of a wait is over, and not enough records have arrived. The message names the records that arrived instead. */
export class WaitTimeoutError extends Error {
  override readonly name = 'WaitTimeoutError'
  readonly code = 'wait_timeout'
  /** Number of records that matched. */
  readonly found: number

  constructor(message: string, found: number) {
    super(message)
    this.found = found
  }
}

/** The collector was closed during a wait. */
export class ClosedError extends Error {
  override readonly name = 'ClosedError'

  constructor() {
    super('the collector was closed')
  }
}

export interface WaitSource {
  /** Sequence number of the newest record that can be read. */
  lastSeq(): number
  /** Changes when deliveries have new results, and when events were deleted. */
  revision(): number
  /** Reads a page of matching records, the oldest first. */
  find(query: EventSearch, page: WaitPage, signal?: AbortSignal): Promise<WaitedFor>
  /** Counts some of the matching records. */
  count(query: EventSearch, cursor: Cursor | undefined, signal: AbortSignal): Promise<EventCount>
  newest(limit: number): Promise<EventSummary[]>
}

export interface WaitPage {
  cursor: Cursor | undefined
  limit: number
}

/** `next` is null on the last page. */
export interface WaitedFor {
  records: EventRecord[]
  next: Cursor | null
}

interface Waiter {
  query: EventSearch
  /** Aborted when the wait ends. */
  signal: AbortSignal
  count: number
  /** Whether records that have been counted as not matching may match later. */
  isOfDelivery: boolean
  /** Number of matching records up to the sequence number `seen`. `seen` is -1 until the existing records have been counted. */
  found: number
  seen: number
  /** The revision with which the count began. */
  revision: number
  /** The running check, and how many it has found so far. */
  looking: Promise<void> | undefined
  part: number
  finish(): void
  fail(cause: unknown): void
}

const DEFAULT_TIMEOUT_MS = 5000
/** Every wait may resolve with this many records, or with more if it asks for more. */
const MIN_RECORDS = 1000
/** A record may have 32 KB. */
const PAGE = 100
/** Waits that query at the same time. The others queue, so that queries of the web page need not wait for all of them. */
const ASKING = 4
/** Time in which a check may end after the time of its wait. */
const LAST_LOOK_MS = 250
/** Longest wait for the records that the message names. */
const NEWEST_LIMIT_MS = 1000
/** Longest time for which checks of waits are started in one turn of the event loop. */
const TURN_MS = 10

export class Waiters {
  readonly #source: WaitSource
  readonly #clock: Clock
  readonly #waiters = new Set<Waiter>()
  readonly #cancels = new Set<() => void>()
  readonly #gate = new Gate(ASKING)
  #isScheduled = false
  /** Increases when all events are deleted. */
  #epoch = 0
  #isClosed = false

  constructor(source: WaitSource, clock: Clock) {
    this.#source = source
    this.#clock = clock
  }

  /**
   * Resolves with the matching records, the oldest first, once there are enough. Existing records count too. Rejected records
   * count only if the filter names a status or a reason.
   *
   * @throws SearchSyntaxError when `q` cannot be read; WaitTimeoutError when the time is over.
   */
  async wait(options: WaitOptions): Promise<EventRecord[]> {
    const records: EventRecord[] = []
    for await (const page of await this.waitInPages(options)) records.push(...page)
    return records
  }

  /**
   * Reads each page on demand, so that a caller who passes the records on does not keep all of them in memory.
   *
   * @param signal Ends the wait and its queries.
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

  /** Resolves with the query when there are enough records. */
  async #untilEnough(options: WaitOptions, signal?: AbortSignal): Promise<EventSearch> {
    const { count = 1, timeout = DEFAULT_TIMEOUT_MS, after, before, ...filter } = options
    const given = searchOf(filter)
    const search: Search = asksForStatus(given)
      ? given
      : { kind: 'and', parts: [given, equals('status', 'accepted')] }
    const query: EventSearch = { search, after, before }
    const looks = new AbortController()
    return new Promise((resolve, reject) => {
      const end = () => {
        cancelTimer()
        looks.abort()
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
      const waiter: Waiter = {
        query,
        signal: looks.signal,
        count,
        isOfDelivery: asksForDelivery(search),
        found: 0,
        seen: -1,
        revision: this.#source.revision(),
        looking: undefined,
        part: 0,
        finish,
        fail,
      }
      // A listener for a signal that has been aborted is never called.
      if (this.#isClosed || signal?.aborted) return reject(new ClosedError())
      const cancelTimer = this.#clock.setTimer(() => {
        Promise.race([this.#look(waiter), sleep(this.#clock, LAST_LOOK_MS)])
          .then(() => this.#timeoutError(waiter, options, timeout))
          .then((error) => this.#waiters.has(waiter) && fail(error), fail)
      }, timeout)
      this.#waiters.add(waiter)
      this.#cancels.add(cancel)
      signal?.addEventListener('abort', cancel)
      void this.#look(waiter)
    })
  }

  /** Counts the records since the last check. The first check counts the existing records. */
  #look(waiter: Waiter): Promise<void> {
    waiter.looking ??= this.#lookOn(waiter).finally(() => {
      waiter.looking = undefined
    })
    return waiter.looking
  }

  async #lookOn(waiter: Waiter): Promise<void> {
    try {
      // Takes a new place in the queue for each check. Otherwise, one wait could keep its place for as long as events arrive.
      while (this.#waiters.has(waiter) && this.#isBehind(waiter)) await this.#lookOnce(waiter)
    } catch (cause) {
      if (this.#waiters.has(waiter)) waiter.fail(cause)
    }
  }

  #isBehind(waiter: Waiter): boolean {
    if (waiter.isOfDelivery && waiter.revision !== this.#source.revision()) this.#startOver(waiter)
    return waiter.seen < this.#source.lastSeq()
  }

  #startOver(waiter: Waiter): void {
    waiter.found = 0
    waiter.part = 0
    waiter.seen = -1
    waiter.revision = this.#source.revision()
  }

  async #lookOnce(waiter: Waiter): Promise<void> {
    const lastSeq = this.#source.lastSeq()
    const isWhole = waiter.seen === -1
    const between = { afterSeq: waiter.seen, beforeSeq: lastSeq + 1 }
    const epoch = this.#epoch
    const missing = waiter.count - waiter.found
    waiter.part = 0
    for await (const more of this.#counted({ ...waiter.query, between }, waiter.signal)) {
      waiter.part += more
      if (waiter.part >= missing) break
    }
    // During the query, the wait may have ended, or `cleared` may have reset it because all events were deleted.
    if (!this.#waiters.has(waiter) || epoch !== this.#epoch) return
    waiter.found += waiter.part
    waiter.part = 0
    waiter.seen = lastSeq
    if (waiter.found < waiter.count) return
    // Records of an earlier check may have been deleted since then.
    if (isWhole || waiter.revision === this.#source.revision()) waiter.finish()
    else this.#startOver(waiter)
  }

  /** A slow count takes a new place in the queue for each part, so that other waits get their turn. */
  async *#counted(query: EventSearch, signal: AbortSignal): AsyncGenerator<number> {
    for (let cursor: Cursor | undefined; ; ) {
      const { count, next } = await this.#gate.run(async () => {
        // The wait may have ended while it was in the queue.
        signal.throwIfAborted()
        return this.#source.count(query, cursor, signal)
      })
      yield count
      if (next === null) return
      cursor = next
    }
  }

  /** Must be called when there are new records, or when the revision has changed. */
  news(): void {
    if (this.#isScheduled || this.#waiters.size === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      const endMs = this.#clock.monotonic() + TURN_MS
      for (const waiter of [...this.#waiters]) {
        void this.#look(waiter)
        // Moved to the end, so that the other waits are checked first the next time.
        if (this.#waiters.delete(waiter)) this.#waiters.add(waiter)
        if (this.#clock.monotonic() > endMs) return this.news()
      }
    })
  }

  /**
   * Must be called when all events were deleted. The waits then count from 0. They also count the records that exist, because
   * records may have been written between the deletion and this call.
   */
  cleared(): void {
    this.#epoch++
    for (const waiter of this.#waiters) this.#startOver(waiter)
    this.news()
  }

  close(): void {
    this.#isClosed = true
    for (const cancel of [...this.#cancels]) cancel()
  }

  async #timeoutError(
    { count, found: before, part, seen }: Waiter,
    { count: _, timeout: __, ...filter }: WaitOptions,
    timeoutMs: number,
  ): Promise<WaitTimeoutError> {
    const found = before + part
    const isComplete = seen >= this.#source.lastSeq()
    const arrived = await limited(
      this.#source.newest(5).then(described),
      NEWEST_LIMIT_MS,
      this.#clock,
      () => 'the store does not respond',
    )
    return new WaitTimeoutError(
      `waited ${timeoutMs} ms for ${count} records matching ${JSON.stringify(filter)}, found ${found}${isComplete ? '' : ' in a part of the events, because the search is slow'}; ${arrived}`,
      found,
    )
  }
}

function described(events: readonly EventSummary[]): string {
  const last = events.map((event) => {
    const what = [event.type, event.name].filter((part) => part !== null).join(' ')
    const who = event.userId ?? event.anonymousId ?? 'nobody'
    return `${what} by ${who} (${event.reason ?? 'accepted'})`
  })
  return last.length === 0 ? 'nothing arrived at all' : `newest first: ${last.join(', ')}`
}
