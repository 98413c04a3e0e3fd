import { existsSync } from 'node:fs'
import { systemClock } from '../../clock.ts'
import type { EventRecord, EventSummary } from '../../record.ts'
import { type EventFilter, type EventQuery, searchOf } from '../../search/filter.ts'
import { inNumbers } from '../cursor.ts'
import type { Totals } from '../event-store.ts'
import { count, findEvents } from '../queries/find.ts'
import { recordsOf } from '../queries/records.ts'
import { totals } from '../queries/totals.ts'
import type { Batch } from '../writing/batch.ts'
import { Outbox } from '../writing/outbox.ts'
import { Assertions, TokenKeys } from '../writing/token-memory.ts'
import { Commit } from './commit.ts'
import {
  type Database,
  MEMORY,
  openDatabase,
  openForReading,
  type Row,
  readMeta,
  writeMeta,
} from './database.ts'
import { newestSeq } from './dialect.ts'
import { runQueryNow } from './reader.ts'
import { Retention, type Trimmed } from './retention.ts'
import { executorOn, runNow, stepRunner } from './steps.ts'

/** How the database is opened. */
export interface SyncStoreOptions {
  /** A file path, or `:memory:`. */
  path: string
  /**
   * `process`: acknowledged events survive the death of this process, even by kill -9 (SQLite's `synchronous=NORMAL` in WAL
   * mode). `power`: they survive a power cut too, at the cost of one disk flush per commit.
   */
  durability: 'process' | 'power'
  /** Milliseconds for which a messageId is remembered; undefined = for ever. */
  dedupWindowMs?: number | undefined
  /** The maximum number of events; the oldest are deleted, but their messageIds stay known. */
  maxEvents: number
  /** Days for which events are kept; undefined = for ever. */
  retentionDays?: number | undefined
  /** Size at which the database refuses to grow, bytes; undefined = as large as the disk. */
  maxBytes?: number | undefined
  /** The current time, milliseconds since the epoch. Default: the system clock. */
  now?: () => number
  /** Called after results of deliveries were written. */
  onOutcomes?: () => void
}

/** The version of the data: a change shows that another process has written. */
export interface Version {
  data: number
  epoch: number
  lastSeq: number
}

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * The database of this process: the one connection that writes.
 *
 * Every method is synchronous; a transaction never stays open between two turns of the event loop. Several processes may share
 * the file.
 */
export class SyncStore {
  readonly database: Database
  readonly outbox: Outbox
  /** The keys that sign tokens. */
  readonly tokenKeys: TokenKeys
  readonly assertions: Assertions
  /** How often the file has been opened, this time included. */
  readonly opening: number
  readonly #commit: Commit
  readonly #retention: Retention
  readonly #now: () => number
  readonly #id: string

  /** @throws when the file cannot be opened, is no database, or was written by a newer version. */
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
      const runner = stepRunner(this.database, this.#now, () => this.#requireSameFile())
      this.tokenKeys = new TokenKeys(runner)
      this.assertions = new Assertions(runner)
      this.outbox = new Outbox(runner, this.#id, options.onOutcomes ?? (() => {}))
    } catch (cause) {
      this.database.close()
      throw cause
    }
  }

  /**
   * Stores events and requests in one transaction, and returns the result of each event, in order.
   *
   * Deduplication happens here, by the primary key of `seen`: it is exact across processes and restarts.
   *
   * @throws when the database cannot write; then nothing was stored.
   */
  commit(batch: Batch): EventSummary[] {
    this.#requireSameFile()
    try {
      const summaries = this.database.transaction(() => this.#commit.run(batch, this.#now()))
      // Checked after the transaction too: data written to a file that was removed in the meantime are lost.
      this.#requireSameFile()
      this.#retention.committed(summaries.length)
      return summaries
    } catch (cause) {
      this.#commit.failed()
      throw cause
    }
  }

  /** The records that match, with their messages; by default oldest first. */
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

  /** How many records match. */
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
   * Deletes everything: records, deliveries and known messageIds. Sequence numbers continue.
   *
   * @returns Whether the file had to be replaced, since the disk was too full to delete rows; other connections must be opened
   * again.
   */
  clear(): boolean {
    try {
      this.#retention.clear()
      return false
    } catch (cause) {
      if ((cause as { code?: unknown }).code !== 'SQLITE_FULL' || this.database.path === MEMORY) throw cause
      this.#startOver()
      return true
    }
  }

  #startOver(): void {
    const { database } = this
    const kept = { id: readMeta(database, 'id'), openings: readMeta(database, 'openings') }
    const epoch = readMeta<number>(database, 'epoch') + 1
    const meta = { ...kept, epoch, floor: newestSeq(database) }
    const assertions = database.all<Row>('SELECT jti, expires_at FROM assertion')
    const keys = database.all<Row>("SELECT key, value FROM meta WHERE key = 'token_keys'")
    database.startOver()
    database.transaction(() => {
      for (const [key, value] of Object.entries(meta)) writeMeta(database, key, value)
      for (const row of assertions) database.run('INSERT INTO assertion VALUES (?, ?)', ...Object.values(row))
      for (const row of keys) database.run('INSERT INTO meta VALUES (?, ?)', ...Object.values(row))
    })
    this.#commit.failed()
  }

  /** Deletes some of the data beyond the limits. */
  trim(): Trimmed {
    return this.#retention.trim(this.#now())
  }

  /** Copies the log into the file. `PASSIVE` copies only what no reader prevents, and never waits. */
  checkpoint(mode: 'PASSIVE' | 'TRUNCATE' = 'PASSIVE'): void {
    this.database.pragma(`wal_checkpoint(${mode})`)
  }

  /** Whether the file is still the one that was opened. Writes are refused otherwise: data in a removed file are lost. */
  isSameFile(): boolean {
    return this.database.isSameFile
  }

  #requireSameFile(): void {
    if (!this.isSameFile()) throw new Error('the database file was removed or replaced')
  }

  /**
   * Opens the file that is there now, if it is the same database: another process may have replaced the file to clear it.
   *
   * @returns Whether it is the same database.
   */
  reopen(): boolean {
    const { path } = this.database
    if (!existsSync(path)) return false
    try {
      const there = openForReading(path)
      try {
        if (readMeta<string>(there, 'id') !== this.#id) return false
      } finally {
        there.close()
      }
      this.database.reopen()
    } catch {
      // The file is not a database, or not yet: the next check may succeed.
      return false
    }
    this.#commit.failed()
    return true
  }

  /** Closes the file. The log is checkpointed first, so that the file alone has everything. */
  close(): void {
    try {
      this.checkpoint('TRUNCATE')
    } catch {
      // The log stays beside the file and is read at the next start; nothing is lost.
    }
    this.database.close()
  }
}

function searchInNumbers(filter: EventFilter) {
  const { after, before } = filter
  return inNumbers({ search: searchOf(filter), after, before })
}
