import { randomBytes } from 'node:crypto'
import { existsSync, rmSync, statSync, truncateSync } from 'node:fs'
import Sqlite from 'libsql'
import { systemClock } from '../../clock.ts'
import { SCHEMA, SCHEMA_VERSION } from './schema.ts'

export type SqlValue = string | number | null
export type Row = Record<string, SqlValue>

/** The path of a database in memory, which ends with its connection. */
export const MEMORY = ':memory:'

/** How long a connection waits for other writers, milliseconds. */
const LOCK_WAIT_MS = 5000
const TRIAL_WAIT_MS = 50
/** As large as a small batch, so that the trial fails if the disk is full or the file has reached its limit. */
const TRIAL_BYTES = 65_536

/** The limit on cached prepared statements, as searches create ever new ones. */
const MAX_STATEMENTS = 300

/**
 * One connection to the file, with its prepared statements.
 *
 * A transaction never stays open between two turns of the event loop.
 */
export class Database {
  #sqlite: Sqlite.Database
  readonly #statements = new Map<string, Sqlite.Statement>()
  readonly path: string
  readonly #prepare: (database: Database) => void
  #inode: bigint | undefined

  /** @param prepare Called for each connection: sets its pragmas, and creates the tables. */
  constructor(path: string, prepare: (database: Database) => void = () => {}) {
    this.path = path
    this.#prepare = prepare
    this.#sqlite = new Sqlite(path, { timeout: LOCK_WAIT_MS })
    try {
      this.#opened()
    } catch (cause) {
      this.close()
      throw cause
    }
  }

  #opened(): void {
    this.#prepare(this)
    this.#inode = this.#readInode()
  }

  #readInode(): bigint | undefined {
    if (this.path === MEMORY) return undefined
    return statSync(this.path, { bigint: true, throwIfNoEntry: false })?.ino
  }

  /** Whether the file is still the one that was opened. */
  get isSameFile(): boolean {
    return this.#inode === this.#readInode()
  }

  statement(sql: string): Sqlite.Statement {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear()
    const statement = this.#sqlite.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  all<T>(sql: string, ...values: SqlValue[]): T[] {
    return this.statement(sql).all(...values) as T[]
  }

  get<T>(sql: string, ...values: SqlValue[]): T | undefined {
    return this.statement(sql).get(...values) as T | undefined
  }

  /** The single value of a query, or undefined when there is no row. */
  value<T extends SqlValue>(sql: string, ...values: SqlValue[]): T | undefined {
    return this.get<{ value: T }>(sql, ...values)?.value
  }

  /** Returns the number of changed rows. */
  run(sql: string, ...values: SqlValue[]): number {
    return this.statement(sql).run(...values).changes
  }

  exec(sql: string): void {
    this.#sqlite.exec(sql)
  }

  /** Returns the rows that the pragma has, if any. */
  pragma<T>(text: string): T[] {
    return this.#sqlite.pragma(text) as T[]
  }

  /** Runs in one transaction that writes, which is rolled back when `run` throws. */
  transaction<T>(run: () => T): T {
    this.exec('BEGIN IMMEDIATE')
    try {
      const result = run()
      this.exec('COMMIT')
      return result
    } catch (cause) {
      try {
        this.exec('ROLLBACK')
      } catch {
        // SQLite has already rolled back, as it does when the disk is full.
      }
      throw cause
    }
  }

  /**
   * Writes some data and deletes it again; waits only briefly for other writers.
   *
   * @throws when the database cannot write.
   */
  tryToWrite(): void {
    this.pragma(`busy_timeout = ${TRIAL_WAIT_MS}`)
    try {
      this.transaction(() => {
        this.run("INSERT INTO meta (key, value) VALUES ('trial', zeroblob(?))", TRIAL_BYTES)
        this.run("DELETE FROM meta WHERE key = 'trial'")
      })
    } finally {
      this.pragma(`busy_timeout = ${LOCK_WAIT_MS}`)
    }
  }

  /** Deletes the file and starts an empty one; for a disk that is too full to delete rows. */
  startOver(): void {
    this.close()
    for (const end of ['', '-wal']) {
      // Truncated before it is removed: other connections may hold it open, and would keep its space in use.
      if (existsSync(`${this.path}${end}`)) truncateSync(`${this.path}${end}`)
    }
    for (const end of ['', '-wal', '-shm']) rmSync(`${this.path}${end}`, { force: true })
    this.reopen()
  }

  /** Closes the file, and opens the one that is there now. */
  reopen(): void {
    this.close()
    this.#sqlite = new Sqlite(this.path, { timeout: LOCK_WAIT_MS })
    this.#opened()
  }

  close(): void {
    this.#statements.clear()
    this.#sqlite.close()
  }
}

