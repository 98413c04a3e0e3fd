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

/** How the store is opened. */
export interface SqliteStoreOptions extends Omit<SyncStoreOptions, 'now' | 'onOutcomes'> {
  clock: Clock
  /** The tracking plan and its file: threads load it from there themselves. */
  plan: LoadedPlan | null
  /** The time that one query may use before it returns the results so far, milliseconds. */
  queryMs?: number
  onFault(what: string, cause: unknown): void
}

/**
 * Every commit writes all pages that it touches, and events that arrive within a few milliseconds mostly touch the same ones.
 * Longer rests save no more, and would slow down fifty clients that each wait for a response.
 */
const REST_MS = 4

const NOBODY: StoreListener = { committed() {}, cleared() {}, changed() {} }

/**
 * The ports on one SQLite file, which other processes may use as well.
 *
 * Rate limits are not among them: each request would write, and compete with commits for the one write lock of the file.
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
  /** @throws when the file cannot be opened, is no database, or was written by a newer version. */
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
    this.#follower = new Follower(store, this.changes, clock, {
      reopened: () => this.#reopenThreads(),
      lost: () =>
        onFault('the database file was removed or replaced', new Error('nothing can be recorded any more')),
    })
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
    return [{ part: 'store', isReady: reason === null, reason, waiting: this.log.waitingEvents }]
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

  /** The work is done when the call returns, before the promise resolves. */
  async clear(): Promise<void> {
    if (this.local.clear()) this.#reopenThreads()
    const { lastSeq, epoch } = this.local.version()
    this.changes.changed({ lastSeq, epoch })
    this.#listener.cleared()
    this.#scheduleTrim()
  }

  /** Lets the threads for queries and checkpoints open the file again, after it was replaced. */
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

  /** Deletes a few rows at a time, each time in a separate turn. */
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
        // Truncates the log: the space of cleared events is free now, even if the file could not grow.
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
