import { BUCKET_MS } from '../buckets.ts'
import { numberOf } from '../cursor.ts'
import { mergedText } from '../inherited.ts'
import type { ClaimedDelivery, DeliveryQueue, DeliveryUpdate, UnattendedDestination } from '../ports.ts'
import { type Database, readMeta } from './database.ts'
import { inheritedOf } from './inherited.ts'
import { Counts } from './row-insert.ts'

/** Attempts that are kept for each event and destination. */
const ATTEMPTS_KEPT = 20
const ROWS_PER_RETRY = 5000

/** What is owed to destinations, in the table of deliveries. */
export class Outbox implements DeliveryQueue {
  readonly #database: Database
  readonly #now: () => number
  readonly #onChange: () => void
  readonly #id: string
  readonly #tally: Counts

  /** @param onChange Told when outcomes were written. */
  constructor(database: Database, now: () => number, onChange: () => void) {
    this.#database = database
    this.#onChange = onChange
    this.#now = now
    this.#id = readMeta<string>(database, 'id')
    this.#tally = new Counts(database, 'delivery_tally', ['bucket', 'destination', 'state', 'reason'])
  }

  /** The lease is taken in the transaction that looks: of several processes one gets a delivery. */
  async claim(destination: string, limit: number, leaseMs: number): Promise<ClaimedDelivery[]> {
    const nowMs = this.#now()
    const database = this.#database
    const floor = readMeta<number>(database, 'floor')
    // Most of the time nothing is due; that is found out without the lock for writing.
    const nextMs = this.#nextDueMs(destination)
    if (nextMs === undefined || nextMs > nowMs) return []
    return database.transaction(() => {
      const due = database.all<{
        seq: number
        attempts: number
        round: number
        source: string
        message_id: string | null
        body: string
        inherited: number | null
      }>(
        `SELECT delivery.seq AS seq, attempts, round, source.name AS source, message_id, body, inherited
         FROM delivery JOIN event ON event.seq = delivery.seq JOIN source ON source.id = source_id
         WHERE destination = ? AND state = 'pending' AND due_at <= ? AND delivery.seq > ?
         ORDER BY due_at, delivery.seq LIMIT ?`,
        destination,
        nowMs,
        floor,
        limit,
      )
      for (const { seq } of due) this.#setDue(destination, seq, nowMs + leaseMs)
      const texts = new Map<number, string | null>()
      return due.map(({ seq, attempts, round, source, message_id, body, inherited }) => ({
        eventId: String(seq),
        attempts,
        source,
        messageId: message_id,
        body: mergedText(body, inheritedOf(database, inherited, texts)),
        key: `${this.#id}-${seq}${round === 0 ? '' : `-${round}`}`,
      }))
    })
  }

