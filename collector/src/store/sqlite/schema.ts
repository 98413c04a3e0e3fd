import { TABLES, type Table, TEXT_COLUMNS } from '../tables.ts'

/** Stored in the pragma `user_version`. The version is 4 since the first release (0.1.0). */
export const SCHEMA_VERSION = 4

/**
 * Events are divided into segments of 2^12 consecutive sequence numbers. The first column of some indexes is the segment. So
 * new entries are close together in an index, even in a large table, and a look-up can go from segment to segment and stop
 * early.
 */
export const SEGMENT_BITS = 12
export const SEGMENT_SIZE = 2 ** SEGMENT_BITS

/** Divides, because the operator `>>` of JavaScript has only 32 bits. */
export function segmentOf(seq: number): number {
  return Math.floor(seq / SEGMENT_SIZE)
}

/** If the key is only `seq`, it is the rowid; other tables are stored in key order. */
function tableOf([name, { isNumbered, columns, key }]: [string, Table]): string {
  if (isNumbered && key.length === 0) return `CREATE TABLE ${name} (seq INTEGER PRIMARY KEY, ${columns});`
  const whole = isNumbered ? ['seq', ...key] : key
  return `CREATE TABLE ${name} (${isNumbered ? 'seq integer NOT NULL,' : ''} ${columns},
    PRIMARY KEY (${whole.join(', ')})) WITHOUT ROWID;`
}

const segmented = (column: string) =>
  `CREATE INDEX event_${column} ON event (seq >> ${SEGMENT_BITS}, ${column}) WHERE ${column} IS NOT NULL;`

export const SCHEMA = `
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value
) WITHOUT ROWID;
CREATE TABLE source (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);
CREATE TABLE consumed (
  key TEXT PRIMARY KEY,
  at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE segment (
  n INTEGER PRIMARY KEY,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL
);
${Object.entries(TABLES).map(tableOf).join('\n')}
CREATE INDEX event_facts ON event (seq, source_id, kind, reason, received_at);
${TEXT_COLUMNS.map(segmented).join('\n')}
CREATE INDEX event_request_id ON event (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX event_violations ON event (seq) WHERE violations IS NOT NULL;
CREATE INDEX delivery_due ON delivery (destination, due_at, seq) WHERE state = 'pending';
CREATE INDEX delivery_failed ON delivery (destination, seq) WHERE state = 'failed';
CREATE INDEX consumed_at ON consumed (at);
CREATE UNIQUE INDEX request_id ON request (id);
`
