import Database from 'libsql'
import { isSameContent } from '../ingest/message.ts'
import type { DestinationOutcome, EventRecord, EventSummary, Kind, Reason } from '../record.ts'
import { type EventFilter, type EventQuery, kindOf, whereClause } from './filter.ts'
import { SCHEMA, SCHEMA_VERSION } from './schema.ts'

/** How the database is opened. */
export interface StoreOptions {
  /** A file path, or `:memory:`. */
  path: string
  /**
   * `process`: what was answered 200 survives the death of this process, kill -9 included (SQLite's
   * `synchronous=NORMAL` in WAL mode). `power`: it survives a power cut too, at the cost of one disk flush for each commit.
   */
  durability: 'process' | 'power'
  /** Milliseconds for which a messageId is remembered; undefined = for ever. */
  dedupWindowMs?: number | undefined
  /** Events kept; older ones are deleted. Deduplication outlives them. */
  maxEvents: number
  /** Size at which the database refuses to grow, bytes; undefined = as large as the disk. */
  maxBytes?: number | undefined
}

/** What happens to an event at one destination, decided before it is stored. */
export interface PlannedDelivery {
  destination: string
  /** Why it is not sent there; undefined = it is. */
  skippedBecause?: string
}

/** One message on its way into the store. */
export interface NewEvent {
  source: string
  /** Null = accepted, unless its messageId turns out to be known. */
  reason: Reason | null
  kind: Kind | 'batch' | null
  name: string | null
  userId: string | null
  anonymousId: string | null
  messageId: string | null
  receivedAtMs: number
  /** The same as ISO-8601. */
  receivedAt: string
  timestampMs: number
  body: string | null
  deliveries: readonly PlannedDelivery[]
}

/** A delivery whose time has come. */
export interface DueDelivery {
  seq: number
  attempts: number
  source: string
  body: string
}

/** The result of one attempt at a destination. */
export interface DeliveryUpdate {
  seq: number
  state: DestinationOutcome['state']
  reason: string | null
  attempts: number
  dueAtMs: number
}

interface EventRow {
  seq: number
  source: string
  status: number
  reason: Reason | null
  kind: string | null
  name: string | null
  user_id: string | null
  anonymous_id: string | null
  message_id: string | null
  received_at: number
  body?: string | null
}

interface Value {
  value: number
}

// One statement for many rows: crossing into the native library costs more than the row itself.
const ROWS_PER_STATEMENT = 25
const EVENT_COLUMNS =
  'seq, source_id, status, reason, kind, name, user_id, anonymous_id, message_id, received_at, timestamp, body'
const SUMMARY_COLUMNS =
  'seq, source.name AS source, status, reason, kind, event.name AS name, user_id, anonymous_id, message_id, received_at'
const PAGE_BYTES = 4096
const EVENTS_BETWEEN_TRIMS = 1000
const ROWS_PER_TRIM = 5000

type SqlValue = string | number | null

/** Inserts any number of rows, most of them by the statement for `ROWS_PER_STATEMENT`. */
class RowInsert {
  readonly #many: Database.Statement
  readonly #one: Database.Statement

  constructor(database: Database.Database, table: string, columns: number, conflict: string) {
    const row = `(${Array(columns).fill('?').join(',')})`
    const sql = (rows: number) => `INSERT INTO ${table} VALUES ${Array(rows).fill(row).join(',')} ${conflict}`
    this.#many = database.prepare(sql(ROWS_PER_STATEMENT))
    this.#one = database.prepare(sql(1))
  }

  /** Returns how many rows were added or replaced. */
  run(rows: readonly SqlValue[][]): number {
    let changes = 0
    let next = 0
    for (; next + ROWS_PER_STATEMENT <= rows.length; next += ROWS_PER_STATEMENT) {
      changes += this.#many.run(rows.slice(next, next + ROWS_PER_STATEMENT).flat()).changes
    }
    for (; next < rows.length; next++) changes += this.#one.run(rows[next]).changes
    return changes
  }
}

/**
 * The database: what was recorded, what was seen, and what is still owed to destinations.
 *
 * Every method runs to its end before it returns; a transaction never stays open between two turns of the
 * event loop. Several processes may share the file.
 */
export class Store {
  readonly #database: Database.Database
  readonly #options: StoreOptions
  readonly #sourceIds = new Map<string, number>()
  readonly #insertEvents: RowInsert
  readonly #insertSeen: RowInsert
  readonly #insertDeliveries: RowInsert
  readonly #seenBefore: Database.Statement
  readonly #newest: Database.Statement
  #eventsUntilTrim = 0
  #lastSeq = 0

