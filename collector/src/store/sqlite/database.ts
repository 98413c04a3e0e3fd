import { randomBytes } from 'node:crypto'
import { existsSync, rmSync, truncateSync } from 'node:fs'
import Sqlite from 'libsql'
import { systemClock } from '../../clock.ts'
import { SCHEMA, SCHEMA_VERSION } from './schema.ts'

export type SqlValue = string | number | null
export type Row = Record<string, SqlValue>

/** How long a connection waits for others that write, milliseconds. */
export const LOCK_WAIT_MS = 5000

/** Prepared statements that are kept; searches make new ones without end. */
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

  constructor(path: string) {
    this.path = path
    this.#sqlite = new Sqlite(path, { timeout: LOCK_WAIT_MS })
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

  /** Returns how many rows were changed. */
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

  /** Runs in one transaction that writes; nothing of it stays when it throws. */
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
        // SQLite has rolled back by itself, as it does when the disk is full.
      }
      throw cause
    }
  }

  /** Throws the file away and begins an empty one; the way out when the disk is too full to delete anything. */
  startOver(): void {
    this.close()
    for (const end of ['', '-wal']) {
      // Emptied before it is removed: other connections may hold it open, and the room with it.
      if (existsSync(`${this.path}${end}`)) truncateSync(`${this.path}${end}`)
    }
    for (const end of ['', '-wal', '-shm']) rmSync(`${this.path}${end}`, { force: true })
    this.#sqlite = new Sqlite(this.path, { timeout: LOCK_WAIT_MS })
  }

  /** Lets go of the file that was opened, and opens the one that is there now. */
  reopen(): void {
    this.close()
    this.#sqlite = new Sqlite(this.path, { timeout: LOCK_WAIT_MS })
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
  const database = new Database(options.path)
  try {
    prepareForWriting(database, options)
    return database
  } catch (cause) {
    database.close()
    throw cause
  }
}

/** Settings and tables of the connection that writes. */
export function prepareForWriting(database: Database, options: OpenOptions): void {
  database.pragma('journal_mode = WAL')
  database.pragma(`synchronous = ${options.durability === 'power' ? 'FULL' : 'NORMAL'}`)
  // Bounds, so that memory and the log file stay flat however long it runs.
  database.pragma('cache_size = -16000')
  // Over the length that the log has at full load: to be cut and to grow again costs more than its room.
  database.pragma('journal_size_limit = 268435456')
  // A safety net of 512 MB: as a rule another thread sees to it before, see `Checkpointer`. Here the loop would wait for the disk.
  database.pragma('wal_autocheckpoint = 131072')
  makeTables(database)
  // Without a window nothing is ever looked up by age, and the index would only cost.
  if (options.hasDedupWindow) database.exec('CREATE INDEX IF NOT EXISTS seen_at ON seen (at)')
  if (options.maxBytes !== undefined) {
    database.pragma(`max_page_count = ${Math.floor(options.maxBytes / PAGE_BYTES)}`)
  }
}

/** Opens the file for queries, in a thread of its own. */
export function openForReading(path: string): Database {
  const database = new Database(path)
  database.pragma('query_only = 1')
  database.pragma('cache_size = -32000')
  return database
}

/** In one transaction: a process that opens the same file at the same moment waits, and finds it done. */
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
      // Another one than that of any database before: a page that was open then must not mix the two.
      ['epoch', systemClock.now()],
      ['openings', 0],
      ['floor', 0],
    ] as const) {
      database.run('INSERT INTO meta (key, value) VALUES (?, ?)', key, value)
    }
    database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
  })
}

/** Codes of errors that lie in the data, not in the disk or in others who use the file. */
const DATA = /^SQLITE_(?:CONSTRAINT|TOOBIG|MISMATCH|RANGE)/

/** Whether it is what was given that failed: it fails again, and others do not. */
export function isOfData(cause: unknown): boolean {
  const { code, message } = cause as { code?: unknown; message?: unknown }
  if (typeof code === 'string' && DATA.test(code)) return true
  // The message of the library, without a code, for a value that is none of SQLite's.
  return cause instanceof TypeError || /can only bind/.test(String(message))
}

/** A value that is kept beside the tables. */
export function readMeta<T extends SqlValue>(database: Database, key: string): T {
  return database.value<T>('SELECT value FROM meta WHERE key = ?', key) as T
}

export function writeMeta(database: Database, key: string, value: SqlValue): void {
  database.run('UPDATE meta SET value = ? WHERE key = ?', value, key)
}
