import pg from 'pg'
import type { StreamEvent } from '../stream/message.ts'
import { type Destination, type Outcome, RefusedError } from './destination.ts'
import { COLUMNS, type Row } from './row.ts'
import { readTable, writeRows } from './table.ts'

const TIMEOUT_MS = 8000
const CONNECT_TIMEOUT_MS = 5000
const CONNECTIONS = 2

/** SQLSTATE classes of bad data: a value of a wrong type (22), a violated constraint (23), an exceeded limit (54). */
const DATA = /^(22|23|54)/
const UNKNOWN_TABLE = '42P01'

const TYPES: Readonly<Record<keyof Row, string>> = {
  source: 'text',
  message_id: 'text',
  type: 'text',
  event: 'text',
  user_id: 'text',
  anonymous_id: 'text',
  timestamp: 'timestamptz',
  received_at: 'timestamptz',
  properties: 'jsonb',
  traits: 'jsonb',
  context: 'jsonb',
  message: 'jsonb',
}

function createTable(table: string): string {
  const columns = COLUMNS.map((name) => `${name} ${TYPES[name]} NOT NULL`)
  return `CREATE TABLE IF NOT EXISTS ${table} (${columns.join(', ')}, PRIMARY KEY (source, message_id))`
}

/** Inserts into a table of PostgreSQL, `postgres://user:password@host/database?table=events`: each event once. */
export class Postgres implements Destination {
  readonly batchSize = 1000
  readonly #pool: pg.Pool
  readonly #table: string
  #isReady = false

  /** @throws ConfigError when the name of the table cannot be used. */
  constructor(address: URL) {
    const { table, url } = readTable(address)
    this.#table = table
    this.#pool = new pg.Pool({
      connectionString: url.href,
      application_name: 'trackpost-cluster',
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
      keepAlive: true,
    })
    // The pool replaces an idle connection that is lost. Without a listener for `error`, the process would end.
    this.#pool.on('error', () => {})
    this.#pool.on('connect', (client) => void client.on('error', () => {}))
  }

  async write(events: readonly StreamEvent[]): Promise<Outcome[]> {
    if (!this.#isReady) await this.#prepare()
    return writeRows(events, (rows) => this.#insert(rows))
  }

  /** A user without the right to make tables can use an existing one, also one with further columns. */
  async #prepare(): Promise<void> {
    try {
      await this.#pool.query(`SELECT ${COLUMNS.join(', ')} FROM ${this.#table} LIMIT 0`)
    } catch (cause) {
      if (codeOf(cause) !== UNKNOWN_TABLE) throw cause
      await this.#pool.query(createTable(this.#table))
    }
    this.#isReady = true
  }

  async #insert(rows: readonly Row[]): Promise<void> {
    // In the same order in every worker: otherwise two of them could wait for each other's rows.
    const sorted = rows.toSorted(
      (one, other) => compare(one.source, other.source) || compare(one.message_id, other.message_id),
    )
    const values = COLUMNS.map((name) => sorted.map((row) => row[name]))
    const arrays = COLUMNS.map((name, index) => `$${index + 1}::${TYPES[name]}[]`)
    const text = `INSERT INTO ${this.#table} (${COLUMNS.join(', ')}) SELECT * FROM unnest(${arrays.join(', ')}) ON CONFLICT DO NOTHING`
    try {
      await this.#pool.query({ name: 'insert', text, values })
    } catch (cause) {
      if (DATA.test(codeOf(cause))) throw new RefusedError((cause as Error).message)
      this.#isReady = false
      throw cause
    }
  }

  close(): Promise<void> {
    return this.#pool.end()
  }
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}

function codeOf(cause: unknown): string {
  return String((cause as { code?: unknown }).code ?? '')
}