/** How the writing connection is opened. */
export interface OpenOptions {
  path: string
  durability: 'process' | 'power'
  hasDedupWindow: boolean
  maxBytes?: number | undefined
}

const PAGE_BYTES = 4096

/**
 * Opens the file for writing, and makes the tables of a new one.
 *
 * @throws when the file cannot be opened, is no database, or has the tables of another version.
 */
export function openDatabase(options: OpenOptions): Database {
  return new Database(options.path, (database) => prepareForWriting(database, options))
}

function prepareForWriting(database: Database, options: OpenOptions): void {
  database.pragma('journal_mode = WAL')
  database.pragma(`synchronous = ${options.durability === 'power' ? 'FULL' : 'NORMAL'}`)
  // The next two limits bound memory and the size of the log, however long the process runs.
  database.pragma('cache_size = -16000')
  // The limit is more than the log needs at full load: to truncate it and let it grow again costs more than its space.
  database.pragma('journal_size_limit = 268435456')
  // A safety net of 512 MB: usually a separate thread checkpoints the log earlier, see `Checkpointer`. An automatic checkpoint
  // would run on this thread, and the event loop would wait for the disk.
  database.pragma('wal_autocheckpoint = 131072')
  makeTables(database)
  // Without a window, nothing is looked up by age, and the index would be useless.
  if (options.hasDedupWindow) database.exec('CREATE INDEX IF NOT EXISTS seen_at ON seen (at)')
  if (options.maxBytes !== undefined) {
    database.pragma(`max_page_count = ${Math.floor(options.maxBytes / PAGE_BYTES)}`)
  }
}

/** Opens the file for queries, in a separate thread. */
export function openForReading(path: string): Database {
  const database = new Database(path)
  database.pragma('query_only = 1')
  database.pragma('cache_size = -32000')
  return database
}

/** Creates the tables in one transaction: another process that opens the file at the same time waits, and then finds them. */
function makeTables(database: Database): void {
  const versionOf = () => database.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0
  if (versionOf() === SCHEMA_VERSION) return
  database.transaction(() => {
    const version = versionOf()
    if (version === SCHEMA_VERSION) return
    if (version !== 0) {
      throw new Error(
        `its tables are of version ${version}, and this collector knows version ${SCHEMA_VERSION}`,
      )
    }
    database.exec(SCHEMA)
    for (const [key, value] of [
      ['id', randomBytes(6).toString('hex')],
      // An epoch that no earlier database had: a page that is still open must not mix their events.
      ['epoch', systemClock.now()],
      ['openings', 0],
      ['floor', 0],
    ] as const) {
      database.run('INSERT INTO meta (key, value) VALUES (?, ?)', key, value)
    }
    database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
  })
}

/** Error codes for bad data, rather than problems of the disk or other users of the file. */
const DATA = /^SQLITE_(?:CONSTRAINT|TOOBIG|MISMATCH|RANGE)/

/** Whether the data caused the error: the same data would fail again, others would not. */
export function isDataError(cause: unknown): boolean {
  const { code, message } = cause as { code?: unknown; message?: unknown }
  if (typeof code === 'string' && DATA.test(code)) return true
  // For a value that SQLite does not support, the library throws an error without a code.
  return cause instanceof TypeError || /can only bind/.test(String(message))
}

/** A single value in the table `meta`. */
export function readMeta<T extends SqlValue>(database: Database, key: string): T {
  return database.value<T>('SELECT value FROM meta WHERE key = ?', key) as T
}

export function writeMeta(database: Database, key: string, value: SqlValue): void {
  database.run('UPDATE meta SET value = ? WHERE key = ?', value, key)
}
