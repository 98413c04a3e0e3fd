import {
  type Clock,
  type EventStore,
  type EventSummary,
  limited,
  type NewRequest,
  type PartHealth,
  type RequestLog,
  type StoreListener,
  sleep,
  type Totals,
  type TrackingPlan,
} from 'trackpost-collector/ports'
import {
  Assertions,
  deleteEvents,
  Feed,
  Outbox,
  type StepRunner,
  TokenKeys,
  totals,
  Writer,
} from 'trackpost-collector/sql'
import { withoutPassword } from './address.ts'
import { Commit } from './commit.ts'
import { Database } from './database.ts'
import { isDataError, isTransient, messageOf, stateOf } from './errors.ts'
import { Follower, type LogState, READ_STATE } from './follower.ts'
import { migrate } from './migrations.ts'
import { makePartitions } from './partitions.ts'
import { SharedRateLimits } from './rate-limits.ts'
import { PostgresReader } from './reader.ts'
import { clearAll, Retention } from './retention.ts'
import { runOn, stepRunner } from './steps.ts'

export interface PostgresStoreOptions {
  /** As `postgres://user:password@host:port/database`. */
  address: string
  /** Undefined = messageIds are remembered for ever. */
  dedupWindowMs?: number | undefined
  /** Counted from the day of storing. */
  retentionDays: number
  /** The number of events above which the oldest whole days are dropped; undefined = no limit. */
  maxEvents?: number | undefined
  clock: Clock
  /** Cancels opening, for example while another process creates or migrates the tables. */
  signal?: AbortSignal | undefined
  plan?: TrackingPlan | null
  /** Time limit of one query; see `Budget`. */
  queryMs?: number
  onFault(what: string, cause: unknown): void
}

const NOBODY: StoreListener = { committed() {}, cleared() {}, changed() {} }
const MAINTENANCE_MS = 10 * 60 * 1000
/** Short, because the cause is usually a lock that a query holds for a short time. */
const MAINTENANCE_RETRY_MS = 5000
const CLEAR_ATTEMPTS = 20
const TRIAL_MS = 2000

/** Several processes may use the database at the same time. */
export class PostgresStore implements EventStore {
  readonly log: Writer
  readonly requests: RequestLog
  readonly deliveries: Outbox
  readonly reader: PostgresReader
  readonly changes: Feed
  readonly assertions: Assertions
  readonly tokenKeys: TokenKeys
  readonly rateLimits: SharedRateLimits
  readonly #options: PostgresStoreOptions
  readonly #database: Database
  readonly #follower: Follower
  readonly #runner: StepRunner
  readonly #retention: Retention
  #listener = NOBODY
  #cancelMaintenance = () => {}
  #maintaining: Promise<void> = Promise.resolve()
  #isClosing = false
  #closing: Promise<void> | undefined

  /**
   * Connects, creates or migrates the tables, and creates the partitions for the next days.
   *
   * @throws an error of the database or its client, or `UnusableDatabase`; the reason of the signal if it was aborted before
   * the call.
   */
  static async open(options: PostgresStoreOptions): Promise<PostgresStore> {
    options.signal?.throwIfAborted()
    const database = new Database(options.address)
    const cut = () => database.cut()
    options.signal?.addEventListener('abort', cut, { once: true })
    try {
      await migrate(database, options.clock.now())
      await makePartitions(database).catch((cause: unknown) => {
        // A long query, such as a backup, may hold a lock on a table. Then rows go into the default partition until maintenance
        // has created the partitions.
        if (!isTransient(cause)) throw cause
      })
      const [head] = await database.query<{ id: string; opening: number }>(
        'UPDATE log_head SET openings = openings + 1 RETURNING id, openings AS opening',
      )
      const [state] = await database.query<LogState>(READ_STATE)
      if (head === undefined || state === undefined) throw new Error('its tables are incomplete')
      return new PostgresStore(options, database, head, state)
    } catch (cause) {
      await database.close()
      throw cause
    } finally {
      options.signal?.removeEventListener('abort', cut)
    }
  }

