import { BUCKET_MS, countsOf } from 'trackpost-collector/sql'
import type { Database } from './database.ts'
import { CHANNEL } from './functions.ts'
import {
  detachDay,
  detachedDays,
  makePartitions,
  partitionedDays,
  partitionOf,
  shownDay,
  TODAY,
} from './partitions.ts'
import { PARTITIONED } from './schema.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** Time limit of a statement that adds up the counts of a day. Many millions of rows take long, but delay no other process. */
const ADDING_UP_MS = 60 * 60 * 1000
/** An advisory lock. It differs from `SCHEMA_LOCK`, so that no process waits at its start while a day is dropped. */
const DROP_LOCK = 7_263_514_029
/** How long the table `consumed` keeps its keys. They prevent that a repeated commit is written twice. */
const CONSUMED_DAYS = 3
const ROWS_PER_DELETE = 10_000
const PENDING_DAYS = 7

export interface RetentionOptions {
  /** Counted from the day of storing. */
  retentionDays: number
  /** The oldest days are dropped as soon as the days after them have this many events; undefined = no limit. */
  maxEvents: number | undefined
  dedupWindowMs: number | undefined
  now(): number
  onFault(what: string, cause: unknown): void
}

/**
 * Creates partitions for the next days, and deletes old data one whole day at a time. Dropping a partition takes little time,
 * even with very many events.
 */
export class Retention {
  readonly #database: Database
  readonly #options: RetentionOptions

  constructor(database: Database, options: RetentionOptions) {
    this.#database = database
    this.#options = options
  }

  /** Several processes may call this at the same time. Returns whether events were deleted. */
  async run(): Promise<boolean> {
    await makePartitions(this.#database)
    for (const day of await this.#oldDays()) {
      if (await this.#mayDrop(day)) await detachDay(this.#database, day)
    }
    let hasDeleted = false
    for (const day of await detachedDays(this.#database)) {
      if (await this.#dropDay(day)) hasDeleted = true
    }
    await this.#forgetKeys()
    return hasDeleted
  }

  /** The days beyond the limit on age or on the number of events, oldest first. */
  async #oldDays(): Promise<string[]> {
    const { retentionDays, maxEvents } = this.#options
    const rows = await this.#database.query<{ day: string; is_old: boolean; newer: number }>(
      `SELECT ${shownDay('given.day::date')} AS day, given.day::date < ${TODAY} - $2::integer AS is_old,
         (SELECT last_seq FROM log_head) + 1 - coalesce((SELECT min(first_seq) FROM log_day WHERE log_day.day > given.day::date),
           (SELECT last_seq FROM log_head) + 1) AS newer
       FROM unnest($1::text[]) AS given (day) WHERE given.day::date < ${TODAY} ORDER BY 1`,
      [await partitionedDays(this.#database, 'event'), retentionDays],
    )
    const isOver = (newer: number) => maxEvents !== undefined && newer >= maxEvents
    return rows.filter(({ is_old, newer }) => is_old || isOver(newer)).map(({ day }) => day)
  }

  /**
   * A day with pending deliveries is kept until `PENDING_DAYS` after the end of the retention. Then the deliveries are given
   * up, which is reported as a fault.
   */
  async #mayDrop(day: string): Promise<boolean> {
    const [row] = await this.#database.query<{ pending: number; is_given_up: boolean }>(
      `SELECT count(*) AS pending, $1::date < ${TODAY} - $2::integer AS is_given_up
       FROM delivery WHERE day = $1::date AND state = 'pending'`,
      [day, this.#options.retentionDays + PENDING_DAYS],
    )
    if (row === undefined || row.pending === 0) return true
    if (!row.is_given_up) return false
    const cause = new Error(
      `${row.pending} deliveries of ${day}, ${PENDING_DAYS} days after the end of the retention`,
    )
    this.#options.onFault('deliveries were given up', cause)
    return true
  }

  /** Drops the detached partitions of a day, and subtracts their rows from the counts in the same transaction. */
  async #dropDay(day: string): Promise<boolean> {
    return this.#database.transaction(
      async (connection) => {
        const [lock] = await connection.query<{ is_mine: boolean }>(
          'SELECT pg_try_advisory_xact_lock($1) AS is_mine',
          [DROP_LOCK],
        )
        if (!lock?.is_mine) return false
        if (!(await detachedDays(connection)).includes(day)) return false
        // If a partition of the day is still attached, the next run detaches it.
        for (const table of PARTITIONED)
          if ((await partitionedDays(connection, table)).includes(day)) return false
        for (const statement of subtractCounts(day)) await connection.query(statement)
        await connection.query(`DROP TABLE ${PARTITIONED.map((table) => partitionOf(table, day)).join(', ')}`)
        await connection.query('DELETE FROM log_day WHERE day = $1', [day])
        return true
      },
      { timeoutMs: ADDING_UP_MS },
    )
  }

  async #forgetKeys(): Promise<void> {
    const nowMs = this.#options.now()
    await this.#deleteOld('consumed', 'key', nowMs - CONSUMED_DAYS * DAY_MS)
    const { dedupWindowMs } = this.#options
    if (dedupWindowMs !== undefined)
      await this.#deleteOld('seen', 'source_id, message_id', nowMs - dedupWindowMs)
  }

