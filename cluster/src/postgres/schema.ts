import { TABLES, type Table, TEXT_COLUMNS } from 'trackpost-collector/sql'

/** Tables that are partitioned by the day of storing. */
export const PARTITIONED = ['event', 'delivery', 'attempt', 'request', 'inherited'] as const

/** The SQL function `brief` shortens texts with more characters. */
const BRIEF_CHARACTERS = 200

/** Adds the collation "C" to text columns: texts are compared by their bytes, so the order never depends on the system. */
const text = (columns: string) => columns.replace(/\btext\b/g, 'text COLLATE "C"')

/** The default partition `<name>_other` takes rows of days that have no partition yet. */
function tableOf([name, { isNumbered, columns, key, longKey }]: [string, Table]): string {
  if (isNumbered)
    return `CREATE TABLE ${name} (day date NOT NULL, seq bigint NOT NULL, ${text(columns)},
      PRIMARY KEY (${['seq', ...key, 'day'].join(', ')})) PARTITION BY RANGE (day);
    CREATE TABLE ${name}_other PARTITION OF ${name} DEFAULT;`
  if (longKey === undefined)
    return `CREATE TABLE ${name} (${text(columns)}, PRIMARY KEY (${key.join(', ')}));`
  return `CREATE TABLE ${name} (${text(columns)});
    CREATE UNIQUE INDEX ${name}_key ON ${name} (${key.map((one) => (one === longKey ? `brief(${one})` : one)).join(', ')});`
}

const briefIndex = (column: string) =>
  `CREATE INDEX event_${column} ON event (brief(${column}), seq) WHERE ${column} IS NOT NULL;`

/**
 * The tables of version 0.1.0, the first release: those in `TABLES`, and tables that only PostgreSQL has.
 *
 * - Column `day` is the day of storing in UTC, by the clock of the database server, and the partition key. `log_day` has the
 *   first sequence number of each day, by which the partition of a sequence number is found.
 * - Indexes contain `brief(text)` instead of a text that may be long, because an index cannot contain long texts. So a query compares both the
 *   short form and the text.
 * - `log_head` has one row. Every append locks this row first, so that events become visible in the order of their sequence
 *   numbers. `floor` is the newest sequence number that was deleted by a clear.
 * - `consumed` has the idempotency keys of each commit, one for each group of events. If a commit is repeated because its
 *   response was lost, it is not written again.
 * - `rate_window` is unlogged, so that requests do not wait for the disk. A crash empties the table, which only resets the rate
 *   limits.
 */
export const SCHEMA = `
CREATE FUNCTION brief(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT CASE WHEN length($1) <= ${BRIEF_CHARACTERS} THEN $1 ELSE left($1, ${BRIEF_CHARACTERS}) || md5($1) END $$;

CREATE TABLE log_head (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  id text NOT NULL COLLATE "C",
  last_seq bigint NOT NULL DEFAULT 0,
  last_request bigint NOT NULL DEFAULT 0,
  openings bigint NOT NULL DEFAULT 0,
  epoch bigint NOT NULL,
  floor bigint NOT NULL DEFAULT 0,
  day date
);
CREATE TABLE log_revision (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  revision bigint NOT NULL DEFAULT 0
);
INSERT INTO log_revision DEFAULT VALUES;
CREATE TABLE log_day (
  first_seq bigint PRIMARY KEY,
  day date NOT NULL
);
CREATE TABLE consumed (
  key text PRIMARY KEY COLLATE "C",
  seq bigint NOT NULL,
  at bigint NOT NULL
);
CREATE INDEX consumed_at ON consumed (at);
CREATE TABLE source (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL COLLATE "C"
);
CREATE INDEX source_name ON source (brief(name));
CREATE TABLE kept_value (
  name text PRIMARY KEY COLLATE "C",
  value text NOT NULL COLLATE "C"
);
CREATE UNLOGGED TABLE rate_window (
  source text PRIMARY KEY COLLATE "C",
  started_at bigint NOT NULL,
  taken integer NOT NULL,
  granted integer NOT NULL
) WITH (fillfactor = 50);
${Object.entries(TABLES).map(tableOf).join('\n')}
CREATE INDEX event_received_at ON event (received_at, seq);
${TEXT_COLUMNS.map(briefIndex).join('\n')}
CREATE INDEX event_request_id ON event (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX event_reason ON event (reason, seq) WHERE reason IS NOT NULL;
CREATE INDEX event_violations ON event (seq) WHERE violations IS NOT NULL;
CREATE INDEX delivery_due ON delivery (destination, due_at, seq) WHERE state = 'pending';
CREATE INDEX delivery_failed ON delivery (destination, seq) WHERE state = 'failed';
ALTER TABLE request ADD UNIQUE (id, day);
CREATE INDEX request_at ON request (at, seq);
`
