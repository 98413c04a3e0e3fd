import { BUCKET_MS } from '../buckets.ts'
import { TABLES } from '../tables.ts'
import { countsOf } from '../writing/counts.ts'
import { deleteEvents } from '../writing/deletion.ts'
import { type Database, readMeta, writeMeta } from './database.ts'
import { dialectOf, keepNewest, newestSeq } from './dialect.ts'
import { SEGMENT_SIZE, segmentOf } from './schema.ts'
import { executorOn, runNow } from './steps.ts'

const ROWS_PER_TRIM = 1000
const ROWS_PER_SWEEP = 5000
/** Events among which rejected ones are looked for in one call. */
const ROWS_PER_SEARCH = 50_000
/** Above this share of the events, rejected ones are deleted first: anybody can send them, and must not displace the others. */
const REJECTED_SHARE = 0.1
const MAX_REQUESTS = 1_000_000

export interface Trimmed {
  hasDeleted: boolean
  /** Whether more rows must be deleted now. */
  hasMore: boolean
  /** Whether this call has deleted the last rows that a clear has left. */
  hasSwept: boolean
}

const NOTHING: Trimmed = { hasDeleted: false, hasMore: false, hasSwept: false }

export class Retention {
  readonly #database: Database
  readonly #maxEvents: number
  readonly #dedupWindowMs: number | undefined
  readonly #keptMs: number | undefined
  readonly #eventsBetween: number
  #eventsUntilTrim = 0
  /** There are no rejected events before this one. */
  #rejectedFrom = 0
  /**
   * The last key of `seen` that was checked since a clear. Rows of `seen` from before the clear are deleted in steps ("sweep").
   * Undefined = all rows have been checked.
   */
  #sweepFrom: [sourceId: number, messageId: string] | undefined
  #isClearing = false

  /** @param keptMs Undefined = events of any age are kept. */
  constructor(
    database: Database,
    maxEvents: number,
    dedupWindowMs: number | undefined,
    keptMs: number | undefined,
  ) {
    this.#database = database
    this.#maxEvents = maxEvents
    this.#dedupWindowMs = dedupWindowMs
    this.#keptMs = keptMs
    this.#eventsBetween = Math.max(1, Math.min(ROWS_PER_TRIM / 2, Math.floor(maxEvents / 10)))
    const floor = readMeta<number>(database, 'floor')
    const oldest = database.value<number>('SELECT min(seq) AS value FROM event')
    if (floor > 0 && oldest !== undefined && oldest <= floor) this.#startSweep()
  }

  committed(events: number): void {
    this.#eventsUntilTrim -= events
  }

  /** Hides all data from queries at once. `trim` deletes the rows later, a few at a time. Sequence numbers continue. */
  clear(): void {
    const database = this.#database
    database.transaction(() => {
      writeMeta(database, 'floor', newestSeq(database))
      writeMeta(database, 'epoch', readMeta<number>(database, 'epoch') + 1)
      for (const table of ['tally', 'total', 'delivery_tally', 'segment', 'request', 'request_tally'])
        database.exec(`DELETE FROM ${table}`)
    })
    this.#startSweep()
  }

