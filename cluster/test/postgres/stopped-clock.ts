import type pg from 'pg'

export interface StoppedClock {
  advance(ms: number): Promise<void>
}

/** Stops the clock of a database for all connections made from now on. New tables are still created in `public`. */
export async function stopClock(client: pg.Client): Promise<StoppedClock> {
  await client.query(`
    CREATE SCHEMA stopped;
    CREATE TABLE stopped.clock AS SELECT pg_catalog.clock_timestamp() AS at;
    CREATE FUNCTION stopped.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT at FROM stopped.clock'`)
  await client.query(`ALTER DATABASE ${client.database} SET search_path = public, stopped, pg_catalog`)
  return {
    async advance(ms) {
      await client.query("UPDATE stopped.clock SET at = at + $1 * interval '1 millisecond'", [ms])
    },
  }
}
