import { chmodSync, closeSync, openSync, readSync, statSync } from 'node:fs'
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite'
import { ConfigError } from '../config/config-error.ts'
import { SCHEMA, SCHEMA_VERSION } from './schema.ts'
import { raw, type Sql, type SqlValue } from './sql.ts'

export const MEMORY = ':memory:'

/** `TRPK` in the header of the file says that it is one of this program. */
const APPLICATION_ID = 0x5452504b
const HEADER_BYTES = 100
/** Another process may just be closing the file. */
const LOCK_WAIT_MS = 1500
const JSON_OF_BODY = /\b(json_type|json_extract|json_each)\(body,/g
/** Different searches need different statements. */
const MAX_STATEMENTS = 300

/** The one connection of a process to its SQLite file. All methods are synchronous. */
export class Database {
  readonly path: string
  readonly #sqlite: DatabaseSyncInstance
  readonly #statements = new Map<string, StatementSyncInstance>()
  readonly #files: string | undefined

  /** @throws ConfigError when the file cannot be used. It is then left as it is. */
  constructor(path: string) {
    this.path = path
    if (path !== MEMORY) checkFile(path)
    try {
      this.#sqlite = new DatabaseSync(path)
    } catch (cause) {
      throw cannotOpen(path, cause)
    }
    try {
      this.#prepare()
    } catch (cause) {
      this.#sqlite.close()
      throw cannotOpen(path, cause)
    }
    this.#files = this.#readFiles()
  }

  #prepare(): void {
    this.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`)
    // The lock of a process: a second one that opens the file is told so. It ends with the process, however that ends.
    this.exec('PRAGMA locking_mode = EXCLUSIVE')
    // Before the write-ahead log exists, so that it is in the file itself.
    this.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
    this.exec('PRAGMA journal_mode = WAL')
    // What was committed survives the death of the process; a power cut can take the last moments.
    this.exec('PRAGMA synchronous = NORMAL')
    this.exec('PRAGMA cache_size = -65536')
    this.exec('PRAGMA temp_store = MEMORY')
    // 8 MB: fewer checkpoints, each of which waits for the disk.
    this.exec('PRAGMA wal_autocheckpoint = 2000')
    this.exec('PRAGMA journal_size_limit = 67108864')
    const { user_version: found } = this.get<{ user_version: number }>('PRAGMA user_version') ?? {
      user_version: 0,
    }
    if (found !== 0 && found !== SCHEMA_VERSION) {
      throw new ConfigError(
        `its tables are of version ${found}, and this collector knows version ${SCHEMA_VERSION}: use another file`,
      )
    }
    // Written in any case: it takes the lock, and makes the write-ahead log.
    this.transaction(() => this.exec(`${found === 0 ? SCHEMA : ''}; PRAGMA user_version = ${SCHEMA_VERSION}`))
  }

  /** Tells the file and its log from others at the same paths. What is written to a file that was removed is lost. */
  #readFiles(): string | undefined {
    if (this.path === MEMORY) return undefined
    const inodes = ['', '-wal'].map(
      (end) => statSync(`${this.path}${end}`, { throwIfNoEntry: false, bigint: true })?.ino,
    )
    return inodes.join(' ')
  }

  /** Whether the path still leads to the file that was opened. */
  get isSameFile(): boolean {
    return this.#files === this.#readFiles()
  }

  #statement(sql: string): StatementSyncInstance {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear()
    const statement = this.#sqlite.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  all<T>(statement: Sql | string): T[] {
    return this.#read(statement, 'all') as T[]
  }

  get<T>(statement: Sql | string): T | undefined {
    return this.#read(statement, 'get') as T | undefined
  }

  #read(statement: Sql | string, how: 'all' | 'get'): unknown {
    const { text, values } = typeof statement === 'string' ? raw(statement) : statement
    try {
      return this.#statement(text)[how](...values)
    } catch (cause) {
      const guarded = text.replace(JSON_OF_BODY, '$1(CASE WHEN json_valid(body) THEN body END,')
      if (guarded === text || !/malformed JSON/.test((cause as Error).message)) throw cause
      // A message that is damaged must not break the searches for others. To test each is slow, so it is done only then.
      return this.#statement(guarded)[how](...values)
    }
  }

  /** The column `value` of the first row; 0 if there is none or it is null. */
  number(statement: Sql | string): number {
    return this.get<{ value: number | null }>(statement)?.value ?? 0
  }

  /** Returns the number of changed rows. */
  run({ text, values }: Sql): number {
    return Number(this.#statement(text).run(...values).changes)
  }

  /** For statements that run for each event: the text is the same each time. */
  runText(text: string, ...values: SqlValue[]): number {
    return Number(this.#statement(text).run(...values).changes)
  }

  exec(text: string): void {
    this.#sqlite.exec(text)
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

  /** Without the pages that deleted rows have left. */
  get usedBytes(): number {
    return this.number(
      'SELECT (page_count - freelist_count) * page_size AS value FROM pragma_page_count, pragma_freelist_count, pragma_page_size',
    )
  }

  /** Copies the write-ahead log into the file first, so that the file alone has all data. */
  close(): void {
    this.#statements.clear()
    try {
      this.exec('PRAGMA journal_mode = DELETE')
      // The driver closes the file when the statements are collected as garbage: until then, it would keep the lock.
      this.exec('PRAGMA locking_mode = NORMAL')
      this.#sqlite.prepare('SELECT count(*) FROM sqlite_schema').get()
    } catch {
      // Nothing is lost: SQLite reads the log when the file is opened again.
    }
    this.#sqlite.close()
  }
}

/**
 * Reads the header of a file that exists, without changing anything, and makes a new file that only its owner can read: it holds
 * personal data.
 *
 * @throws ConfigError when the file is not one of this program.
 */
function checkFile(path: string): void {
  const header = Buffer.alloc(HEADER_BYTES)
  let bytes: number
  try {
    const file = openSync(path, 'a+', 0o600)
    bytes = readSync(file, header, 0, HEADER_BYTES, 0)
    closeSync(file)
  } catch (cause) {
    throw cannotOpen(path, cause)
  }
  const isDatabase = header.toString('latin1').startsWith('SQLite format 3\0')
  if (bytes > 0 && !(isDatabase && header.readUInt32BE(68) === APPLICATION_ID)) {
    const what = isDatabase
      ? 'it is the database of another program'
      : 'it is not a database, or damaged at its beginning'
    throw new ConfigError(
      `store: ${path} was not touched: ${what}; name another file with --store, or move it away`,
    )
  }
  try {
    chmodSync(path, 0o600)
  } catch {
    // Another user owns the file, and has allowed this one to use it.
  }
}

export function cannotOpen(path: string, cause: unknown): ConfigError {
  if (cause instanceof ConfigError && cause.message.startsWith('store:')) return cause
  const { message } = cause as Error
  const reason = /locked|busy/i.test(message)
    ? 'another process has it open: each collector needs a file of its own'
    : isDamage(cause)
      ? DAMAGED
      : /ENOENT/.test(message)
        ? 'its folder does not exist'
        : message
  return new ConfigError(`store: ${path} cannot be opened (${reason})`)
}

/** What to do about a damaged file. */
export const DAMAGED =
  'the file is damaged: stop the collector and move the file away, or save what can be read with "sqlite3 <file> .recover"'

/** Whether a part of the file is not what SQLite has written. */
export function isDamage(cause: unknown): boolean {
  const { errcode, message } = cause as { errcode?: number; message?: string }
  const code = (errcode ?? 0) & 0xff
  return code === 11 || code === 26 || /malformed|not a database/i.test(message ?? '')
}
