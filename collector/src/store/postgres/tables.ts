/** Tables that are partitioned by the day of storing, with one partition for each day. */
export const PARTITIONED = ['event', 'delivery', 'attempt', 'request', 'inherited'] as const

/** Texts of more characters are indexed by `brief`. */
const BRIEF_CHARACTERS = 200

/** The partition of what was stored before that of its day was made. */
function otherDays(table: string): string {
  return `CREATE TABLE ${table}_other PARTITION OF ${table} DEFAULT;`
}

/**
 * Columns mean what they mean in SQLite; times are milliseconds since the epoch. What is different:
 *
 * - `day` is the day of storing by the clock of the database, UTC: by it tables are partitioned, and old partitions dropped.
 *   `log_day` says from which number on events lie in which day, so that a number leads to its partition.
 * - `brief(text)` is what stands for a text in an index, which cannot hold long ones: ask `brief(name) = brief($1) AND name = $1`.
 * - All text compares by its bytes ("C"): the same on every system, and not changed by an update of it.
 * - `log_head` has one row. An append locks it first, so that numbers become visible in their order.
 * - `consumed` has the keys of what was stored once: a commit whose outcome was not heard is not written again.
 */
export const TABLES = `
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

CREATE TABLE event (
  day date NOT NULL,
  seq bigint NOT NULL,
  source_id integer NOT NULL,
  status smallint NOT NULL,
  reason text COLLATE "C",
  kind text COLLATE "C",
  name text COLLATE "C",
  user_id text COLLATE "C",
  anonymous_id text COLLATE "C",
  message_id text COLLATE "C",
  received_at bigint NOT NULL,
  timestamp bigint NOT NULL,
  body text COLLATE "C",
  request_id bigint,
  sent text COLLATE "C",
  warnings text COLLATE "C",
  violations text COLLATE "C",
  PRIMARY KEY (seq, day)
) PARTITION BY RANGE (day);
CREATE INDEX event_received_at ON event (received_at, seq);
CREATE INDEX event_name ON event (brief(name), seq) WHERE name IS NOT NULL;
CREATE INDEX event_user_id ON event (brief(user_id), seq) WHERE user_id IS NOT NULL;
CREATE INDEX event_anonymous_id ON event (brief(anonymous_id), seq) WHERE anonymous_id IS NOT NULL;
CREATE INDEX event_message_id ON event (brief(message_id), seq) WHERE message_id IS NOT NULL;
CREATE INDEX event_request_id ON event (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX event_reason ON event (reason, seq) WHERE reason IS NOT NULL;
CREATE INDEX event_violations ON event (seq) WHERE violations IS NOT NULL;

CREATE TABLE seen (
  source_id integer NOT NULL,
  message_id text NOT NULL COLLATE "C",
  seq bigint NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (source_id, message_id)
);

CREATE TABLE delivery (
  day date NOT NULL,
  seq bigint NOT NULL,
  destination text NOT NULL COLLATE "C",
  state text NOT NULL COLLATE "C",
  reason text COLLATE "C",
  attempts integer NOT NULL DEFAULT 0,
  due_at bigint NOT NULL DEFAULT 0,
  last_at bigint,
  last_ms integer,
  round integer NOT NULL DEFAULT 0,
  PRIMARY KEY (seq, destination, day)
) PARTITION BY RANGE (day);
CREATE INDEX delivery_due ON delivery (destination, due_at, seq) WHERE state = 'pending';
CREATE INDEX delivery_failed ON delivery (destination, seq) WHERE state = 'failed';

CREATE TABLE attempt (
  day date NOT NULL,
  seq bigint NOT NULL,
  destination text NOT NULL COLLATE "C",
  at bigint NOT NULL,
  attempt integer NOT NULL,
  ms integer NOT NULL,
  result text NOT NULL COLLATE "C",
  reason text COLLATE "C",
  PRIMARY KEY (seq, destination, at, attempt, day)
) PARTITION BY RANGE (day);

CREATE TABLE assertion (
  jti text PRIMARY KEY COLLATE "C",
  expires_at bigint NOT NULL
);

CREATE TABLE request (
  day date NOT NULL,
  seq bigint NOT NULL,
  id bigint NOT NULL,
  at bigint NOT NULL,
  method text NOT NULL COLLATE "C",
  path text NOT NULL COLLATE "C",
  status integer NOT NULL,
  code text COLLATE "C",
  source text COLLATE "C",
  address text NOT NULL COLLATE "C",
  agent text COLLATE "C",
  library text COLLATE "C",
  content_type text COLLATE "C",
  encoding text COLLATE "C",
  body_bytes bigint NOT NULL,
  inflated_bytes bigint NOT NULL,
  duration double precision NOT NULL,
  retries bigint,
  events integer NOT NULL,
  accepted integer NOT NULL,
  problem text COLLATE "C",
  fault text COLLATE "C",
  headers text NOT NULL COLLATE "C",
  body text COLLATE "C",
  is_cut smallint NOT NULL,
  PRIMARY KEY (seq, day),
  UNIQUE (id, day)
) PARTITION BY RANGE (day);
CREATE INDEX request_at ON request (at, seq);

CREATE TABLE tally (
  bucket bigint NOT NULL,
  source_id integer NOT NULL,
  kind text NOT NULL COLLATE "C",
  name text NOT NULL COLLATE "C",
  reason text NOT NULL COLLATE "C",
  count bigint NOT NULL
);
CREATE UNIQUE INDEX tally_key ON tally (bucket, source_id, kind, brief(name), reason);
CREATE TABLE total (
  source_id integer NOT NULL,
  kind text NOT NULL COLLATE "C",
  reason text NOT NULL COLLATE "C",
  count bigint NOT NULL,
  PRIMARY KEY (source_id, kind, reason)
);
CREATE TABLE request_tally (
  bucket bigint NOT NULL,
  status integer NOT NULL,
  code text NOT NULL COLLATE "C",
  count bigint NOT NULL,
  PRIMARY KEY (bucket, status, code)
);
CREATE TABLE delivery_tally (
  bucket bigint NOT NULL,
  destination text NOT NULL COLLATE "C",
  state text NOT NULL COLLATE "C",
  reason text NOT NULL COLLATE "C",
  count bigint NOT NULL
);
CREATE UNIQUE INDEX delivery_tally_key ON delivery_tally (bucket, destination, state, brief(reason));

${['event', 'delivery', 'attempt', 'request'].map(otherDays).join('\n')}
`

/**
 * The data that processes share beside events. The rates are not written to the log of the server: a request need not wait for its disk, and
 * that all windows begin anew after a crash does no harm.
 */
export const SHARED_TABLES = `
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
`

/** Inherited fields of events, under the number of the first event of their batch, which the others name too. */
export const INHERITED_TABLE = `
ALTER TABLE event ADD COLUMN inherited bigint;
CREATE TABLE inherited (
  day date NOT NULL,
  seq bigint NOT NULL,
  body text NOT NULL COLLATE "C",
  PRIMARY KEY (seq, day)
) PARTITION BY RANGE (day);
${otherDays('inherited')}
`
