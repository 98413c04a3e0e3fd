import { randomBytes } from 'node:crypto'
import type { Database, Queryable } from './database.ts'
import { FUNCTIONS } from './functions.ts'
import { SCHEMA } from './schema.ts'

/** The oldest server with all features used here. */
export const MIN_SERVER_VERSION = 14

/** The version of the tables in `SCHEMA`: those of 0.1.0, the first release. */
const FIRST_VERSION = 3
/** Migrations, from `FIRST_VERSION` on, each to the next version. A released migration is never changed. */
const MIGRATIONS: readonly string[] = []

/** Functions hold no data: after each migration they are created again, to fit the new tables. */
const REMAKE_FUNCTIONS = `
DO $drop$
DECLARE
  one regprocedure;
BEGIN
  FOR one IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
    AND proname IN ('day_of', 'append')
  LOOP
    EXECUTE 'DROP FUNCTION ' || one;
  END LOOP;
END
$drop$;
${FUNCTIONS}`

/** Version of the tables that this collector knows. */
export const SCHEMA_VERSION = FIRST_VERSION + MIGRATIONS.length

/**
 * The lock held while tables are created or dropped, so that only one process does it. An arbitrary number that other programs
 * are unlikely to use.
 */
export const SCHEMA_LOCK = 7_263_514_028

/** Time limit of a migration: large tables take long, and other processes that start wait for it. */
const MIGRATION_MS = 60 * 60 * 1000

/** A database that cannot be used; the message is for the person who configured its address. */
export class UnusableDatabase extends Error {
  override readonly name = 'UnusableDatabase'
}

/** A newer collector has migrated the tables: older processes cannot use them. */
export class NewerTables extends UnusableDatabase {}

/**
 * Creates or migrates the tables. If several processes call this at the same time, one does the work and the others wait.
 *
 * @param epoch The epoch of a new database; must be greater than that of any earlier database at this address.
 * @param migrations Only for tests: migrations to the next version.
 * @throws UnusableDatabase when the server is too old, the database holds no UTF-8, or its tables were made by a newer
 * collector.
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
  // Other encodings cannot store all characters, or searches do not support them.
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
      if (version > 0 && version < FIRST_VERSION) {
        throw new UnusableDatabase(
          `its tables are of version ${version}, which was in no release; name another database`,
        )
      }
      const steps = version === 0 ? [SCHEMA, ...migrations] : migrations.slice(version - FIRST_VERSION)
      for (const step of [...steps, REMAKE_FUNCTIONS]) await connection.query(step)
      await connection.query('INSERT INTO migration (version, applied_at) VALUES ($1, now())', [latest])
      if (version > 0) return
      // An epoch that no earlier database had: a page that is still open must not mix their events.
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
