import { Socket } from 'node:net'
import pg from 'pg'
import { withPlainSslMode } from '../address.ts'
import { escapeForStore } from '../escape.ts'
import { markUnavailable } from '../unavailable.ts'
import { isTransient } from './errors.ts'

/** A value of a statement; `timestamp` columns hold milliseconds, so that there are no dates. */
export type SqlValue = string | number | boolean | null | readonly (string | number | boolean | null)[]

/** The size of the pools of one process. Reading has its own pool, so that long queries never delay events. */
export const WRITING_CONNECTIONS = 3
const READING_CONNECTIONS = 3
/** Time limit for making a connection. */
const CONNECT_TIMEOUT_MS = 5000
/** A statement without a response within this time counts as a lost connection. */
const STATEMENT_TIMEOUT_MS = 30_000
const IDLE_MS = 60_000
const KEEP_ALIVE_MS = 10_000
const READ_ATTEMPTS = 3
// Without JIT: compiling takes longer than these queries should. The time limit is only a safety net, as queries watch their
// own budget.
const BEGIN_READING =
  'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off; SET LOCAL statement_timeout = 15000'

/** Runs one statement. Each is its own transaction unless noted otherwise. */
export interface Queryable {
  query<T>(text: string, values?: readonly SqlValue[]): Promise<T[]>
}

/** Connections to one PostgreSQL database. */
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

  /** @param address As `postgres://user:password@host:port/database`. Nothing is connected yet. */
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
    // Destroyed only after the client has added its listeners to the socket, so that the client notices.
    if (this.#isCut) setImmediate(() => socket.destroy())
    return socket
  }

  /** Ends all connections now, and each new one at once: otherwise callers would wait for a server that does not respond. */
  cut(): void {
    this.#isCut = true
    this.#isEnding = true
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Runs a statement that may write, once. */
  async query<T>(text: string, values: readonly SqlValue[] = []): Promise<T[]> {
    return marking(
      async () => (await this.#writing.query<T & pg.QueryResultRow>(text, storable(values))).rows,
    )
  }

  /**
   * Runs several statements in one transaction on a separate connection; it is rolled back when `run` throws.
   *
   * @param options The time limit of one statement, and the statement that begins the transaction.
   */
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

  /** Cuts open transactions, which rolls them back, and prevents new ones. */
  endTransactions(): void {
    this.#isEnding = true
    for (const client of this.#inTransaction) void (client as pg.PoolClient & pg.Client).end().catch(() => {})
  }

  /**
   * Runs statements that only read, all on one snapshot of the database. Runs them again when the connection was lost.
   *
   * They have their own connections, so that a long query never delays a write.
   */
  async reading<T>(run: (connection: Queryable) => Promise<T>): Promise<T> {
    return again(() => inTransaction(this.#reading, BEGIN_READING, STATEMENT_TIMEOUT_MS, run))
  }

  /** A connection outside of the pools, for `LISTEN`; the caller connects and ends it. */
  newClient(): pg.Client {
    return new pg.Client(this.#config as pg.ClientConfig)
  }

  async close(): Promise<void> {
    this.#closing ??= Promise.all([this.#writing.end(), this.#reading.end()])
    await this.#closing
  }
}

/** Marks the error of `run` when the server is unavailable. */
async function marking<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (cause) {
    throw isTransient(cause) ? markUnavailable(cause as object) : cause
  }
}

/** Runs a function that only reads, and repeats it when the connection was lost. */
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

/**
 * Rolls back a transaction that failed, so that the connection can be reused; returns undefined when it can. Otherwise the
 * connection is closed, which ends the transaction even if the server no longer responds.
 */
async function rollback(client: pg.PoolClient, cause: Error): Promise<Error | undefined> {
  if (isTransient(cause)) return cause
  try {
    await client.query('ROLLBACK')
    return undefined
  } catch (failure) {
    return failure as Error
  }
}

/** Runs statements in one transaction, on a connection of its own. */
async function inTransaction<T>(
  pool: pg.Pool,
  begin: string,
  timeoutMs: number,
  run: (connection: Queryable) => Promise<T>,
  open?: Set<pg.PoolClient>,
): Promise<T> {
  const client = await checkOut(pool)
  // Added before BEGIN and removed after COMMIT: a server that does not respond to them must not delay `close`.
  open?.add(client)
  const connection: Queryable = {
    async query<R>(text: string, values: readonly SqlValue[] = []) {
      // The types of the client do not know that each query may have a limit of its own.
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
    checkIn(client, failure)
  }
}

function newPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config)
  // A connection lost while idle is replaced when one is needed.
  pool.on('error', () => {})
  return pool
}

// When a connection is lost between two statements, it emits `error`, and without a listener the process would end. The next
// statement fails anyway.
const ignoreLoss = () => {}

async function checkOut(pool: pg.Pool): Promise<pg.PoolClient> {
  return (await pool.connect()).on('error', ignoreLoss)
}

function checkIn(client: pg.PoolClient, failure: Error | undefined): void {
  // A failed connection is discarded, and may still emit `error`.
  if (failure === undefined) client.off('error', ignoreLoss)
  client.release(failure)
}

const INT8 = 20
const DATE = 1082
const NUMERIC = 1700

/** `bigint` is read as a number, as no stored value exceeds the safe integers. Dates are read as text. */
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
