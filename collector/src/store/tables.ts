import { TEXT_FIELDS, type TextField } from '../record.ts'

/** A table that exists in both SQLite and PostgreSQL. */
export interface Table {
  /** Whether the table has a column `seq`, the sequence number of an event or of a request. */
  isNumbered: boolean
  /** The columns except `seq`, with their types. Times are milliseconds since the epoch. */
  columns: string
  /** Columns of the primary key, after `seq`. */
  key: readonly string[]
  /** A column of the key whose texts may have any length. PostgreSQL indexes only a short form of such texts. */
  longKey?: string
}

export const REQUEST_COLUMNS = `
  id bigint NOT NULL,
  at bigint NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  status integer NOT NULL,
  code text,
  source text,
  address text NOT NULL,
  agent text,
  library text,
  content_type text,
  encoding text,
  body_bytes bigint NOT NULL,
  inflated_bytes bigint NOT NULL,
  duration double precision NOT NULL,
  retries bigint,
  events integer NOT NULL,
  accepted integer NOT NULL,
  problem text,
  fault text,
  headers text NOT NULL,
  body text,
  is_cut smallint NOT NULL`

export type TextColumn = (typeof TEXT_FIELDS)[TextField]['column']
export const TEXT_COLUMNS: readonly TextColumn[] = Object.values(TEXT_FIELDS).map(({ column }) => column)

/** The columns of `event` that are the same in all stores; see `valuesOf`. */
export const GIVEN_COLUMNS = `
  reason text,
  kind text,
  ${TEXT_COLUMNS.map((column) => `${column} text`).join(', ')},
  received_at bigint NOT NULL,
  timestamp bigint NOT NULL,
  body text,
  request_id bigint,
  sent text,
  warnings text,
  violations text`

/** The columns of these tables are those of the key, and `count`. */
export type CountTable = 'tally' | 'total' | 'request_tally' | 'delivery_tally'

type TableName =
  | CountTable
  | 'event'
  | 'inherited'
  | 'delivery'
  | 'attempt'
  | 'request'
  | 'seen'
  | 'assertion'

/**
 * `seen` has the messageId and the `seq` of each accepted event. The row is kept when its event is deleted because of age or
 * number: a repeat of that event is still a duplicate.
 *
 * `inherited` holds the fields that events inherit from their batch: one row for the events of a batch in one commit. The `seq`
 * of a row is that of the first of these events. All of them refer to this row, and come before the `seq` of the next row.
 *
 * `tally`, `total`, `request_tally` and `delivery_tally` are counts. They are updated in the same transactions as the counted
 * rows, so that large tables never have to be counted. A missing value is '' in these tables, because a key cannot contain
 * null.
 */
export const TABLES: Readonly<Record<TableName, Table>> = {
  event: {
    isNumbered: true,
    key: [],
    columns: `
  source_id integer NOT NULL,
  status smallint NOT NULL,${GIVEN_COLUMNS},
  inherited bigint`,
  },
  inherited: { isNumbered: true, key: [], columns: 'body text NOT NULL' },
  delivery: {
    isNumbered: true,
    key: ['destination'],
    columns: `
  destination text NOT NULL,
  state text NOT NULL,
  reason text,
  attempts integer NOT NULL DEFAULT 0,
  due_at bigint NOT NULL DEFAULT 0,
  last_at bigint,
  last_ms integer,
  round integer NOT NULL DEFAULT 0`,
  },
  attempt: {
    isNumbered: true,
    key: ['destination', 'at', 'attempt'],
    columns: `
  destination text NOT NULL,
  at bigint NOT NULL,
  attempt integer NOT NULL,
  ms integer NOT NULL,
  result text NOT NULL,
  reason text`,
  },
  request: { isNumbered: true, key: [], columns: REQUEST_COLUMNS },
  seen: {
    isNumbered: false,
    key: ['source_id', 'message_id'],
    columns: `
  source_id integer NOT NULL,
  message_id text NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL`,
  },
  assertion: { isNumbered: false, key: ['jti'], columns: 'jti text NOT NULL, expires_at bigint NOT NULL' },
  tally: {
    isNumbered: false,
    key: ['bucket', 'source_id', 'kind', 'name', 'reason'],
    longKey: 'name',
    columns: `
  bucket bigint NOT NULL,
  source_id integer NOT NULL,
  kind text NOT NULL,
  name text NOT NULL,
  reason text NOT NULL,
  count bigint NOT NULL`,
  },
  total: {
    isNumbered: false,
    key: ['source_id', 'kind', 'reason'],
    columns: `
  source_id integer NOT NULL,
  kind text NOT NULL,
  reason text NOT NULL,
  count bigint NOT NULL`,
  },
  request_tally: {
    isNumbered: false,
    key: ['bucket', 'status', 'code'],
    columns: `
  bucket bigint NOT NULL,
  status integer NOT NULL,
  code text NOT NULL,
  count bigint NOT NULL`,
  },
  delivery_tally: {
    isNumbered: false,
    key: ['bucket', 'destination', 'state', 'reason'],
    longKey: 'reason',
    columns: `
  bucket bigint NOT NULL,
  destination text NOT NULL,
  state text NOT NULL,
  reason text NOT NULL,
  count bigint NOT NULL`,
  },
}

export function namesOf(columns: string): string[] {
  return columns.split(',').map((column) => column.trim().split(' ')[0] ?? '')
}