  private constructor(
    options: PostgresStoreOptions,
    database: Database,
    { id, opening }: { id: string; opening: number },
    state: LogState,
  ) {
    const { clock, dedupWindowMs } = options
    this.#options = options
    this.#database = database
    const now = () => clock.now()
    const onFault = (what: string, cause: unknown) => this.#fault(what, cause)
    const { lastRequest, ...numbers } = state
    this.changes = new Feed(numbers, {
      changed: () => this.#listener.changed(),
      cleared: () => this.#listener.cleared(),
    })
    this.#follower = new Follower(() => database.newClient(), this.changes, lastRequest, clock)
    const commit = new Commit(database, dedupWindowMs, now)
    this.log = new Writer({
      commit: (batch) => commit.run(batch),
      isDataError,
      isTransient,
      commitsAtATime: 2,
      restMs: 0,
      onCommit: (summaries, requests) => this.#committed(summaries, requests),
      onFault,
      opening,
      clock,
    })
    this.#retention = new Retention(database, {
      retentionDays: options.retentionDays,
      maxEvents: options.maxEvents,
      dedupWindowMs,
      now,
      onFault,
    })
    this.requests = this.log.requests
    this.#runner = stepRunner(database, clock)
    this.deliveries = new Outbox(this.#runner, id, () => this.#follower.pollSoon())
    this.assertions = new Assertions(this.#runner)
    this.tokenKeys = new TokenKeys(this.#runner)
    this.rateLimits = new SharedRateLimits(database, clock)
    this.reader = new PostgresReader(database, now, options.plan ?? null, options.queryMs)
  }

  start(listener: StoreListener): void {
    this.#listener = listener
    this.#follower.start()
    this.#maintain()
  }

  async totals(): Promise<Totals> {
    return this.#database.reading((connection) => runOn(connection, totals()))
  }

  async health(): Promise<PartHealth[]> {
    const reason = await this.#whyNotReady()
    return [{ part: 'store', isReady: reason === null, reason, waiting: this.log.waitingEvents }]
  }

  async #whyNotReady(): Promise<string | null> {
    if (this.#isClosing) return 'the database is closed'
    if (this.log.failure === undefined && this.#follower.failure === undefined) return null
    try {
      // This update changes no value. A read-only server, such as a standby, refuses it.
      const trial = this.#database.query('UPDATE log_head SET openings = openings')
      await limited<unknown>(trial, TRIAL_MS, this.#options.clock, () =>
        Promise.reject(new Error(`no response within ${TRIAL_MS / 1000} s`)),
      )
      this.log.recovered()
      return null
    } catch (cause) {
      return `${stateOf(cause)} (${this.#redacted(cause)})`
    }
  }

  async clear(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await clearAll(this.#database)
        break
      } catch (cause) {
        // Usually a query holds a lock on a table. The wait lets long queries finish.
        if (attempt >= CLEAR_ATTEMPTS || !isTransient(cause)) throw cause
        await sleep(this.#options.clock, attempt * 20)
      }
    }
    const [state] = await this.#database.query<LogState>(READ_STATE)
    if (state !== undefined) this.changes.changed({ lastSeq: state.lastSeq, epoch: state.epoch })
    this.#listener.cleared()
  }

  async delete(eventIds: readonly string[]): Promise<number> {
    // Repeated after a deadlock with a commit, which writes to the same counts.
    const deleted = await this.#runner.write((context) => deleteEvents(context, eventIds), true)
    if (deleted > 0) {
      this.#follower.pollSoon()
      this.#listener.changed()
    }
    return deleted
  }

  #committed(summaries: readonly EventSummary[], requests: readonly NewRequest[]): void {
    this.#follower.committed(requests.length)
    const [first] = summaries
    if (first !== undefined) this.changes.committed(first.seq, summaries.length)
    this.#listener.committed(summaries, requests)
  }

  #maintain(): void {
    this.#maintaining = this.#retention
      .run()
      .then((hasDeleted) => {
        if (hasDeleted) this.#listener.changed()
        return MAINTENANCE_MS
      })
      .catch((cause: unknown) => {
        if (!isTransient(cause) && !this.#isClosing) this.#fault('old events could not be deleted', cause)
        return MAINTENANCE_RETRY_MS
      })
      .then((delayMs) => {
        if (this.#isClosing) return
        this.#cancelMaintenance = this.#options.clock.setTimer(() => this.#maintain(), delayMs)
      })
  }

  #fault(what: string, cause: unknown): void {
    this.#options.onFault(what, new Error(this.#redacted(cause)))
  }

  #redacted(cause: unknown): string {
    return withoutPassword(messageOf(cause), this.#options.address)
  }

  cut(): void {
    // Without `close`, commits that fail would be retried.
    this.close().catch(() => {})
    this.#database.cut()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#isClosing = true
    this.#cancelMaintenance()
    await this.log.close()
    this.changes.close()
    await this.#follower.close()
    this.#database.endTransactions()
    await this.#maintaining
    await this.#database.close()
  }
}
