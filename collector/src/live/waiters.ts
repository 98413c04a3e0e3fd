import type { Clock } from '../clock.ts'
import type { EventRecord, EventSummary } from '../record.ts'
import { type EventFilter, type EventQuery, matches } from '../store/filter.ts'

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

/** What a wait reads. */
export interface WaitSource {
  events(query: EventQuery): EventRecord[]
  summaries(query: EventQuery): EventSummary[]
  count(filter: EventFilter): number
}

interface Waiter {
  filter: EventFilter
  missing: number
  /** Newest record that `missing` takes into account. */
  lastSeq: number
  check(): void
}

const DEFAULT_TIMEOUT_MS = 5000

/** Callers that wait for events to arrive. */
export class Waiters {
  readonly #source: WaitSource
  readonly #clock: Clock
  readonly #waiters = new Set<Waiter>()
  readonly #cancels = new Set<() => void>()

  constructor(source: WaitSource, clock: Clock) {
    this.#source = source
    this.#clock = clock
  }

  /**
   * Resolves with the matching records, oldest first, as soon as there are enough; those that are there already count.
   *
   * Only accepted records count unless `status` or `reason` says otherwise.
   *
   * @throws WaitTimeoutError when the time is over, naming what did arrive.
   */
  wait(options: WaitOptions, signal?: AbortSignal): Promise<EventRecord[]> {
    const { count = 1, timeout = DEFAULT_TIMEOUT_MS, ...given } = options
    const filter: EventFilter = { ...given }
    if (given.status === undefined && given.reason === undefined) filter.status = 'accepted'
    return new Promise((resolve, reject) => {
      const finish = () => {
        cancelTimer()
        this.#waiters.delete(waiter)
        this.#cancels.delete(cancel)
        signal?.removeEventListener('abort', cancel)
      }
      const waiter: Waiter = {
        filter,
        missing: 0,
        lastSeq: 0,
        check: () => {
          waiter.lastSeq = this.#source.summaries({ order: 'newest', limit: 1 })[0]?.seq ?? 0
          const found = this.#source.count(filter)
          waiter.missing = count - found
          if (waiter.missing > 0) return
          finish()
          resolve(this.#source.events(filter))
        },
      }
      const cancel = () => {
        finish()
        reject(new Error('the collector was closed'))
      }
      const cancelTimer = this.#clock.setTimer(() => {
        finish()
        reject(this.#timeoutError(filter, count, timeout))
      }, timeout)
      this.#waiters.add(waiter)
      this.#cancels.add(cancel)
      signal?.addEventListener('abort', cancel)
      waiter.check()
    })
  }

  /** Tells the waiters what was committed; the table is counted only when that can be the end of the wait. */
  add(events: readonly EventSummary[]): void {
    for (const waiter of [...this.#waiters]) {
      waiter.missing -= this.#countNew(waiter, events)
      if (waiter.missing <= 0) waiter.check()
    }
  }

  #countNew(waiter: Waiter, events: readonly EventSummary[]): number {
    const { filter, lastSeq } = waiter
    const newest = events.at(-1)?.seq ?? lastSeq
    waiter.lastSeq = newest
    // `text` is matched by the database alone, and there in what is new; everything else is known from the summary.
    if (filter.text !== undefined) {
      return this.#source.count({ ...filter, after: Math.max(filter.after ?? 0, lastSeq) })
    }
    return events.filter((event) => event.seq > lastSeq && matches(filter, event)).length
  }

  /** Rejects everybody who still waits. */
  close(): void {
    for (const cancel of [...this.#cancels]) cancel()
  }

  #timeoutError(filter: EventFilter, count: number, timeoutMs: number): WaitTimeoutError {
    const found = this.#source.count(filter)
    const total = this.#source.count({})
    const last = this.#source.summaries({ order: 'newest', limit: 5 }).map((event) => {
      const what = [event.type, event.name].filter((part) => part !== null).join(' ')
      const who = event.userId ?? event.anonymousId ?? 'nobody'
      return `${what} by ${who} (${event.reason ?? 'accepted'})`
    })
    const arrived =
      total === 0 ? 'nothing arrived at all' : `${total} in all, newest first: ${last.join(', ')}`
    return new WaitTimeoutError(
      `waited ${timeoutMs} ms for ${count} records matching ${JSON.stringify(filter)}, found ${found}; ${arrived}`,
      found,
    )
  }
}
