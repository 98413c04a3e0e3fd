/** Version of the tables, kept in the file; a file of another version is refused, never guessed at. */
export const SCHEMA_VERSION = 1

/**
 * `seen` outlives the events it came from: an event deleted by the retention limit is still a duplicate when it comes again.
 * It points to the first event's `seq`, by which a commit tells the rows that it added from those that were there.
 */
export const SCHEMA = `
CREATE TABLE IF NOT EXISTS source (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);
CREATE TABLE IF NOT EXISTS event (
  seq INTEGER PRIMARY KEY,
  source_id INTEGER NOT NULL,
  status INTEGER NOT NULL,
  reason TEXT,
  kind TEXT,
  name TEXT,
  user_id TEXT,
  anonymous_id TEXT,
  message_id TEXT,
  received_at INTEGER NOT NULL,
  timestamp INTEGER NOT NULL,
  body TEXT
);
CREATE TABLE IF NOT EXISTS seen (
  source_id INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (source_id, message_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS delivery (
  seq INTEGER NOT NULL,
  destination TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (seq, destination)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS delivery_due ON delivery (destination, due_at, seq) WHERE state = 'pending';
CREATE TABLE IF NOT EXISTS assertion (
  jti TEXT PRIMARY KEY,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;
`