  async #deleteOld(table: string, key: string, untilMs: number): Promise<void> {
    for (;;) {
      const rows = await this.#database.query(
        `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING 1`,
        [Math.floor(untilMs), ROWS_PER_DELETE],
      )
      if (rows.length < ROWS_PER_DELETE) return
    }
  }
}

/** The rows are added up before the tables of counts are locked, so that appends wait only briefly. */
function subtractCounts(day: string): string[] {
  const counts = countsOf(partitionOf('event', day), partitionOf('delivery', day))
  const gone = 'ON COMMIT DROP AS'
  return [
    `CREATE TEMP TABLE gone_events ${gone} ${counts.tally}`,
    `CREATE TEMP TABLE gone_deliveries ${gone} ${counts.delivery_tally}`,
    `CREATE TEMP TABLE gone_requests ${gone} SELECT at / ${BUCKET_MS} AS bucket, status, coalesce(code, '') AS code, count(*) AS count
       FROM ${partitionOf('request', day)} GROUP BY 1, 2, 3`,
    'SELECT FROM log_head FOR UPDATE',
    // If `clearAll` ran after the day was detached, `log_day` has no row for the day, and the counts no longer include the day.
    ...['gone_events', 'gone_deliveries'].map(
      (table) => `DELETE FROM ${table} WHERE NOT EXISTS (SELECT FROM log_day WHERE day = '${day}')`,
    ),
    `UPDATE tally SET count = tally.count - gone.count FROM gone_events AS gone WHERE tally.bucket = gone.bucket
       AND tally.source_id = gone.source_id AND tally.kind = gone.kind AND brief(tally.name) = brief(gone.name)
       AND tally.reason = gone.reason`,
    `UPDATE total SET count = total.count - gone.count
       FROM (SELECT source_id, kind, reason, sum(count) AS count FROM gone_events GROUP BY 1, 2, 3) AS gone
       WHERE total.source_id = gone.source_id AND total.kind = gone.kind AND total.reason = gone.reason`,
    `INSERT INTO delivery_tally (bucket, destination, state, reason, count)
       SELECT bucket, destination, state, reason, -count FROM gone_deliveries ORDER BY 1, 2, 3, brief(reason)
       ON CONFLICT (bucket, destination, state, brief(reason)) DO UPDATE SET count = delivery_tally.count + excluded.count`,
    `UPDATE request_tally SET count = request_tally.count - gone.count FROM gone_requests AS gone
       WHERE request_tally.bucket = gone.bucket AND request_tally.status = gone.status AND request_tally.code = gone.code`,
    'DELETE FROM tally USING gone_events AS gone WHERE tally.bucket = gone.bucket AND tally.count = 0',
    'DELETE FROM total WHERE count = 0',
    'DELETE FROM delivery_tally USING gone_deliveries AS gone WHERE delivery_tally.bucket = gone.bucket AND delivery_tally.count = 0',
    'DELETE FROM request_tally USING gone_requests AS gone WHERE request_tally.bucket = gone.bucket AND request_tally.count = 0',
  ]
}

/**
 * Sequence numbers continue. The idempotency keys in `consumed`, the assertions, the sources, the rate limits and the key-value
 * table are kept.
 */
export async function clearAll(database: Database): Promise<void> {
  await database.transaction(async (connection) => {
    // The lock on `log_head` waits for running appends. The wait for locks on tables is limited, because long queries may hold
    // them; then the caller tries again.
    await connection.query('SELECT FROM log_head FOR UPDATE')
    await connection.query("SET LOCAL lock_timeout = '800ms'")
    await connection.query(
      `TRUNCATE ${[...PARTITIONED, 'seen', 'tally', 'total', 'request_tally', 'delivery_tally'].join(', ')}`,
    )
    await connection.query('DELETE FROM log_day')
    await connection.query('UPDATE log_head SET epoch = epoch + 1, floor = last_seq, day = NULL')
    await connection.query(`SELECT pg_notify('${CHANNEL}', '')`)
  })
}
