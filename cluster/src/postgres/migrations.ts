import { randomBytes } from 'node:crypto'
import type { Database, Queryable } from './database.ts'
import { FUNCTIONS } from './functions.ts'
import { SCHEMA } from './schema.ts'

/** The oldest supported major version. */
export const MIN_SERVER_VERSION = 14

/** The version of the tables in `SCHEMA`, which are those of the first release (0.1.0). */
const FIRST_VERSION = 1
/**
 * SQL migrations, each from one version of the tables to the next. The first one starts at `FIRST_VERSION`. A migration is
 * never changed after its release.
 */
const MIGRATIONS: readonly string[] = []

/** Drops the SQL functions and creates them again, so that they fit the tables after a migration. */
const REMAKE_FUNCTIONS = `
DO $drop$
DECLARE
  one regprocedure;
BEGIN
  FOR one IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
    AND proname IN ('day_of', 'message_of', 'append')
  LOOP
    EXECUTE 'DROP FUNCTION ' || one;
  END LOOP;
END
$drop$;
${FUNCTIONS}`

export const SCHEMA_VERSION = FIRST_VERSION + MIGRATIONS.length

/**
 * The advisory lock that a process holds while it creates tables, or attaches or detaches partitions. The number is arbitrary.
 */
export const SCHEMA_LOCK = 7_263_514_028

/** The migration of large tables takes long. Other processes wait for its end when they start. */
const MIGRATION_MS = 60 * 60 * 1000

/** The message is for the person who configured the address of the database. */
export class UnusableDatabase extends Error {
  override readonly name = 'UnusableDatabase'
}

/** A newer collector has migrated the tables, and this collector cannot use them. */
export class NewerTables extends UnusableDatabase {}

/**
 * Creates or migrates the tables. If several processes call this at the same time, one does the work and the others wait.
 *
 * @param epoch The epoch (`FeedState.epoch`) of a new database. Must be greater than that of any earlier database at this
 *   address, so that a page that is still open in a browser does not mix the events of two databases.
 * @param migrations Passed only by tests.
 * @throws UnusableDatabase when the server is too old, the encoding of the database is not UTF-8, or the tables have a version
 *   that this collector does not know.
 */
export async function migrate(
  database: Pick<Database, 'query' | 'transaction'>,
  epoch: number,
  migrations: readonly string[] = MIGRATIONS,
): Promise<void> {
  const latest = FIRST_VERSION + migrations.length
  const [server] = await database.query<{ version: string; encoding: string }>(
    "SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding",
  )
  const major = Math.floor(Number(server?.version) / 10_000)
  if (!(major >= MIN_SERVER_VERSION)) {
    throw new UnusableDatabase(
      `the server is PostgreSQL ${major}, and ${MIN_SERVER_VERSION} or later is needed; upgrade it or name another one`,
    )
  }
  if (server?.encoding !== 'UTF8') {
    throw new UnusableDatabase(
      `the encoding of the database is ${server?.encoding}, and UTF8 is needed; make it with ` +
        "CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0",
    )
  }
  await database.transaction(
    async (connection) => {
      await connection.query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK])
      const version = await versionOf(connection)
      if (version === latest) return
      if (version > latest) {
        throw new NewerTables(
          `its tables are of version ${version}, and this collector knows up to ${latest}; ` +
            'update this collector, or name another database',
        )
      }
      const steps = version === 0 ? [SCHEMA, ...migrations] : migrations.slice(version - FIRST_VERSION)
      for (const step of [...steps, REMAKE_FUNCTIONS]) await connection.query(step)
      await connection.query('INSERT INTO migration (version, applied_at) VALUES ($1, now())', [latest])
      if (version > 0) return
      const id = randomBytes(6).toString('hex')
      await connection.query('INSERT INTO log_head (id, epoch) VALUES ($1, $2)', [id, epoch])
    },
    { timeoutMs: MIGRATION_MS },
  )
}

async function versionOf(connection: Queryable): Promise<number> {
  await connection.query(
    'CREATE TABLE IF NOT EXISTS migration (version integer PRIMARY KEY, applied_at timestamptz NOT NULL)',
  )
  const [row] = await connection.query<{ version: number | null }>(
    'SELECT max(version) AS version FROM migration',
  )
  return row?.version ?? 0
}
