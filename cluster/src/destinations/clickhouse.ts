import { ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client'
import type { StreamEvent } from '../stream/message.ts'
import { type Destination, type Outcome, RefusedError } from './destination.ts'
import { COLUMNS, type Row } from './row.ts'
import { readTable, writeRows } from './table.ts'

const TIMEOUT_MS = 8000

/** Codes of exceptions that the data of a row cause. After all others, the batch is written again later. */
const DATA: ReadonlySet<number> = new Set([
  6, // CANNOT_PARSE_TEXT
  25, // CANNOT_PARSE_ESCAPE_SEQUENCE
  26, // CANNOT_PARSE_QUOTED_STRING
  27, // CANNOT_PARSE_INPUT_ASSERTION_FAILED
  38, // CANNOT_PARSE_DATE
  41, // CANNOT_PARSE_DATETIME
  53, // TYPE_MISMATCH
  69, // ARGUMENT_OUT_OF_BOUND
  70, // CANNOT_CONVERT_TYPE
  72, // CANNOT_PARSE_NUMBER
  117, // INCORRECT_DATA
  131, // TOO_LARGE_STRING_SIZE
  321, // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
  349, // CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
  395, // FUNCTION_THROW_IF_VALUE_IS_NON_ZERO
  469, // VIOLATED_CONSTRAINT
  691, // UNKNOWN_ELEMENT_OF_ENUM
])
const UNKNOWN_TABLE = 60

/**
 * Rows with the same source and messageId are one event: the server merges them, and `SELECT ... FINAL` shows one until then.
 */
function createTable(table: string): string {
  return `CREATE TABLE IF NOT EXISTS ${table} (
  source LowCardinality(String),
  message_id String,
  type LowCardinality(String),
  event LowCardinality(String),
  user_id String,
  anonymous_id String,
  timestamp DateTime64(3, 'UTC'),
  received_at DateTime64(3, 'UTC'),
  properties String,
  traits String,
  context String,
  message String,
  INDEX by_timestamp timestamp TYPE minmax
) ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(received_at) ORDER BY (source, message_id)`
}

/** Inserts into a table of ClickHouse, `clickhouse://user:password@host:8123/database?table=events`. */
export class ClickHouse implements Destination {
  readonly batchSize = 2000
  readonly #client: ReturnType<typeof createClient>
  readonly #table: string
  #isReady = false

  /** @throws ConfigError when the name of the table cannot be used. */
  constructor(address: URL) {
    const { table, url } = readTable(address)
    this.#table = table
    const scheme = url.protocol === 'clickhouses:' ? 'https' : 'http'
    this.#client = createClient({
      url: `${scheme}://${url.host}`,
      username: decodeURIComponent(url.username) || 'default',
      password: decodeURIComponent(url.password),
      database: decodeURIComponent(url.pathname.slice(1)) || 'default',
      application: 'trackpost-cluster',
      request_timeout: TIMEOUT_MS,
      // The worker reports failures itself.
      log: { level: ClickHouseLogLevel.OFF },
    })
  }

  async write(events: readonly StreamEvent[]): Promise<Outcome[]> {
    if (!this.#isReady) await this.#prepare()
    return writeRows(events, (rows) => this.#insert(rows))
  }

  /** A user without the right to make tables can use an existing one, also one with further columns. */
  async #prepare(): Promise<void> {
    try {
      await this.#client.command({ query: `SELECT ${COLUMNS.join(', ')} FROM ${this.#table} LIMIT 0` })
    } catch (cause) {
      if (codeOf(cause) !== UNKNOWN_TABLE) throw cause
      await this.#client.command({ query: createTable(this.#table) })
    }
    this.#isReady = true
  }

  async #insert(rows: readonly Row[]): Promise<void> {
    try {
      await this.#client.insert({
        table: this.#table,
        columns: [...COLUMNS],
        values: [...rows],
        format: 'JSONEachRow',
        // With asynchronous inserts, the server could acknowledge rows before they are in the table.
        clickhouse_settings: { date_time_input_format: 'best_effort', async_insert: 0 },
      })
    } catch (cause) {
      if (DATA.has(codeOf(cause))) throw new RefusedError((cause as Error).message)
      // The table may be gone, or another one.
      this.#isReady = false
      throw cause
    }
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

function codeOf(cause: unknown): number {
  return cause instanceof ClickHouseError ? Number(cause.code) : 0
}
