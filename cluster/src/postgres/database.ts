import { Socket } from 'node:net'
import pg from 'pg'
import { markUnavailable } from 'trackpost-collector/ports'
import { escapeForStore } from 'trackpost-collector/sql'
import { withPlainSslMode } from './address.ts'
import { isTransient } from './errors.ts'

/** Dates are not needed, because times are stored as milliseconds since the epoch. */
export type SqlValue = string | number | boolean | null | readonly (string | number | boolean | null)[]

/** Reading has its own connection pool, so that long queries never delay events. */
export const WRITING_CONNECTIONS = 3
const READING_CONNECTIONS = 3
const CONNECT_TIMEOUT_MS = 5000
/** A statement without a response within this time counts as a lost connection. */
const STATEMENT_TIMEOUT_MS = 30_000
const IDLE_MS = 60_000
const KEEP_ALIVE_MS = 10_000
const READ_ATTEMPTS = 3
// JIT is off, because compiling a query takes longer than running it. The timeout (15 s) is only a safety net: queries have a
// time limit of their own, see `Budget`.
const BEGIN_READING =
  'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off; SET LOCAL statement_timeout = 15000'

/** A database or a user may have other defaults, which would change what statements mean, or refuse concurrent ones. */
const SETTINGS = "SET standard_conforming_strings = on; SET default_transaction_isolation = 'read committed'"

/** Runs single statements: each in its own transaction, or all in the transaction of a connection. */
export interface Queryable {
  query<T>(text: string, values?: readonly SqlValue[]): Promise<T[]>
}

export class Database implements Queryable {
  readonly #writing: pg.Pool
  readonly #reading: pg.Pool
  readonly #config: pg.PoolConfig
  /** Connections with an open transaction that may write. */
  readonly #inTransaction = new Set<pg.PoolClient>()
  readonly #sockets = new Set<Socket>()
  #isEnding = false
  #isCut = false
  #closing: Promise<unknown> | undefined

