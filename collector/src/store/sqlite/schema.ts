import { countsOf } from '../writing/counts.ts'

/** Version of the tables, kept in the file. Older ones are brought forward, newer ones refused. */
export const SCHEMA_VERSION = 4

/**
 * Events lie in segments of this many numbers, as a shift. Indexes begin with the segment: what is written lies close together
 * however large the table is, and a look-up asks one segment after another, newest first, and may stop anywhere.
 */
export const SEGMENT_BITS = 12
export const SEGMENT_SIZE = 2 ** SEGMENT_BITS

/** The segment of a number. Not by a shift: in JavaScript that ends at 32 bits. */
export function segmentOf(seq: number): number {
  return Math.floor(seq / SEGMENT_SIZE)
}

/**
 * `seen` outlives the events it came from: an event deleted by the retention limit is still a duplicate when it comes again.
 * It points to the first event's `seq`, by which a commit tells the rows that it added from those that were there.
 *
 * `inherited` holds what events take over from their batch, under the number of the first of them, which the others name too. Events
 * that share one follow each other, so that its last one is before the number of the next.
 *
 * `tally` and `delivery_tally` are the counts of `event` and `delivery`, kept in the transactions that change these, so that nobody
 * counts a large table. Absent values are '' there: a primary key cannot hold NULL.
 */
export const TABLES = `
CREATE TABLE IF NOT EXISTS meta (
  key TEXT PRIMARY KEY,
  value
) WITHOUT ROWID;
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
  body TEXT,
  request_id INTEGER,
  sent TEXT,
  warnings TEXT,
  violations TEXT,
  inherited INTEGER
);
CREATE TABLE IF NOT EXISTS inherited (
  seq INTEGER PRIMARY KEY,
  body TEXT NOT NULL
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
  last_at INTEGER,
  last_ms INTEGER,
  round INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (seq, destination)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS attempt (
  seq INTEGER NOT NULL,
  destination TEXT NOT NULL,
  at INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  ms INTEGER NOT NULL,
  result TEXT NOT NULL,
  reason TEXT,
  PRIMARY KEY (seq, destination, at, attempt)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS assertion (
  jti TEXT PRIMARY KEY,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS consumed (
  key TEXT PRIMARY KEY,
  at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS request (
  seq INTEGER PRIMARY KEY,
  id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  status INTEGER NOT NULL,
  code TEXT,
  source TEXT,
  address TEXT NOT NULL,
  agent TEXT,
  library TEXT,
  content_type TEXT,
  encoding TEXT,
  body_bytes INTEGER NOT NULL,
  inflated_bytes INTEGER NOT NULL,
  duration REAL NOT NULL,
  retries INTEGER,
  events INTEGER NOT NULL,
  accepted INTEGER NOT NULL,
  problem TEXT,
  fault TEXT,
  headers TEXT NOT NULL,
  body TEXT,
  is_cut INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS segment (
  n INTEGER PRIMARY KEY,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS tally (
  bucket INTEGER NOT NULL,
  source_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  reason TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (bucket, source_id, kind, name, reason)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS total (
  source_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  reason TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (source_id, kind, reason)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS request_tally (
  bucket INTEGER NOT NULL,
  status INTEGER NOT NULL,
  code TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (bucket, status, code)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS delivery_tally (
  bucket INTEGER NOT NULL,
  destination TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (bucket, destination, state, reason)
) WITHOUT ROWID;
`

const segmented = (column: string) =>
  `CREATE INDEX IF NOT EXISTS event_${column} ON event (seq >> ${SEGMENT_BITS}, ${column}) WHERE ${column} IS NOT NULL;`

export const INDEXES = `
CREATE INDEX IF NOT EXISTS event_facts ON event (seq, source_id, kind, reason, received_at);
${['name', 'user_id', 'anonymous_id', 'message_id'].map(segmented).join('\n')}
CREATE INDEX IF NOT EXISTS event_request_id ON event (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS event_violations ON event (seq) WHERE violations IS NOT NULL;
CREATE INDEX IF NOT EXISTS delivery_due ON delivery (destination, due_at, seq) WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS delivery_failed ON delivery (destination, seq) WHERE state = 'failed';
CREATE INDEX IF NOT EXISTS consumed_at ON consumed (at);
CREATE UNIQUE INDEX IF NOT EXISTS request_id ON request (id);
`

/** The migration of version 1: new columns, and the counts of what is there. */
export const FROM_VERSION_1 = `
ALTER TABLE event ADD COLUMN request_id INTEGER;
ALTER TABLE event ADD COLUMN sent TEXT;
ALTER TABLE event ADD COLUMN warnings TEXT;
ALTER TABLE event ADD COLUMN violations TEXT;
ALTER TABLE delivery ADD COLUMN last_at INTEGER;
ALTER TABLE delivery ADD COLUMN last_ms INTEGER;
ALTER TABLE delivery ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
`

/** The migration of versions 1 to 3. */
export const FROM_VERSION_3 = 'ALTER TABLE event ADD COLUMN inherited INTEGER;'

const COUNTS = countsOf('event', 'delivery')

export const COUNTS_FROM_TABLES = `
INSERT INTO segment SELECT seq >> ${SEGMENT_BITS}, min(received_at), max(received_at) FROM event GROUP BY 1;
INSERT INTO tally ${COUNTS.tally};
INSERT INTO total ${COUNTS.total};
INSERT INTO delivery_tally ${COUNTS.delivery_tally};
`
