import type { Clock } from '../clock.ts'
import type { EventRecord, EventSummary } from '../record.ts'
import { asksFor, type EventFilter, equals, searchOf } from '../search/filter.ts'
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

const DEFAULT_TIMEOUT_MS = 5000
/** Every wait may resolve with this many records, or with more if it asks for more. */
const MIN_RECORDS = 1000

export class Waiters {
  readonly #context: () => QueryContext
  readonly #changes: Changes
  readonly #clock: Clock
  readonly #waiters = new Set<{ look(): void; fail(cause: unknown): void }>()
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
    const search: Search = asksFor(given, 'status', 'reason')
      ? given
      : { kind: 'and', parts: [given, equals('status', 'accepted')] }
    const query: EventSearch = { search, after }
    const matching = this.#counter(query)
    // This throws for a search that cannot be read, even if there are no events.
    const found = matching()
    if (this.#isClosed || signal?.aborted) throw new ClosedError()
    if (found < count) {
      const late = (found: number) => this.#timeoutError(count, found, filter, timeout)
      await this.#untilEnough(matching, count, timeout, late, signal)
    }
    return allEvents(this.#context(), { ...query, order: 'oldest', limit: Math.max(count, MIN_RECORDS) })
  }

  /** Returns a function that counts the matching records. It looks at each record only once, where that is enough. */
  #counter(query: EventSearch): () => number {
    // Records that do not match may match later, when their deliveries have their results.
    const mayChange = asksFor(query.search, 'destination', 'delivery')
    let [found, seen, epoch] = [0, 0, 0]
    return () => {
      const { head, epoch: now } = this.#changes.state
      const isNew = mayChange || now !== epoch
      if (isNew) found = countEvents(this.#context(), query)
      else if (Number(head) > seen)
        found += countEvents(this.#context(), { ...query, after: Math.max(seen, Number(query.after ?? 0)) })
      ;[seen, epoch] = [Number(head), now]
      return found
    }
  }

  #untilEnough(
    matching: () => number,
    count: number,
    timeoutMs: number,
    late: (found: number) => WaitTimeoutError,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        cancelTimer()
        this.#waiters.delete(waiter)
        signal?.removeEventListener('abort', cancel)
      }
      const waiter = {
        look() {
          try {
            if (matching() < count) return
            end()
            resolve()
          } catch (cause) {
            waiter.fail(cause)
          }
        },
        fail(cause: unknown) {
          end()
          reject(cause)
        },
      }
      const cancel = () => waiter.fail(new ClosedError())
      const cancelTimer = this.#clock.setTimer(() => {
        waiter.look()
        if (this.#waiters.has(waiter)) waiter.fail(late(matching()))
      }, timeoutMs)
      this.#waiters.add(waiter)
      signal?.addEventListener('abort', cancel)
    })
  }

  /** Must be called when there are new records, or when stored ones have changed. Waits are looked at once in a turn. */
  news(): void {
    if (this.#isScheduled || this.#waiters.size === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      for (const { look } of [...this.#waiters]) look()
    })
  }

  close(): void {
    this.#isClosed = true
    for (const { fail } of [...this.#waiters]) fail(new ClosedError())
  }

  #timeoutError(count: number, found: number, filter: object, timeoutMs: number): WaitTimeoutError {
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
