import type pg from 'pg'

/** Has the database note each change of a window of the rates: how many were let through in which. */
export const NOTE_WINDOWS = `
CREATE TABLE noted (nth serial, source text, started_at bigint, granted integer);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO noted (source, started_at, granted) VALUES (NEW.source, NEW.started_at, NEW.granted);
  RETURN NULL;
END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE ON rate_window FOR EACH ROW EXECUTE FUNCTION note()`

/** How many requests of a source were let through in each of its windows, oldest first. */
export async function windowsOf(client: pg.Client, source: string): Promise<number[]> {
  const { rows } = await client.query<{ granted: string }>(
    'SELECT sum(granted) AS granted FROM noted WHERE source = $1 GROUP BY started_at ORDER BY min(nth)',
    [source],
  )
  return rows.map(({ granted }) => Number(granted))
}
