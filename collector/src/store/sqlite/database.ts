import { randomBytes } from 'node:crypto'
import { existsSync, rmSync, statfsSync, statSync, truncateSync } from 'node:fs'
import Sqlite from 'libsql'
import { systemClock } from '../../system-clock.ts'
import { SCHEMA, SCHEMA_VERSION } from './schema.ts'

export type SqlValue = string | number | null
export type Row = Record<string, SqlValue>

export const MEMORY = ':memory:'

const LOCK_WAIT_MS = 5000
const TRIAL_WAIT_MS = 50
/** The size of a small batch, so that `tryToWrite` fails if the disk is full. */
const TRIAL_BYTES = 65_536

/** The cache of prepared statements is limited, because different searches need different statements. */
const MAX_STATEMENTS = 300

/** All methods are synchronous, so a transaction never stays open between two turns of the event loop. */
export class Database {
  #sqlite: Sqlite.Database
  readonly #statements = new Map<string, Sqlite.Statement>()
  readonly path: string
  readonly #prepare: (database: Database) => void
  #files: string | undefined

  /** @param prepare Called each time the file is opened; sets pragmas, and creates the tables. */
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
    this.#files = this.#readFiles()
  }

  /** Tells the file and its log from others at the same paths. What is written to a log that was removed is lost too. */
  #readFiles(): string | undefined {
    if (this.path === MEMORY) return undefined
    const [file, log] = ['', '-wal'].map((end) =>
      statSync(`${this.path}${end}`, { bigint: true, throwIfNoEntry: false }),
    )
    return `${file?.ino} ${file?.size === 0n} ${log?.ino}`
  }

  get isSameFile(): boolean {
    return this.#files === this.#readFiles()
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

  /** The column `value` of the first row. */
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

  pragma<T>(text: string): T[] {
    return this.#sqlite.pragma(text) as T[]
  }

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
        // SQLite has already rolled back by itself, for example because the disk is full.
      }
      throw cause
    }
  }

  /**
   * Writes some data and deletes it again, without waiting long for the write lock.
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

  /** Whether all rows can be deleted. This writes changed pages to the log, at most as many as the file and the log have. */
  get hasRoomToDelete(): boolean {
    if (this.path === MEMORY) return true
    const sizes = ['', '-wal'].map(
      (end) => statSync(`${this.path}${end}`, { throwIfNoEntry: false })?.size ?? 0,
    )
    const { bavail, bsize } = statfsSync(this.path)
    return bavail * bsize > sizes.reduce((sum, size) => sum + size)
  }

  /** Deletes the file and creates an empty one. Called when the disk is too full to delete rows. */
  startOver(): void {
    this.close()
    for (const end of ['', '-wal']) {
      // The file is truncated first: if another connection still has it open, removing it alone would not free its space.
      if (existsSync(`${this.path}${end}`)) truncateSync(`${this.path}${end}`)
    }
    for (const end of ['', '-wal', '-shm']) rmSync(`${this.path}${end}`, { force: true })
    this.reopen()
  }

  /** Closes the file, and opens the file that is at the path now. */
  reopen(): void {
    this.close()
    this.#sqlite = new Sqlite(this.path, { timeout: LOCK_WAIT_MS })
    this.#opened()
  }

  /** Without the pages that deleted rows have left. */
  get usedBytes(): number {
    const pages = 'SELECT page_count - freelist_count AS value FROM pragma_page_count, pragma_freelist_count'
    return (this.value<number>(pages) ?? 0) * PAGE_BYTES
  }

  close(): void {
    this.#statements.clear()
    this.#sqlite.close()
  }
}

export interface OpenOptions {
  path: string
  durability: 'process' | 'power'
  hasDedupWindow: boolean
  maxBytes?: number | undefined
}

const PAGE_BYTES = 4096

/**
 * Creates the tables if the file is new.
 *
 * @throws when the file cannot be opened, is not a database, or has tables of another version.
 */
export function openDatabase(options: OpenOptions): Database {
  return new Database(options.path, (database) => prepareForWriting(database, options))
}

function prepareForWriting(database: Database, options: OpenOptions): void {
  database.pragma('journal_mode = WAL')
  database.pragma(`synchronous = ${options.durability === 'power' ? 'FULL' : 'NORMAL'}`)
  // 16,000 KiB of memory for the page cache.
  database.pragma('cache_size = -16000')
  // After a checkpoint, SQLite truncates the log to this size (256 MB). The log needs less at full load, so it is usually not
  // truncated: letting it grow again would cost more than the space.
  database.pragma('journal_size_limit = 268435456')
  // As a safety net, SQLite itself checkpoints the log from 512 MB on, which blocks the event loop until the disk has written.
  // Usually a separate thread checkpoints the log earlier, see `Checkpointer`.
  database.pragma('wal_autocheckpoint = 131072')
  makeTables(database)
  // The index is used only to delete messageIds that are older than the deduplication window.
  if (options.hasDedupWindow) database.exec('CREATE INDEX IF NOT EXISTS seen_at ON seen (at)')
  if (options.maxBytes !== undefined) {
    database.pragma(`max_page_count = ${Math.floor(options.maxBytes / PAGE_BYTES)}`)
  }
}

/**
 * Opens a file that another connection of this process has open.
 *
 * @throws when it was removed. SQLite would create an empty file, and delete the log of the one that was removed.
 */
export function openAgain(path: string): Database {
  if (statSync(path).size === 0) throw new Error('the database file was replaced')
  return new Database(path)
}

export function openForReading(path: string): Database {
  const database = openAgain(path)
  database.pragma('query_only = 1')
  database.pragma('cache_size = -32000')
  return database
}

/** Another process that opens the file at the same time waits until the tables exist. */
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
      // No earlier database had this epoch, so a page that is still open in a browser does not mix the events of two databases.
      ['epoch', systemClock.now()],
      ['openings', 0],
      ['floor', 0],
    ] as const) {
      database.run('INSERT INTO meta (key, value) VALUES (?, ?)', key, value)
    }
    database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
  })
}

/** Of an error of `libsql`, only the code reaches another thread, not the message. */
export function forOtherThread(cause: unknown): Error {
  return new Error((cause as Error).message)
}

const DATA = /^SQLITE_(?:CONSTRAINT|TOOBIG|MISMATCH|RANGE)/

export function isDataError(cause: unknown): boolean {
  const { code, message } = cause as { code?: unknown; message?: unknown }
  if (typeof code === 'string' && DATA.test(code)) return true
  // For a value of a type that SQLite does not support, `libsql` throws an error without a code.
  return cause instanceof TypeError || /can only bind/.test(String(message))
}

export function readMeta<T extends SqlValue>(database: Database, key: string): T {
  return database.value<T>('SELECT value FROM meta WHERE key = ?', key) as T
}

export function writeMeta(database: Database, key: string, value: SqlValue): void {
  database.run('UPDATE meta SET value = ? WHERE key = ?', value, key)
}
