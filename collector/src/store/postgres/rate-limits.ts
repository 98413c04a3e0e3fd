import { createHash } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import type { RateLimits } from '../ports.ts'
import type { Queryable } from './database.ts'

const MAX_WAIT_MS = 1000
const SECOND_US = 1_000_000
/** A stored time further in the future than this was written before the clock of the server was set back. */
const MAX_AHEAD_US = 60 * SECOND_US
/** Longer names are counted under their hash: they would not fit into the index. */
const MAX_CHARACTERS = 200
const MAX_SOURCES = 10_000
const CLEAN_MS = 60_000

const NOW_US = `floor(extract(epoch FROM clock_timestamp()) * ${SECOND_US})::bigint`
/** The time that this number of requests takes at the rate. */
const timeFor = (requests: string) => `floor(${requests} * ${SECOND_US}.0 / $3::integer)::bigint`
const FIRST = 'least($2::integer, $3::integer)'
/** The time when the statement began, from the row that it would insert. */
const BEGAN = `(excluded.started_at - ${timeFor('excluded.granted')})`
const FULL_AT = `(CASE WHEN rate.started_at - ${BEGAN} > ${MAX_AHEAD_US} THEN ${BEGAN} ELSE greatest(rate.started_at, ${BEGAN}) END)`
const ROOM = `greatest(0, least($2::integer, floor((${SECOND_US} - (${FULL_AT} - ${BEGAN})) * $3::integer / ${SECOND_US}.0)::integer))`

/**
 * A token bucket that holds the requests of one second and refills at the rate. `started_at`, a name from the fixed windows of
 * earlier versions, is the time when the bucket will be full again, in microseconds by the clock of the server, which is read
 * once. `granted` is how many of the requests are within the rate.
 */
const TAKE = `
INSERT INTO rate_window AS rate (source, started_at, taken, granted)
VALUES ($1, ${NOW_US} + ${timeFor(FIRST)}, 0, ${FIRST})
ON CONFLICT (source) DO UPDATE SET started_at = ${FULL_AT} + ${timeFor(ROOM)}, granted = ${ROOM}
RETURNING granted, ceil((rate.started_at - ${SECOND_US} + ceil(${SECOND_US}.0 / $3::integer) - ${NOW_US}) / 1000.0)::bigint AS left_ms`

const CLEAN = `DELETE FROM rate_window WHERE started_at < ${NOW_US} - $1 * 1000`

/** One request that waits to be counted. */
interface Waiting {
  resolve(waitMs: number | undefined): void
  reject(cause: unknown): void
}

/** The state of a source in this process. */
interface Counter {
  waiting: Waiting[]
  isAsking: boolean
  /** Until this time (monotonic) the rate is known to be used up: the database is not asked. */
  fullUntilMs: number
}

/**
 * Counts requests exactly, for all processes on one database: allows a burst of one second's requests, and then the rate.
 * Requests that arrive while a statement for their source is running are counted together in the next one, so the number of
 * statements grows with the processes and sources, not with the requests.
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
    // Counters with a running statement are still referenced by it; the database has the state of the others.
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

  /** Deletes buckets that have been full for long: if any write key is accepted, there may be very many sources. */
  #clean(): void {
    const nowMs = this.#clock.monotonic()
    if (nowMs - this.#cleanedAtMs < CLEAN_MS) return
    this.#cleanedAtMs = nowMs
    // Any error is ignored: the next run is soon.
    this.#database.query(CLEAN, [CLEAN_MS]).catch(() => {})
  }
}
