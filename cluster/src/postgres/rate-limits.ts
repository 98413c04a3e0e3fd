import { createHash } from 'node:crypto'
import type { Clock, RateLimits } from 'trackpost-collector/ports'
import type { Queryable } from './database.ts'

const MAX_WAIT_MS = 1000
const SECOND_US = 1_000_000
/** If a stored time is further in the future than this, the clock of the server was set back, and the time is ignored. */
const MAX_AHEAD_US = 60 * SECOND_US
/** Longer names of sources are hashed, because an index cannot contain long texts. */
const MAX_CHARACTERS = 200
const MAX_SOURCES = 10_000
const CLEAN_MS = 60_000

const NOW_US = `floor(extract(epoch FROM clock_timestamp()) * ${SECOND_US})::bigint`
/** SQL for the time that this number of requests takes at the rate ($3), in microseconds. */
const timeFor = (requests: string) => `floor(${requests} * ${SECOND_US}.0 / $3::integer)::bigint`
const FIRST = 'least($2::integer, $3::integer)'
/** SQL for the time at which the statement began, computed from the row that the statement would insert. */
const BEGAN = `(excluded.started_at - ${timeFor('excluded.granted')})`
const FULL_AT = `(CASE WHEN rate.started_at - ${BEGAN} > ${MAX_AHEAD_US} THEN ${BEGAN} ELSE greatest(rate.started_at, ${BEGAN}) END)`
const ROOM = `greatest(0, least($2::integer, floor((${SECOND_US} - (${FULL_AT} - ${BEGAN})) * $3::integer / ${SECOND_US}.0)::integer))`

/**
 * A token bucket with room for the requests of one second, which refills at the rate. Column `started_at` (named for an
 * earlier algorithm) is the time at which the bucket will be full again, in microseconds by the clock of the server. Column
 * `granted` is the number of requests of this statement ($2) that the rate allows. The result `left_ms` is the time until the
 * rate allows the next request.
 */
const TAKE = `
INSERT INTO rate_window AS rate (source, started_at, taken, granted)
VALUES ($1, ${NOW_US} + ${timeFor(FIRST)}, 0, ${FIRST})
ON CONFLICT (source) DO UPDATE SET started_at = ${FULL_AT} + ${timeFor(ROOM)}, granted = ${ROOM}
RETURNING granted, ceil((rate.started_at - ${SECOND_US} + ceil(${SECOND_US}.0 / $3::integer) - ${NOW_US}) / 1000.0)::bigint AS left_ms`

const CLEAN = `DELETE FROM rate_window WHERE started_at < ${NOW_US} - $1 * 1000`

interface Waiting {
  resolve(waitMs: number | undefined): void
  reject(cause: unknown): void
}

interface Counter {
  waiting: Waiting[]
  isAsking: boolean
  /** Until this time (monotonic clock), requests are refused without asking the database. */
  fullUntilMs: number
}

/**
 * Exact across all processes that use the database. Allows a burst with the requests of one second. Requests that arrive while
 * a statement for their source is running are counted together in the next statement.
 */
export class SharedRateLimits implements RateLimits {
  readonly #database: Queryable
  readonly #clock: Clock
  readonly #counters = new Map<string, Counter>()
  #cleanedAtMs: number

  constructor(database: Queryable, clock: Clock) {
    this.#database = database
    this.#clock = clock
    this.#cleanedAtMs = clock.monotonic()
  }

  take(source: string, requestsPerSecond: number): Promise<number | undefined> {
    const counter = this.#counterOf(source)
    const leftMs = counter.fullUntilMs - this.#clock.monotonic()
    if (leftMs > 0) return Promise.resolve(leftMs)
    return new Promise((resolve, reject) => {
      counter.waiting.push({ resolve, reject })
      if (!counter.isAsking) void this.#ask(source, counter, Math.floor(requestsPerSecond))
    })
  }

  #counterOf(source: string): Counter {
    const known = this.#counters.get(source)
    if (known !== undefined) return known
    // Nothing is lost: a running `#ask` still has a reference to its counter, and the database has the state of all buckets.
    if (this.#counters.size >= MAX_SOURCES) this.#counters.clear()
    const counter = { waiting: [], isAsking: false, fullUntilMs: Number.NEGATIVE_INFINITY }
    this.#counters.set(source, counter)
    return counter
  }

  async #ask(source: string, counter: Counter, rate: number): Promise<void> {
    counter.isAsking = true
    const key = source.length <= MAX_CHARACTERS ? source : createHash('sha256').update(source).digest('hex')
    for (let asking = counter.waiting; asking.length > 0; asking = counter.waiting) {
      counter.waiting = []
      try {
        const rows = await this.#database.query<{ granted: number; left_ms: number }>(TAKE, [
          key,
          asking.length,
          rate,
        ])
        const { granted = 0, left_ms = MAX_WAIT_MS } = rows[0] ?? {}
        const waitMs = Math.min(Math.max(left_ms, 1), MAX_WAIT_MS)
        if (granted < asking.length) counter.fullUntilMs = this.#clock.monotonic() + waitMs
        for (const [index, { resolve }] of asking.entries()) resolve(index < granted ? undefined : waitMs)
      } catch (cause) {
        for (const { reject } of asking) reject(cause)
      }
    }
    counter.isAsking = false
    this.#clean()
  }

  /** Deletes buckets that have been full for a minute. If every write key is accepted, there may be very many sources. */
  #clean(): void {
    const nowMs = this.#clock.monotonic()
    if (nowMs - this.#cleanedAtMs < CLEAN_MS) return
    this.#cleanedAtMs = nowMs
    // Errors are ignored, because the next run is a minute later.
    this.#database.query(CLEAN, [CLEAN_MS]).catch(() => {})
  }
}
