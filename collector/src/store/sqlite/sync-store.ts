import type { EventRecord, EventSummary } from '../../record.ts'
import { type EventFilter, type EventQuery, searchOf } from '../../search/filter.ts'
import { systemClock } from '../../system-clock.ts'
import { inNumbers } from '../cursor.ts'
import type { StepRunner } from '../dialect.ts'
import type { Totals } from '../event-store.ts'
import { count, findEvents } from '../queries/find.ts'
import { recordsOf } from '../queries/records.ts'
import { totals } from '../queries/totals.ts'
import type { Batch } from '../writing/batch.ts'
import { deleteEvents } from '../writing/deletion.ts'
import { Outbox } from '../writing/outbox.ts'
import { Assertions, TokenKeys } from '../writing/token-memory.ts'
import { Commit } from './commit.ts'
import { type Database, MEMORY, openDatabase, type Row, readMeta, writeMeta } from './database.ts'
import { keepNewest, newestSeq } from './dialect.ts'
import { runQueryNow } from './reader.ts'
import { Retention, type Trimmed } from './retention.ts'
import { executorOn, runNow, stepRunner } from './steps.ts'

/** When a full file is replaced, only the newest idempotency keys are kept: a log repeats messages within minutes. */
const MAX_KEYS_CARRIED = 10_000

export interface SyncStoreOptions {
  /** A file path, or `:memory:`. */
  path: string
  /**
   * `process`: acknowledged events survive the death of this process, even by `kill -9` (`synchronous = NORMAL` in WAL mode).
   * `power`: acknowledged events also survive a power cut (`synchronous = FULL`), at the cost of one disk flush per commit.
   */
  durability: 'process' | 'power'
  /** Undefined = messageIds are remembered for ever. */
  dedupWindowMs?: number | undefined
  /** Older events are deleted, but their messageIds are still remembered. */
  maxEvents: number
  /** Undefined = events of any age are kept. */
  retentionDays?: number | undefined
  /** Writes that need more space fail. Undefined = as large as the disk. */
  maxBytes?: number | undefined
  /** Milliseconds since the epoch. Default: the system clock. */
  now?: () => number
  /** Called after results of deliveries were written. */
  onOutcomes?: () => void
}

/** `data` is the pragma `data_version`, which changes when another process writes. */
export interface Version {
  data: number
  epoch: number
  lastSeq: number
}

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * The connection of this process that writes to the SQLite file. Other processes may use the file at the same time. Every
 * method is synchronous; see `Database`.
 */
export class SyncStore {
  readonly database: Database
  readonly outbox: Outbox
  readonly tokenKeys: TokenKeys
  readonly assertions: Assertions
  /** How often the file has been opened, including this time. */
  readonly opening: number
  readonly #commit: Commit
  readonly #retention: Retention
  readonly #now: () => number
  readonly #runner: StepRunner
  readonly #id: string

