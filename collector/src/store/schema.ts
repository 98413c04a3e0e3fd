/** Stored in the pragma `user_version`. Versions up to 4 were of files without an `application_id`. */
export const SCHEMA_VERSION = 8

/**
 * Times are milliseconds since the epoch.
 *
 * `event.person` is the userId or anonymousId under which a person is listed: an anonymousId belongs to the first user with whom it
 * was seen, and an alias moves an id to another. `owner` has what is known about ids for events to come.
 */
export const SCHEMA = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE event (
  seq INTEGER PRIMARY KEY,
  source TEXT NOT NULL,
  reason TEXT,
  kind TEXT,
  name TEXT,
  userId TEXT,
  anonymousId TEXT,
  messageId TEXT,
  person TEXT,
  received_at INTEGER NOT NULL,
  timestamp INTEGER NOT NULL,
  request_id INTEGER,
  body TEXT,
  sent TEXT,
  warnings TEXT,
  violations TEXT
);
CREATE TABLE deploy (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, name TEXT NOT NULL);
CREATE INDEX event_facts ON event (received_at, kind, name, reason, source);
CREATE INDEX event_name ON event (name) WHERE name IS NOT NULL;
CREATE INDEX event_refused ON event (messageId, source) WHERE reason IS NOT NULL;
CREATE INDEX event_person ON event (person, seq) WHERE person IS NOT NULL;
CREATE INDEX event_request ON event (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX event_violations ON event (received_at, kind, name) WHERE violations IS NOT NULL;
CREATE TABLE owner (id TEXT PRIMARY KEY, person TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX owner_person ON owner (person);
CREATE TABLE delivery (
  seq INTEGER NOT NULL,
  destination TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL DEFAULT 0,
  last_at INTEGER,
  round INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (seq, destination)
) WITHOUT ROWID;
CREATE INDEX delivery_facts ON delivery (received_at, destination, state, reason);
CREATE INDEX delivery_state ON delivery (destination, state, due_at, seq);
CREATE TABLE attempt (
  seq INTEGER NOT NULL,
  destination TEXT NOT NULL,
  at INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  ms REAL NOT NULL,
  result TEXT NOT NULL,
  reason TEXT
);
CREATE INDEX attempt_of ON attempt (seq, destination);
CREATE TABLE request (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  status INTEGER NOT NULL,
  code TEXT,
  source TEXT,
  address TEXT NOT NULL,
  userAgent TEXT,
  library TEXT,
  contentType TEXT,
  contentEncoding TEXT,
  bodyBytes INTEGER NOT NULL,
  inflatedBytes INTEGER NOT NULL,
  durationMs REAL NOT NULL,
  retryCount INTEGER,
  events INTEGER NOT NULL,
  accepted INTEGER NOT NULL,
  repeated INTEGER NOT NULL,
  problem TEXT,
  fault TEXT,
  headers TEXT NOT NULL,
  body TEXT,
  bodyIsCut INTEGER NOT NULL,
  answer TEXT
);
CREATE INDEX request_facts ON request (at, status, code);
`