  #startSweep(): void {
    this.#sweepFrom = [0, '']
    this.#isClearing = true
    this.#eventsUntilTrim = 0
  }

  /** Deletes some of the data beyond the limits, if enough events were committed since the last call. */
  trim(nowMs: number): Trimmed {
    if (this.#eventsUntilTrim > 0) return NOTHING
    this.#eventsUntilTrim = this.#eventsBetween
    return this.#database.transaction(() => {
      const trimmed = this.#trimEvents(nowMs)
      this.#trimSeen(nowMs)
      this.#trimRequests()
      const isUnfinished = this.#sweepSeen() || trimmed.hasMore
      if (isUnfinished) this.#eventsUntilTrim = 0
      const hasSwept = this.#isClearing && !isUnfinished
      if (hasSwept) this.#isClearing = false
      return { ...trimmed, hasMore: isUnfinished, hasSwept }
    })
  }

  #trimEvents(nowMs: number): Trimmed {
    const database = this.#database
    const oldest = database.value<number>('SELECT min(seq) AS value FROM event')
    if (oldest === undefined || oldest === null) return NOTHING
    const floor = readMeta<number>(database, 'floor')
    const { excess, rejected } = this.#excess()
    if (oldest > floor && rejected > 0 && Math.max(oldest, this.#rejectedFrom) <= newestSeq(database))
      return this.#trimRejected(oldest, Math.min(ROWS_PER_TRIM, rejected), nowMs)
    this.#rejectedFrom = 0
    const end = Math.max(floor, this.#seqAt(excess, floor), this.#newestExpired(nowMs))
    if (oldest > end) return NOTHING
    keepNewest(database)
    const last = Math.min(end, oldest + ROWS_PER_TRIM - 1)
    // `clear` has deleted all counts, so events from before the clear must not be subtracted.
    if (last > floor) this.#subtractCounts(Math.max(oldest, floor + 1), last)
    for (const table of ['event', 'delivery', 'attempt'])
      database.run(`DELETE FROM ${table} WHERE seq <= ?`, last)
    // Keeps the last row of `inherited` up to this point, because the first remaining event may refer to it.
    database.run(
      'DELETE FROM inherited WHERE seq < (SELECT max(seq) FROM inherited WHERE seq <= ?)',
      last + 1,
    )
    database.run('DELETE FROM segment WHERE n < ?', segmentOf(last + 1))
    return { hasDeleted: true, hasMore: last < end || excess > ROWS_PER_TRIM, hasSwept: false }
  }

  /** How many events there are beyond the limit, and how many of them are rejected ones beyond their share. */
  #excess(): { excess: number; rejected: number } {
    const row = this.#database.get<{ count: number | null; rejected: number | null }>(
      "SELECT sum(count) AS count, sum(CASE WHEN reason <> '' THEN count END) AS rejected FROM total",
    )
    const excess = (row?.count ?? 0) - this.#maxEvents
    return {
      excess,
      rejected: Math.min(excess, Math.floor((row?.rejected ?? 0) - this.#maxEvents * REJECTED_SHARE)),
    }
  }

  /** The last of this many of the oldest events, but at most of those that are deleted together; 0 = none. */
  #seqAt(count: number, floor: number): number {
    if (count <= 0) return 0
    const offset = Math.min(count, ROWS_PER_TRIM) - 1
    return (
      this.#database.value<number>(
        'SELECT seq AS value FROM event WHERE seq > ? ORDER BY seq LIMIT 1 OFFSET ?',
        floor,
        offset,
      ) ?? 0
    )
  }

  #trimRejected(oldest: number, count: number, nowMs: number): Trimmed {
    const database = this.#database
    const first = Math.max(oldest, this.#rejectedFrom)
    const rows = database.all<{ seq: number }>(
      'SELECT seq FROM event INDEXED BY event_facts WHERE seq BETWEEN ? AND ? AND reason IS NOT NULL ORDER BY seq LIMIT ?',
      first,
      first + ROWS_PER_SEARCH,
      count,
    )
    this.#rejectedFrom = rows.length < count ? first + ROWS_PER_SEARCH + 1 : (rows.at(-1)?.seq ?? 0) + 1
    const ids = rows.map(({ seq }) => String(seq))
    keepNewest(database)
    runNow(deleteEvents({ dialect: dialectOf(database), nowMs }, ids), executorOn(database))
    return { hasDeleted: rows.length > 0, hasMore: true, hasSwept: false }
  }

  /** The newest event to delete because of its age. Only whole segments (4096 events) are deleted, so some stay longer. */
  #newestExpired(nowMs: number): number {
    if (this.#keptMs === undefined) return 0
    const kept = this.#database.value<number>(
      'SELECT min(n) AS value FROM segment WHERE last_at >= ?',
      nowMs - this.#keptMs,
    )
    return typeof kept === 'number' ? kept * SEGMENT_SIZE - 1 : newestSeq(this.#database)
  }

  #subtractCounts(first: number, last: number): void {
    const database = this.#database
    const counts = countsOf('event', 'delivery', 'WHERE event.seq BETWEEN ? AND ?')
    for (const [table, rows] of Object.entries(counts)) {
      const columns = TABLES[table as keyof typeof counts].key.join(', ')
      database.run(
        `INSERT INTO ${table} SELECT ${columns}, -count FROM (${rows}) WHERE true ON CONFLICT DO UPDATE SET count = count + excluded.count`,
        first,
        last,
      )
    }
    const lastMs = database.value<number>(
      'SELECT max(received_at) AS value FROM event WHERE seq BETWEEN ? AND ?',
      first,
      last,
    )
    const bucket = Math.floor((lastMs ?? 0) / BUCKET_MS)
    for (const table of ['tally', 'delivery_tally']) {
      database.run(`DELETE FROM ${table} WHERE count = 0 AND bucket <= ?`, bucket)
    }
    database.run('DELETE FROM total WHERE count = 0')
  }

  #trimSeen(nowMs: number): void {
    if (this.#dedupWindowMs === undefined) return
    this.#database.run(
      `DELETE FROM seen WHERE (source_id, message_id) IN
       (SELECT source_id, message_id FROM seen WHERE at <= ? LIMIT ?)`,
      nowMs - this.#dedupWindowMs,
      ROWS_PER_TRIM * 2,
    )
  }

  #trimRequests(): void {
    const limit = Math.min(MAX_REQUESTS, this.#maxEvents)
    this.#database.run(
      `DELETE FROM request WHERE seq <= (SELECT max(seq) FROM request) - ? AND seq < (SELECT min(seq) FROM request) + ?`,
      limit,
      ROWS_PER_TRIM,
    )
    this.#database.run(
      `DELETE FROM request_tally WHERE bucket < (SELECT at / ${BUCKET_MS} FROM request ORDER BY seq LIMIT 1)`,
    )
  }

  /** Returns whether more rows must be checked. */
  #sweepSeen(): boolean {
    if (this.#sweepFrom === undefined) return false
    const database = this.#database
    const [sourceId, messageId] = this.#sweepFrom
    const end = database.get<{ source_id: number; message_id: string }>(
      'SELECT source_id, message_id FROM seen WHERE (source_id, message_id) > (?, ?) LIMIT 1 OFFSET ?',
      sourceId,
      messageId,
      ROWS_PER_SWEEP - 1,
    )
    database.run(
      'DELETE FROM seen WHERE (source_id, message_id) > (?, ?) AND (source_id, message_id) <= (?, ?) AND seq <= ?',
      sourceId,
      messageId,
      end?.source_id ?? Number.MAX_SAFE_INTEGER,
      end?.message_id ?? '',
      readMeta<number>(database, 'floor'),
    )
    this.#sweepFrom = end && [end.source_id, end.message_id]
    return end !== undefined
  }
}
