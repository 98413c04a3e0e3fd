import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../../clock.ts'
import type { PartHealth } from '../../part-health.ts'
import type { LoadedPlan } from '../../plan/plan.ts'
import type { EventSummary } from '../../record.ts'
import type { EventStore, StoreListener, Totals } from '../event-store.ts'
import { Feed } from '../feed.ts'
import type { NewRequest, RequestLog } from '../ports.ts'
import type { Outbox } from '../writing/outbox.ts'
import type { Assertions, TokenKeys } from '../writing/token-memory.ts'
import { Writer } from '../writing/writer.ts'
import { Checkpointer, checkpointThread } from './checkpointer.ts'
import { isDataError, MEMORY } from './database.ts'
import { Follower } from './follower.ts'
import { type FileReader, InlineReader, WorkerReader } from './reader.ts'
import { SyncStore, type SyncStoreOptions } from './sync-store.ts'

export interface SqliteStoreOptions extends Omit<SyncStoreOptions, 'now' | 'onOutcomes'> {
  clock: Clock
  /** The reader thread builds its own plan from `plan.file`. */
  plan: LoadedPlan | null
  /** Time limit of one query; see `Budget`. */
  queryMs?: number
  onFault(what: string, cause: unknown): void
}

/**
 * See `WriterParts.restMs`. A commit writes every page that it changes, and events that arrive within a few milliseconds mostly
 * change the same pages. A longer rest would save no more time, and would delay the responses to clients.
 */
const REST_MS = 4

const NOBODY: StoreListener = { committed() {}, cleared() {}, changed() {} }

/**
 * Other processes may use the file at the same time. The store has no `rateLimits`: each request would write to the file, and
 * compete with commits for the write lock.
 */
export class SqliteStore implements EventStore {
  readonly log: Writer
  readonly requests: RequestLog
  readonly deliveries: Outbox
  readonly reader: FileReader
  readonly changes: Feed
  readonly assertions: Assertions
  readonly tokenKeys: TokenKeys
  readonly local: SyncStore
  readonly #options: SqliteStoreOptions
  readonly #follower: Follower
  #listener = NOBODY
  #checkpointer: Checkpointer | undefined
  #isTrimScheduled = false
  #isClosing = false
  /** @throws when the file cannot be opened, is not a database, or has tables of another version. */
  constructor(options: SqliteStoreOptions) {
    const { clock, path, plan, queryMs, onFault } = options
    this.#options = options
    const now = () => clock.now()
    const store = new SyncStore({ ...options, now, onOutcomes: () => this.#outcomes() })
    this.local = store
    const { data: _, ...version } = store.version()
    this.changes = new Feed(
      { ...version, revision: 0 },
      {
        changed: () => this.#listener.changed(),
        cleared: () => this.#listener.cleared(),
      },
    )
    this.#follower = new Follower(
      store,
      this.changes,
      clock,
      () =>
        onFault('the database file was removed or replaced', new Error('nothing can be recorded any more')),
      (cause) => onFault('the database cannot be read', cause),
    )
    this.reader =
      path === MEMORY
        ? new InlineReader(store.database, now, plan?.plan ?? null, queryMs)
        : new WorkerReader({ path, plan: plan?.file ?? null, queryMs }, now, onFault)
    this.log = new Writer({
      commit: (batch) => store.commit(batch),
      isDataError,
      isTransient: () => false,
      commitsAtATime: 1,
      restMs: REST_MS,
      onCommit: (summaries, requests) => this.#committed(summaries, requests),
      onFault,
      opening: store.opening,
      clock,
    })
    this.#checkpointer = this.#newCheckpointer()
    this.requests = this.log.requests
    this.deliveries = store.outbox
    this.assertions = store.assertions
    this.tokenKeys = store.tokenKeys
  }

  async health(): Promise<PartHealth[]> {
    const reason = this.#whyNotReady()
    const state = {
      part: 'store' as const,
      isReady: reason === null,
      reason,
      waiting: this.log.waitingEvents,
    }
    return [{ ...state, fill: await this.#fill() }]
  }

  async #fill(): Promise<number | undefined> {
    const { path, maxBytes } = this.#options
    if (path === MEMORY) return undefined
    try {
      const { blocks, bfree, bavail } = await statfs(dirname(path))
      const ofDisk = (blocks - bfree) / (blocks - bfree + bavail)
      return maxBytes === undefined ? ofDisk : Math.max(ofDisk, this.local.database.usedBytes / maxBytes)
    } catch {
      return undefined
    }
  }

  #whyNotReady(): string | null {
    if (this.#isClosing) return 'the database is closed'
    if (!this.local.isSameFile()) return 'the database file was removed or replaced'
    if (this.log.failure === undefined) return null
    try {
      this.local.database.tryToWrite()
      this.log.recovered()
      return null
    } catch (cause) {
      return `the database cannot write (${(cause as Error).message})`
    }
  }

  start(listener: StoreListener): void {
    this.#listener = listener
    if (this.#options.path !== MEMORY) this.#follower.start()
    this.#scheduleTrim()
  }

  async totals(): Promise<Totals> {
    return this.local.totals()
  }

  /** Clears the store synchronously, before the promise is returned. */
  async clear(): Promise<void> {
    if (this.local.clear()) this.#reopenThreads()
    const { lastSeq, epoch } = this.local.version()
    this.changes.changed({ lastSeq, epoch })
    this.#listener.cleared()
    this.#scheduleTrim()
  }

  async delete(eventIds: readonly string[]): Promise<number> {
    const deleted = await this.local.delete(eventIds)
    if (deleted > 0) {
      this.#outcomes()
      this.#listener.changed()
    }
    return deleted
  }

  #reopenThreads(): void {
    this.reader.reopen()
    void this.#checkpointer?.close()
    this.#checkpointer = this.#newCheckpointer()
  }

  #newCheckpointer(): Checkpointer | undefined {
    const { path, clock, onFault } = this.#options
    if (path === MEMORY) return undefined
    const newThread = () => checkpointThread(path)
    return new Checkpointer({ newThread, writer: this.log, clock, onFault })
  }

  #committed(summaries: readonly EventSummary[], requests: readonly NewRequest[]): void {
    this.#checkpointer?.committed(summaries.length)
    const [first] = summaries
    if (first !== undefined) {
      this.changes.committed(first.seq, summaries.length)
      this.#scheduleTrim()
    }
    this.#listener.committed(summaries, requests)
  }

  #outcomes(): void {
    this.#checkpointer?.committed(0)
    this.changes.changed({ revision: this.changes.state().revision + 1 })
  }

  /** Deletes old rows, a few in each turn of the event loop. */
  #scheduleTrim(): void {
    if (this.#isTrimScheduled) return
    this.#isTrimScheduled = true
    setImmediate(() => {
      this.#isTrimScheduled = false
      if (this.#isClosing) return
      try {
        const { hasDeleted, hasMore, hasSwept } = this.local.trim()
        if (hasDeleted) {
          this.#listener.changed()
          this.#checkpointer?.committed(0)
        }
        // After a clear, the WAL is truncated to free its space on the disk.
        if (hasSwept) this.local.checkpoint('TRUNCATE')
        if (hasMore) this.#scheduleTrim()
      } catch (cause) {
        this.#options.onFault('old events could not be deleted', cause)
      }
    })
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await this.log.close()
    this.#follower.close()
    this.changes.close()
    await this.reader.close()
    await this.#checkpointer?.close()
    this.local.close()
  }
}