  /** @throws when the file cannot be opened, is not a database, or has tables of another version. */
  constructor(options: SyncStoreOptions) {
    const { path, durability, dedupWindowMs, maxEvents, maxBytes, retentionDays } = options
    this.#now = options.now ?? systemClock.now
    const hasDedupWindow = dedupWindowMs !== undefined
    this.database = openDatabase({ path, durability, maxBytes, hasDedupWindow })
    try {
      this.#commit = new Commit(this.database, dedupWindowMs)
      this.#retention = new Retention(
        this.database,
        maxEvents,
        dedupWindowMs,
        retentionDays === undefined ? undefined : retentionDays * DAY_MS,
      )
      this.opening = this.database.transaction(() => {
        const opening = readMeta<number>(this.database, 'openings') + 1
        writeMeta(this.database, 'openings', opening)
        return opening
      })
      this.#id = readMeta<string>(this.database, 'id')
      this.#runner = stepRunner(this.database, this.#now, () => this.#requireSameFile())
      this.tokenKeys = new TokenKeys(this.#runner)
      this.assertions = new Assertions(this.#runner)
      this.outbox = new Outbox(this.#runner, this.#id, options.onOutcomes ?? (() => {}))
    } catch (cause) {
      this.database.close()
      throw cause
    }
  }

  /**
   * Returns the result of each event, in order. The primary key of the table `seen` makes deduplication exact, across processes
   * and restarts.
   *
   * @throws when the database cannot write; then nothing was stored.
   */
  commit(batch: Batch): EventSummary[] {
    this.#requireSameFile()
    try {
      const summaries = this.database.transaction(() => this.#commit.run(batch, this.#now()))
      // Data written to a file that was removed during the transaction are lost.
      this.#requireSameFile()
      this.#retention.committed(summaries.length)
      return summaries
    } catch (cause) {
      this.#commit.failed()
      throw cause
    }
  }

  events({ order = 'oldest', limit = Number.MAX_SAFE_INTEGER, ...filter }: EventQuery = {}): EventRecord[] {
    const query = { ...searchInNumbers(filter), order, limit }
    return runQueryNow(this.database, this.#now(), function* (context) {
      const { rows } = yield* findEvents(context, query, context.budget)
      return yield* recordsOf(
        context,
        rows.map(({ seq }) => seq),
      )
    })
  }

  count(filter: EventFilter = {}): number {
    const query = searchInNumbers(filter)
    return runQueryNow(this.database, this.#now(), (context) => count(context, query)).count
  }

  totals(): Totals {
    return runNow(totals(), executorOn(this.database))
  }

  get newestSeq(): number {
    return newestSeq(this.database)
  }

  version(): Version {
    const data = this.database.get<{ data_version: number }>('PRAGMA data_version')?.data_version ?? 0
    return { data, epoch: readMeta<number>(this.database, 'epoch'), lastSeq: this.newestSeq }
  }

  /**
   * @returns Whether the file had to be replaced, because the disk was too full to delete rows. Other connections must then be
   *   opened again.
   */
  clear(): boolean {
    this.#requireSameFile()
    if (this.database.hasRoomToDelete) {
      try {
        this.#retention.clear()
        return false
      } catch (cause) {
        if (!isFull(cause) || this.database.path === MEMORY) throw cause
      }
    }
    this.#startOver()
    return true
  }

  #startOver(): void {
    const { database } = this
    const kept = { id: readMeta(database, 'id'), openings: readMeta(database, 'openings') }
    const epoch = readMeta<number>(database, 'epoch') + 1
    const meta = { ...kept, epoch, floor: newestSeq(database) }
    const tokenKeys = database.all<Row>("SELECT key, value FROM meta WHERE key = 'token_keys'")
    const assertions = database.all<Row>('SELECT jti, expires_at FROM assertion')
    const consumed = database.all<Row>(
      `SELECT key, at FROM consumed ORDER BY at DESC LIMIT ${MAX_KEYS_CARRIED}`,
    )
    const insert = (table: string, rows: readonly Row[]): void => {
      for (const row of rows) database.run(`INSERT INTO ${table} VALUES (?, ?)`, ...Object.values(row))
    }
    database.startOver()
    database.transaction(() => {
      for (const [key, value] of Object.entries(meta)) writeMeta(database, key, value)
      insert('meta', tokenKeys)
      insert('assertion', assertions)
    })
    try {
      database.transaction(() => insert('consumed', consumed))
    } catch (cause) {
      // There may be no room for many keys. The old file is gone, so the rest must stay without them.
      if (!isFull(cause)) throw cause
    }
    this.#commit.failed()
  }

  delete(eventIds: readonly string[]): Promise<number> {
    const { database } = this
    return this.#runner.write(function* (context) {
      keepNewest(database)
      return yield* deleteEvents(context, eventIds)
    })
  }

  trim(): Trimmed {
    return this.#retention.trim(this.#now())
  }

  /** `PASSIVE` never waits, and leaves a part of the log if a query reads from it. */
  checkpoint(mode: 'PASSIVE' | 'TRUNCATE' = 'PASSIVE'): void {
    this.database.pragma(`wal_checkpoint(${mode})`)
  }

  /** Whether the path still leads to the file that was opened. Otherwise writes are refused, because they would be lost. */
  isSameFile(): boolean {
    return this.database.isSameFile
  }

  #requireSameFile(): void {
    if (!this.isSameFile()) throw new Error('the database file was removed or replaced')
  }

  /** First copies the write-ahead log into the file, so that the file alone contains all data. */
  close(): void {
    try {
      this.checkpoint('TRUNCATE')
    } catch {
      // Nothing is lost: SQLite reads the log when the file is opened again.
    }
    this.database.close()
  }
}

function searchInNumbers(filter: EventFilter) {
  const { after, before } = filter
  return inNumbers({ search: searchOf(filter), after, before })
}

function isFull(cause: unknown): boolean {
  return (cause as { code?: unknown }).code === 'SQLITE_FULL'
}