  /** @throws when the file cannot be opened, is no database, or has tables of another version. */
  constructor(options: StoreOptions) {
    this.#options = options
    this.#database = new Database(options.path, { timeout: 5000 })
    const database = this.#database
    try {
      database.pragma('journal_mode = WAL')
      database.pragma(`synchronous = ${options.durability === 'power' ? 'FULL' : 'NORMAL'}`)
      // Bounds, so that memory and the log file stay flat however long it runs.
      database.pragma('cache_size = -16000')
      database.pragma('journal_size_limit = 67108864')
      // A safety net of 64 MB: as a rule another thread sees to it before, see `Checkpointer`.
      database.pragma('wal_autocheckpoint = 16384')
      const version = (database.prepare('PRAGMA user_version').get() as { user_version: number }).user_version
      if (version !== 0 && version !== SCHEMA_VERSION) {
        throw new Error(`its tables are of version ${version}, expected ${SCHEMA_VERSION}`)
      }
      database.exec(SCHEMA)
      // Without a window nothing is ever looked up by age, and the index would only cost.
      if (options.dedupWindowMs !== undefined)
        database.exec('CREATE INDEX IF NOT EXISTS seen_at ON seen (at)')
      if (version === 0) database.pragma(`user_version = ${SCHEMA_VERSION}`)
      if (options.maxBytes !== undefined) {
        database.pragma(`max_page_count = ${Math.floor(options.maxBytes / PAGE_BYTES)}`)
      }
      const onConflict =
        options.dedupWindowMs === undefined
          ? 'ON CONFLICT DO NOTHING'
          : `ON CONFLICT DO UPDATE SET seq = excluded.seq, at = excluded.at
             WHERE seen.at <= excluded.at - ${Math.floor(options.dedupWindowMs)}`
      this.#insertEvents = new RowInsert(database, `event (${EVENT_COLUMNS})`, 12, '')
      this.#insertSeen = new RowInsert(database, 'seen (source_id, message_id, seq, at)', 4, onConflict)
      this.#insertDeliveries = new RowInsert(database, 'delivery (seq, destination, state, reason)', 4, '')
      this.#newest = database.prepare('SELECT max(seq) AS value FROM event')
      this.#seenBefore =
        database.prepare(`SELECT seen.seq AS seq, body FROM seen LEFT JOIN event ON event.seq = seen.seq
         WHERE seen.source_id = ? AND seen.message_id = ?`)
    } catch (cause) {
      database.close()
      throw cause
    }
  }