  async settle(destination: string, updates: readonly DeliveryUpdate[]): Promise<void> {
    if (updates.length === 0) return
    this.#inTransaction(() => {
      for (const update of updates) this.#settleOne(destination, update)
    })
  }

  #settleOne(destination: string, update: DeliveryUpdate): void {
    const { state, reason, attempts, dueAtMs, attempt } = update
    const seq = numberOf(update.eventId) ?? 0
    const before = this.#database.get<{
      last_at: number | null
      last_ms: number | null
      reason: string | null
    }>(
      "SELECT last_at, last_ms, reason FROM delivery WHERE seq = ? AND destination = ? AND state = 'pending'",
      seq,
      destination,
    )
    // Deleted meanwhile, or settled by somebody who had it after the lease had ended.
    if (before === undefined) return
    // The last attempt is in the row itself, so that one that succeeds at once costs no further row.
    if (before.last_at !== null)
      this.#keepAttempt(seq, destination, attempts - 1, before.last_at, before.last_ms, before.reason)
    this.#database.run(
      `UPDATE delivery SET state = ?, reason = ?, attempts = ?, due_at = ?, last_at = ?, last_ms = ?
       WHERE seq = ? AND destination = ?`,
      state,
      reason,
      attempts,
      dueAtMs,
      attempt?.atMs ?? null,
      attempt === undefined ? null : Math.round(attempt.durationMs),
      seq,
      destination,
    )
    if (state === 'pending') return
    const bucket = this.#bucketOf(seq)
    this.#tally.add([bucket, destination, 'pending', ''], -1)
    this.#tally.add([bucket, destination, state, reason ?? ''])
  }

  #keepAttempt(
    seq: number,
    destination: string,
    attempt: number,
    atMs: number,
    durationMs: number | null,
    reason: string | null,
  ): void {
    this.#database.run(
      'INSERT INTO attempt (seq, destination, at, attempt, ms, result, reason) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      seq,
      destination,
      atMs,
      attempt,
      durationMs ?? 0,
      'retry',
      reason,
    )
    this.#database.run(
      `DELETE FROM attempt WHERE seq = ? AND destination = ? AND (at, attempt) IN
       (SELECT at, attempt FROM attempt WHERE seq = ? AND destination = ? ORDER BY at DESC, attempt DESC LIMIT -1 OFFSET ?)`,
      seq,
      destination,
      seq,
      destination,
      ATTEMPTS_KEPT - 1,
    )
  }

  async release(destination: string, eventIds: readonly string[]): Promise<void> {
    if (eventIds.length === 0) return
    this.#database.transaction(() => {
      for (const id of eventIds) this.#setDue(destination, numberOf(id) ?? 0, 0)
    })
  }

  #setDue(destination: string, seq: number, dueAtMs: number): void {
    this.#database.run(
      "UPDATE delivery SET due_at = ? WHERE seq = ? AND destination = ? AND state = 'pending'",
      dueAtMs,
      seq,
      destination,
    )
  }

  async nextDueMs(destination: string): Promise<number | undefined> {
    return this.#nextDueMs(destination)
  }

  #nextDueMs(destination: string): number | undefined {
    const value = this.#database.value<number>(
      `SELECT due_at AS value FROM delivery WHERE destination = ? AND state = 'pending' AND seq > ?
       ORDER BY due_at, seq LIMIT 1`,
      destination,
      readMeta<number>(this.#database, 'floor'),
    )
    return value ?? undefined
  }

  async retry(destination: string, eventIds?: readonly string[]): Promise<number> {
    const floor = readMeta<number>(this.#database, 'floor')
    const where =
      eventIds === undefined
        ? "state = 'failed' OR (state = 'pending' AND attempts > 0)"
        : "state IN ('failed', 'pending')"
    const rows =
      eventIds === undefined
        ? this.#database.all<{ seq: number }>(
            `SELECT seq FROM delivery WHERE destination = ? AND seq > ? AND (${where}) LIMIT ?`,
            destination,
            floor,
            ROWS_PER_RETRY,
          )
        : eventIds.map((id) => ({ seq: numberOf(id) ?? 0 })).filter(({ seq }) => seq > floor)
    let count = 0
    this.#inTransaction(() => {
      for (const { seq } of rows) if (this.#again(destination, seq, where)) count++
    })
    return count
  }

  async replay(destination: string, eventId: string): Promise<boolean> {
    let isThere = false
    this.#inTransaction(() => {
      // One that waits for its turn is delivered anyhow.
      isThere = this.#again(destination, numberOf(eventId) ?? 0, "state IN ('delivered', 'failed')", 1)
    })
    return isThere
  }

  async attend(destinations: readonly string[]): Promise<void> {
    for (const name of destinations) {
      this.#database.run(
        'INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
        `attended ${name}`,
        this.#now(),
      )
    }
  }

  async unattended(withinMs: number): Promise<UnattendedDestination[]> {
    return this.#database.all<UnattendedDestination>(
      `SELECT destination, sum(count) AS pending FROM delivery_tally
       WHERE state = 'pending' AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'attended ' || destination AND value > ?)
       GROUP BY destination HAVING sum(count) > 0 ORDER BY destination`,
      this.#now() - withinMs,
    )
  }

  #again(destination: string, seq: number, where: string, rounds = 0): boolean {
    const row = this.#database.get<{
      state: string
      reason: string | null
      attempts: number
      last_at: number | null
      last_ms: number | null
    }>(
      `SELECT state, reason, attempts, last_at, last_ms FROM delivery WHERE seq = ? AND destination = ? AND (${where})`,
      seq,
      destination,
    )
    if (row === undefined) return false
    if (row.last_at !== null) this.#keepLast(seq, destination, row)
    // A replay is a delivery of its own: a receiver that remembers keys must take it.
    this.#database.run(
      `UPDATE delivery SET state = 'pending', attempts = 0, due_at = 0, last_at = NULL, last_ms = NULL, round = round + ?
       WHERE seq = ? AND destination = ?`,
      rounds,
      seq,
      destination,
    )
    if (row.state === 'pending') return true
    const bucket = this.#bucketOf(seq)
    this.#tally.add([bucket, destination, row.state, row.reason ?? ''], -1)
    this.#tally.add([bucket, destination, 'pending', ''])
    return true
  }

  #keepLast(
    seq: number,
    destination: string,
    row: {
      state: string
      reason: string | null
      attempts: number
      last_at: number | null
      last_ms: number | null
    },
  ): void {
    const result = row.state === 'pending' ? 'retry' : row.state
    this.#keepAttempt(seq, destination, row.attempts, row.last_at ?? 0, row.last_ms, row.reason)
    this.#database.run(
      'UPDATE attempt SET result = ? WHERE seq = ? AND destination = ? AND at = ? AND attempt = ?',
      result,
      seq,
      destination,
      row.last_at,
      row.attempts,
    )
  }

  #bucketOf(seq: number): number {
    const atMs = this.#database.value<number>('SELECT received_at AS value FROM event WHERE seq = ?', seq)
    return Math.floor((atMs ?? 0) / BUCKET_MS)
  }

  #inTransaction(run: () => void): void {
    try {
      this.#database.transaction(() => {
        run()
        this.#tally.flush()
      })
    } catch (cause) {
      this.#tally.discard()
      throw cause
    }
    this.#onChange()
  }
}
