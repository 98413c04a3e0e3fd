import type { Clock } from '../clock.ts'
import type { EventRecord, EventSummary } from '../record.ts'
import { asksForDelivery, asksForStatus, type EventFilter, equals, searchOf } from '../search/filter.ts'
import { EVERYTHING, type Search } from '../search/syntax.ts'
import type { Changes } from '../store/changes.ts'
import type { QueryContext } from '../store/queries/context.ts'
import { allEvents, countEvents, type EventSearch } from '../store/queries/events.ts'

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

interface Waiter {
  query: EventSearch
  count: number
  /** Whether records that have been counted as not matching may match later. */
  isOfDelivery: boolean
  /** Number of matching records up to the sequence number `seen`. */
  found: number
  seen: number
  finish(): void
  fail(cause: unknown): void
}

const DEFAULT_TIMEOUT_MS = 5000
/** Every wait may resolve with this many records, or with more if it asks for more. */
const MIN_RECORDS = 1000

export class Waiters {
  readonly #context: () => QueryContext
  readonly #changes: Changes
  readonly #clock: Clock
  readonly #waiters = new Set<Waiter>()
  #isScheduled = false
  #isClosed = false

  constructor(context: () => QueryContext, changes: Changes, clock: Clock) {
    this.#context = context
    this.#changes = changes
    this.#clock = clock
  }

  get size(): number {
    return this.#waiters.size
  }

  #count(query: EventSearch): number {
    return countEvents(this.#context(), query)
  }

  /**
   * Resolves with the matching records, the oldest first, once there are enough. Existing records count too. Records that were not
   * accepted count only if the filter names a status or a reason.
   *
   * @param signal Ends the wait.
   * @throws SearchSyntaxError when `q` cannot be read; WaitTimeoutError when the time is over.
   */
  async wait(options: WaitOptions, signal?: AbortSignal): Promise<EventRecord[]> {
    const { count = 1, timeout = DEFAULT_TIMEOUT_MS, after, ...filter } = options
    const given = searchOf(filter)
    const search: Search = asksForStatus(given)
      ? given
      : { kind: 'and', parts: [given, equals('status', 'accepted')] }
    const query: EventSearch = { search, after }
    // This throws for a search that cannot be read, even if there are no events.
    const found = this.#count(query)
    if (this.#isClosed || signal?.aborted) throw new ClosedError()
    const seen = this.#changes.state.lastSeq
    if (found < count) await this.#untilEnough({ query, count, found, seen }, options, timeout, signal)
    const limit = Math.max(count, MIN_RECORDS)
    return allEvents(this.#context(), { ...query, order: 'oldest', limit })
  }

  #untilEnough(
    started: Pick<Waiter, 'query' | 'count' | 'found' | 'seen'>,
    options: WaitOptions,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        cancelTimer()
        this.#waiters.delete(waiter)
        signal?.removeEventListener('abort', cancel)
      }
      const cancel = () => waiter.fail(new ClosedError())
      const waiter: Waiter = {
        ...started,
        isOfDelivery: asksForDelivery(started.query.search),
        finish() {
          end()
          resolve()
        },
        fail(cause) {
          end()
          reject(cause)
        },
      }
      const cancelTimer = this.#clock.setTimer(() => {
        this.#look(waiter)
        if (this.#waiters.has(waiter)) waiter.fail(this.#timeoutError(waiter, options, timeoutMs))
      }, timeoutMs)
      this.#waiters.add(waiter)
      signal?.addEventListener('abort', cancel)
    })
  }

  /** Counts the records since the last look. */
  #look(waiter: Waiter): void {
    const { query, isOfDelivery } = waiter
    const lastSeq = this.#changes.state.lastSeq
    try {
      if (isOfDelivery || lastSeq < waiter.seen) waiter.found = this.#count(query)
      else if (lastSeq > waiter.seen) waiter.found += this.#count({ ...query, newerThan: waiter.seen })
    } catch (cause) {
      return waiter.fail(cause)
    }
    waiter.seen = lastSeq
    if (waiter.found >= waiter.count) waiter.finish()
  }

  /** Must be called when there are new records, or when stored ones have changed. Waits are looked at once in a turn. */
  news(): void {
    if (this.#isScheduled || this.#waiters.size === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      for (const waiter of [...this.#waiters]) this.#look(waiter)
    })
  }

  /** Must be called when all events were deleted. The waits then count from 0. */
  cleared(): void {
    for (const waiter of this.#waiters) waiter.found = 0
  }

  close(): void {
    this.#isClosed = true
    for (const waiter of [...this.#waiters]) waiter.fail(new ClosedError())
  }

  #timeoutError(
    { count, found }: Waiter,
    { count: _, timeout: __, ...filter }: WaitOptions,
    timeoutMs: number,
  ): WaitTimeoutError {
    const wanted = `${count} records matching ${JSON.stringify(filter)}`
    const arrived = described(allEvents(this.#context(), { search: EVERYTHING, order: 'newest', limit: 5 }))
    return new WaitTimeoutError(`waited ${timeoutMs} ms for ${wanted}, found ${found}; ${arrived}`, found)
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