  constructor(address: string) {
    this.#config = {
      connectionString: withPlainSslMode(address),
      application_name: 'trackpost-collector',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: STATEMENT_TIMEOUT_MS,
      idleTimeoutMillis: IDLE_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      types: { getTypeParser: parserOf as typeof pg.types.getTypeParser },
      stream: () => this.#newSocket(),
    }
    this.#writing = newPool({ ...this.#config, max: WRITING_CONNECTIONS })
    this.#reading = newPool({ ...this.#config, max: READING_CONNECTIONS })
  }

  #newSocket(): Socket {
    const socket = new Socket()
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    // The socket is destroyed only after the client has added its listeners: otherwise the client would not notice.
    if (this.#isCut) setImmediate(() => socket.destroy())
    return socket
  }

  /** Destroys all connections and later ones, so that no caller waits for a server that does not respond. */
  cut(): void {
    this.#isCut = true
    this.#isEnding = true
    for (const socket of this.#sockets) socket.destroy()
  }

  /** The statement may write, so it is not repeated when the connection is lost. */
  async query<T>(text: string, values: readonly SqlValue[] = []): Promise<T[]> {
    return marking(
      async () => (await this.#writing.query<T & pg.QueryResultRow>(text, storable(values))).rows,
    )
  }

  /** Rolls the transaction back when `run` throws. `timeoutMs` is the time limit of one statement. */
  async transaction<T>(
    run: (connection: Queryable) => Promise<T>,
    { timeoutMs = STATEMENT_TIMEOUT_MS, begin = 'BEGIN' } = {},
  ): Promise<T> {
    return marking(() =>
      inTransaction(
        this.#writing,
        begin,
        timeoutMs,
        async (connection) => {
          if (this.#isEnding) throw new Error('Connection terminated: the store is closed')
          return run(connection)
        },
        this.#inTransaction,
      ),
    )
  }

  /** Closes the connections of open transactions, so that the server rolls them back, and prevents new transactions. */
  endTransactions(): void {
    this.#isEnding = true
    for (const client of this.#inTransaction) void (client as pg.PoolClient & pg.Client).end().catch(() => {})
  }

  /** All statements read one snapshot of the database. They are repeated after a transient error. */
  async reading<T>(run: (connection: Queryable) => Promise<T>): Promise<T> {
    return again(() => inTransaction(this.#reading, BEGIN_READING, STATEMENT_TIMEOUT_MS, run))
  }

  /** A connection outside the pools. The caller opens and closes the connection. */
  newClient(): pg.Client {
    return new pg.Client(this.#config as pg.ClientConfig)
  }

  async close(): Promise<void> {
    this.#closing ??= Promise.all([this.#writing.end(), this.#reading.end()])
    await this.#closing
  }
}

async function marking<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (cause) {
    throw isTransient(cause) ? markUnavailable(cause as object) : cause
  }
}

function again<T>(read: () => Promise<T>): Promise<T> {
  return marking(async () => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await read()
      } catch (cause) {
        if (attempt >= READ_ATTEMPTS || !isTransient(cause)) throw cause
      }
    }
  })
}

/** @returns Undefined when the connection can be reused; otherwise an error: then the connection must be closed. */
async function rollback(client: pg.PoolClient, cause: Error): Promise<Error | undefined> {
  if (isTransient(cause)) return cause
  try {
    await client.query('ROLLBACK')
    return undefined
  } catch (failure) {
    return failure as Error
  }
}

async function inTransaction<T>(
  pool: pg.Pool,
  begin: string,
  timeoutMs: number,
  run: (connection: Queryable) => Promise<T>,
  open?: Set<pg.PoolClient>,
): Promise<T> {
  const client = await pool.connect()
  // Added before the first statement and removed after the last one, so that `endTransactions` also ends a transaction whose
  // first or last statement gets no response.
  open?.add(client)
  const connection: Queryable = {
    async query<R>(text: string, values: readonly SqlValue[] = []) {
      // The compiler would refuse a literal here, because the type of a query has no `query_timeout`.
      const limited = { text, values: storable(values), query_timeout: timeoutMs }
      return (await client.query<R & pg.QueryResultRow>(limited)).rows
    },
  }
  let failure: Error | undefined
  try {
    await client.query(begin)
    const result = await run(connection)
    await client.query('COMMIT')
    return result
  } catch (cause) {
    failure = await rollback(client, cause as Error)
    throw cause
  } finally {
    open?.delete(client)
    // A connection that failed is closed.
    client.release(failure)
  }
}

function newPool(config: pg.PoolConfig): pg.Pool {
  // The pool waits for the promise, which its types do not say.
  const onConnect = ((client) => client.query(SETTINGS)) as (client: pg.ClientBase) => void
  const pool = new pg.Pool({ ...config, onConnect })
  // The pool replaces an idle connection that is lost. Without a listener for `error`, the process would end.
  pool.on('error', () => {})
  // A connection in use that is lost between two statements emits `error` too. It can be ignored, because the next statement on
  // the connection fails. The listener is added before the pool hands out the connection: PostgreSQL may end it at that moment.
  pool.on('connect', (client) => void client.on('error', () => {}))
  return pool
}

const INT8 = 20
const DATE = 1082
const NUMERIC = 1700

/** `bigint` and `numeric` values are read as numbers, since no stored value exceeds the safe integers. Dates remain text. */
function parserOf(oid: number, format?: 'text'): (text: string) => unknown {
  if (oid === INT8 || oid === NUMERIC) return Number
  if (oid === DATE) return (text) => text
  return pg.types.getTypeParser(oid, format)
}

function storable(values: readonly SqlValue[]): unknown[] {
  return values.map((value) => {
    if (typeof value === 'string') return escapeForStore(value)
    return Array.isArray(value)
      ? value.map((one) => (typeof one === 'string' ? escapeForStore(one) : one))
      : value
  })
}