  /**
   * Records events in one transaction and says what became of each, in order.
   *
   * Deduplication happens here, by the primary key of `seen`: exact whatever runs side by side, and after a restart.
   *
   * @throws when the database cannot write; then nothing of it is kept.
   */
  commit(events: readonly NewEvent[]): EventSummary[] {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      const summaries = this.#insert(events)
      this.#database.exec('COMMIT')
      this.#eventsUntilTrim -= events.length
      return summaries
    } catch (cause) {
      this.#rollback()
      throw cause
    }
  }

  #insert(events: readonly NewEvent[]): EventSummary[] {
    const last = this.#newest.get() as { value: number | null }
    const firstSeq = Math.max(last.value ?? 0, this.#lastSeq) + 1
    this.#lastSeq = firstSeq + events.length - 1
    const reasons = this.#deduplicate(events, firstSeq)

    const rows: SqlValue[][] = []
    const deliveries: SqlValue[][] = []
    const summaries: EventSummary[] = []
    for (const [index, event] of events.entries()) {
      const seq = firstSeq + index
      const reason = reasons[index] ?? null
      const { source, kind, name, userId, anonymousId, messageId, receivedAt, receivedAtMs } = event
      const { timestampMs, body } = event
      rows.push([
        seq,
        this.#sourceId(source),
        reason === null ? 1 : 0,
        reason,
        kind,
        name,
        userId,
        anonymousId,
        messageId,
        receivedAtMs,
        timestampMs,
        body,
      ])
      const destinations: DestinationOutcome[] = []
      if (reason === null) {
        for (const { destination, skippedBecause } of event.deliveries) {
          const state = skippedBecause === undefined ? 'pending' : 'skipped'
          deliveries.push([seq, destination, state, skippedBecause ?? null])
          destinations.push(outcome({ destination, state, reason: skippedBecause ?? null, attempts: 0 }))
        }
      }
      const status = reason === null ? 'accepted' : 'rejected'
      summaries.push({
        seq,
        receivedAt,
        source,
        status,
        reason,
        type: kind,
        name,
        userId,
        anonymousId,
        messageId,
        destinations,
      })
    }
    this.#insertEvents.run(rows)
    this.#insertDeliveries.run(deliveries)
    return summaries
  }

  /** The final reason of each event: its own, or that its messageId is known. */
  #deduplicate(events: readonly NewEvent[], firstSeq: number): Array<Reason | null> {
    const reasons = events.map((event) => event.reason)
    const rows: SqlValue[][] = []
    for (const [index, event] of events.entries()) {
      if (event.reason !== null || event.messageId === null) continue
      rows.push([this.#sourceId(event.source), event.messageId, firstSeq + index, event.receivedAtMs])
    }
    if (this.#insertSeen.run(rows) === rows.length) return reasons

    // Some were known. Whose row carries this event's own seq is new; all others came too late.
    for (const [sourceId, messageId, seq] of rows) {
      const first = this.#seenBefore.get([sourceId, messageId]) as { seq: number; body: string | null }
      if (first.seq === seq) continue
      const index = Number(seq) - firstSeq
      // The first one may have come in this very commit, and is then not in the table yet.
      const firstBody = first.seq >= firstSeq ? events[first.seq - firstSeq]?.body : first.body
      const body = events[index]?.body
      const isConflict = firstBody && body && !isSameContent(firstBody, body)
      reasons[index] = isConflict ? 'dedup_conflict' : 'duplicate'
    }
    return reasons
  }

  #sourceId(name: string): number {
    const known = this.#sourceIds.get(name)
    if (known !== undefined) return known
    this.#database.prepare('INSERT INTO source (name) VALUES (?) ON CONFLICT DO NOTHING').run(name)
    const { value } = this.#database
      .prepare('SELECT id AS value FROM source WHERE name = ?')
      .get(name) as Value
    // Bounded: with any write key taken, a caller chooses the names.
    if (this.#sourceIds.size >= 10_000) this.#sourceIds.clear()
    this.#sourceIds.set(name, value)
    return value
  }

  #rollback(): void {
    // A source added by this transaction is gone with it.
    this.#sourceIds.clear()
    try {
      this.#database.exec('ROLLBACK')
    } catch {
      // SQLite has rolled back by itself, as it does when the disk is full.
    }
  }

  /** Records that match, message included. */
  events(query: EventQuery = {}): EventRecord[] {
    return this.#select(query, `${SUMMARY_COLUMNS}, body`).map(({ row, summary }) => ({
      ...summary,
      message: row.body === null || row.body === undefined ? null : JSON.parse(row.body),
    }))
  }

  /** Records that match, without their messages. */
  summaries(query: EventQuery = {}): EventSummary[] {
    return this.#select(query, SUMMARY_COLUMNS).map(({ summary }) => summary)
  }

  #select(query: EventQuery, columns: string): Array<{ row: EventRow; summary: EventSummary }> {
    const { sql, values } = whereClause(query)
    const order = query.order === 'newest' ? 'DESC' : 'ASC'
    const rows = this.#database
      .prepare(
        `SELECT ${columns} FROM event JOIN source ON source.id = source_id ${sql} ORDER BY seq ${order} LIMIT ?`,
      )
      .all(...values, query.limit ?? -1) as EventRow[]
    const destinations = this.#destinationsOf(rows)
    return rows.map((row) => ({ row, summary: summaryOf(row, destinations.get(row.seq) ?? []) }))
  }

  #destinationsOf(rows: readonly EventRow[]): Map<number, DestinationOutcome[]> {
    const outcomes = new Map<number, DestinationOutcome[]>()
    if (rows.length === 0) return outcomes
    const sequence = rows.map((row) => row.seq)
    const first = sequence.reduce((a, b) => Math.min(a, b))
    const last = sequence.reduce((a, b) => Math.max(a, b))
    const wanted = new Set(sequence)
    const found = this.#database
      .prepare(
        'SELECT seq, destination, state, reason, attempts FROM delivery WHERE seq BETWEEN ? AND ? ORDER BY seq, destination',
      )
      .iterate(first, last) as Iterable<Parameters<typeof outcome>[0] & { seq: number }>
    for (const row of found) {
      if (!wanted.has(row.seq)) continue
      const list = outcomes.get(row.seq)
      if (list) list.push(outcome(row))
      else outcomes.set(row.seq, [outcome(row)])
    }
    return outcomes
  }

  /** How many records match. */
  count(filter: EventFilter = {}): number {
    const { sql, values } = whereClause(filter)
    return (this.#database.prepare(`SELECT count(*) AS value FROM event ${sql}`).get(...values) as Value)
      .value
  }

  /** How many records there are of each source, kind and reason. */
  totals(): Array<{ source: string; kind: string | null; reason: Reason | null; count: number }> {
    return this.#database
      .prepare(
        `SELECT source.name AS source, kind, reason, count(*) AS count
         FROM event JOIN source ON source.id = source_id GROUP BY source_id, kind, reason`,
      )
      .all() as ReturnType<Store['totals']>
  }

  /** Forgets everything: records, deliveries and the memory of messageIds. `seq` goes on counting. */
  clear(): void {
    const last = this.#database.prepare('SELECT max(seq) AS value FROM event').get() as {
      value: number | null
    }
    this.#lastSeq = Math.max(this.#lastSeq, last.value ?? 0)
    this.#inTransaction(() => {
      for (const table of ['event', 'seen', 'delivery']) this.#database.exec(`DELETE FROM ${table}`)
    })
  }

  /**
   * Deletes what is over the retention limit and messageIds older than the window: a little, and often enough to
   * keep up with what comes.
   */
  trim(nowMs: number): void {
    if (this.#eventsUntilTrim > 0) return
    this.#eventsUntilTrim = EVENTS_BETWEEN_TRIMS
    const { dedupWindowMs, maxEvents } = this.#options
    this.#inTransaction(() => {
      this.#database
        .prepare(
          `DELETE FROM event WHERE seq <= (SELECT max(seq) FROM event) - ?
           AND seq < (SELECT min(seq) FROM event) + ?`,
        )
        .run([maxEvents, ROWS_PER_TRIM])
      this.#database.exec('DELETE FROM delivery WHERE seq < (SELECT min(seq) FROM event)')
      if (dedupWindowMs === undefined) return
      this.#database
        .prepare(
          `DELETE FROM seen WHERE (source_id, message_id) IN
           (SELECT source_id, message_id FROM seen WHERE at <= ? LIMIT ?)`,
        )
        .run([nowMs - dedupWindowMs, ROWS_PER_TRIM])
    })
  }

  /** Deliveries to one destination that are due, oldest first. */
  dueDeliveries(destination: string, nowMs: number, limit: number): DueDelivery[] {
    return this.#database
      .prepare(
        `SELECT delivery.seq AS seq, attempts, source.name AS source, body
         FROM delivery JOIN event ON event.seq = delivery.seq JOIN source ON source.id = source_id
         WHERE destination = ? AND state = 'pending' AND due_at <= ? ORDER BY due_at, delivery.seq LIMIT ?`,
      )
      .all(destination, nowMs, limit) as DueDelivery[]
  }

  /** When the next delivery to a destination is due, milliseconds since the epoch; undefined = none waits. */
  nextDueMs(destination: string): number | undefined {
    const row = this.#database
      .prepare("SELECT min(due_at) AS value FROM delivery WHERE destination = ? AND state = 'pending'")
      .get(destination) as { value: number | null }
    return row.value ?? undefined
  }

  /** Writes down what attempts came to. */
  updateDeliveries(destination: string, updates: readonly DeliveryUpdate[]): void {
    const update = this.#database.prepare(
      'UPDATE delivery SET state = ?, reason = ?, attempts = ?, due_at = ? WHERE seq = ? AND destination = ?',
    )
    this.#inTransaction(() => {
      for (const { seq, state, reason, attempts, dueAtMs } of updates) {
        update.run(state, reason, attempts, dueAtMs, seq, destination)
      }
    })
  }

  /**
   * Takes note of an assertion's `jti`; false when it was used before and has not expired.
   * Expired ones are deleted on the way, so the table is bounded by the assertions' life time.
   */
  useAssertion(jti: string, expiresAtMs: number, nowMs: number): boolean {
    this.#database.prepare('DELETE FROM assertion WHERE expires_at < ?').run(nowMs)
    const added = this.#database
      .prepare('INSERT INTO assertion (jti, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING')
      .run(jti, expiresAtMs)
    return added.changes === 1
  }

  #inTransaction(run: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      run()
      this.#database.exec('COMMIT')
    } catch (cause) {
      this.#rollback()
      throw cause
    }
  }

  /** Folds the log into the file as far as nobody is in the way. */
  checkpoint(): void {
    this.#database.pragma('wal_checkpoint(PASSIVE)')
  }

  /** Closes the file; the log is folded into it first, so that it alone has everything. */
  close(): void {
    try {
      this.#database.pragma('wal_checkpoint(TRUNCATE)')
    } catch {
      // The log stays beside the file and is read at the next start; nothing is lost.
    }
    this.#database.close()
  }
}

function outcome(row: {
  destination: string
  state: DestinationOutcome['state']
  reason: string | null
  attempts: number
}): DestinationOutcome {
  const { destination: name, state, reason, attempts } = row
  return reason === null ? { name, state, attempts } : { name, state, reason, attempts }
}

function summaryOf(row: EventRow, destinations: DestinationOutcome[]): EventSummary {
  return {
    seq: row.seq,
    receivedAt: new Date(row.received_at).toISOString(),
    source: row.source,
    status: row.status === 1 ? 'accepted' : 'rejected',
    reason: row.reason,
    type: kindOf(row.kind),
    name: row.name,
    userId: row.user_id,
    anonymousId: row.anonymous_id,
    messageId: row.message_id,
    destinations,
  }
}
