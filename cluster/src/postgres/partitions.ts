import type { Database, Queryable } from './database.ts'
import { SCHEMA_LOCK } from './migrations.ts'
import { PARTITIONED } from './schema.ts'

/** Includes today. */
const DAYS_AHEAD = 3
/**
 * Attaching or detaching a partition needs an exclusive lock on its table. While a transaction waits for this lock, all other
 * statements on the table wait too. So the wait is limited, and maintenance tries again later. The limit is shorter than the
 * default `deadlock_timeout` (1 s), so the wait ends before PostgreSQL looks for a deadlock.
 */
const LOCK_WAIT = "SET LOCAL lock_timeout = '800ms'"

/** SQL for the current day in UTC, by the clock of the database server. */
export const TODAY = "(clock_timestamp() AT TIME ZONE 'UTC')::date"

/** SQL for a day as text in ISO 8601, independent of the `DateStyle` of the database or user. */
export function shownDay(day: string): string {
  return `to_char(${day}, 'YYYY-MM-DD')`
}

export function partitionOf(table: string, day: string): string {
  return `${table}_${day.replaceAll('-', '')}`
}

/** Oldest first. */
export async function partitionedDays(connection: Queryable, table: string): Promise<string[]> {
  const rows = await connection.query<{ name: string }>(
    'SELECT relname::text AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = $1::regclass',
    [table],
  )
  return rows
    .map(({ name }) => /_(\d{4})(\d{2})(\d{2})$/.exec(name))
    .filter((match) => match !== null)
    .map(([, year, month, day]) => `${year}-${month}-${day}`)
    .sort()
}

/** Creates the partitions for today, the next days, and all days with rows in the default partition. */
export async function makePartitions(database: Database): Promise<void> {
  const days = await database.query<{ day: string }>(
    `SELECT ${shownDay(`${TODAY} + n`)} AS day FROM generate_series(0, ${DAYS_AHEAD - 1}) AS n
     UNION ${PARTITIONED.map((table) => `(SELECT DISTINCT ${shownDay('day')} FROM ${table}_other LIMIT 100)`).join(' UNION ')}`,
  )
  for (const table of PARTITIONED) {
    const there = new Set(await partitionedDays(database, table))
    for (const { day } of days) if (!there.has(day)) await makePartition(database, table, day)
  }
}

/** The transaction locks only one table, so it cannot be part of a deadlock. */
async function makePartition(database: Database, table: string, day: string): Promise<void> {
  const name = partitionOf(table, day)
  const bounds = `FOR VALUES FROM ('${day}') TO ('${day}'::date + 1)`
  await database.transaction(async (connection) => {
    await connection.query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK])
    if ((await partitionedDays(connection, table)).includes(day)) return
    await connection.query(LOCK_WAIT)
    await connection.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
    // Moves rows of this day that were stored before the partition existed.
    await connection.query(`CREATE TABLE ${name} (LIKE ${table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`)
    await connection.query(
      `WITH moved AS (DELETE FROM ${table}_other WHERE day = '${day}' RETURNING *) INSERT INTO ${name} SELECT * FROM moved`,
    )
    await connection.query(`ALTER TABLE ${table} ATTACH PARTITION ${name} ${bounds}`)
  })
}

/** Afterwards, no statement on the partitioned tables reads or changes the rows of the day. */
export async function detachDay(database: Database, day: string): Promise<void> {
  for (const table of PARTITIONED) {
    await database.transaction(async (connection) => {
      await connection.query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK])
      if (!(await partitionedDays(connection, table)).includes(day)) return
      await connection.query(LOCK_WAIT)
      await connection.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
      await connection.query(`ALTER TABLE ${table} DETACH PARTITION ${partitionOf(table, day)}`)
    })
  }
}

/** The days whose partitions are detached but not dropped yet. A process that has ended may have detached them. */
export async function detachedDays(connection: Queryable): Promise<string[]> {
  const rows = await connection.query<{ name: string }>(
    `SELECT relname::text AS name FROM pg_class
     WHERE relkind = 'r' AND NOT relispartition AND relnamespace = current_schema()::regnamespace AND relname ~ $1`,
    [`^(${PARTITIONED.join('|')})_[0-9]{8}$`],
  )
  const days = rows.map(({ name }) => name.slice(-8).replace(/^(....)(..)/, '$1-$2-'))
  return [...new Set(days)].sort()
}
