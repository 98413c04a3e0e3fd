import { createHash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { DestinationOutcome } from '../record.ts'
import { numbersOf } from './cursor.ts'
import type { Database } from './database.ts'
import { among, raw, type Sql, sql } from './sql.ts'

/** Attempts that are stored for each delivery. */
const ATTEMPTS_KEPT = 20
const ROWS_PER_RETRY = 5000
const DIGEST_CHARACTERS = 16

/** A delivery whose time has come. */
export interface DueDelivery {
  eventId: string
  attempts: number
  receivedAtMs: number
  /** JSON text of the message. */
  body: string
  /** The `Idempotency-Key` of the delivery: unique, and the same on every attempt. */
  key: string
}

/** The result of an attempt. */
export interface DeliveryUpdate {
  eventId: string
  state: DestinationOutcome['state']
  reason: string | null
  attempts: number
  /** When the next attempt is due, milliseconds since the epoch; only if `state` is `pending`. */
  dueAtMs: number
  /** When the attempt began. */
  atMs: number
  durationMs: number
}

/** An outbox: pending deliveries are written in the transaction that stores their event, and marked as done after the attempt. */
export class Deliveries {
  readonly #database: Database
  readonly #id: string
  readonly #clock: Clock
  readonly #onChange: () => void

  /** @param id A part of each `Idempotency-Key`, so that the keys of several files differ. */
  constructor(database: Database, id: string, clock: Clock, onChange: () => void) {
    this.#database = database
    this.#id = id
    this.#clock = clock
    this.#onChange = onChange
  }

  /** The due deliveries of a destination, the oldest first. */
  due(destination: string, limit: number): DueDelivery[] {
    const rows = this.#database.all<{
      seq: number
      attempts: number
      round: number
      source: string
      messageId: string | null
      received_at: number
      body: string | null
    }>(
      sql`SELECT event.seq AS seq, attempts, round, source, messageId, event.received_at AS received_at, body
          FROM delivery JOIN event ON event.seq = delivery.seq
          WHERE destination = ${destination} AND state = 'pending' AND due_at <= ${this.#clock.now()}
          ORDER BY due_at, delivery.seq LIMIT ${limit}`,
    )
    return rows.map(({ seq, attempts, round, source, messageId, received_at, body }) => {
      // After a restore from a backup, new events get numbers that other events had before.
      const digest = createHash('sha256')
        .update(JSON.stringify([source, messageId, received_at]))
        .digest('hex')
      const end = round === 0 ? '' : `-${round}`
      return {
        eventId: String(seq),
        attempts,
        receivedAtMs: received_at,
        body: body ?? 'null',
        key: `${this.#id}-${seq}-${digest.slice(0, DIGEST_CHARACTERS)}${end}`,
      }
    })
  }

  /** When the next delivery is due, milliseconds since the epoch; undefined = none is pending. */
  nextDueMs(destination: string): number | undefined {
    return this.#database.get<{ due_at: number }>(
      sql`SELECT due_at FROM delivery WHERE destination = ${destination} AND state = 'pending' ORDER BY due_at LIMIT 1`,
    )?.due_at
  }

  /** Stores the results of attempts. Deliveries that were deleted or replayed in the meantime are left as they are. */
  settle(destination: string, updates: readonly DeliveryUpdate[]): void {
    if (updates.length === 0) return
    const database = this.#database
    database.transaction(() => {
      for (const { eventId, state, reason, attempts, dueAtMs, atMs, durationMs } of updates) {
        const seq = Number(eventId)
        const changed = database.run(
          sql`UPDATE delivery SET state = ${state}, reason = ${reason}, attempts = ${attempts}, due_at = ${Math.ceil(dueAtMs)},
                last_at = ${atMs}
              WHERE seq = ${seq} AND destination = ${destination} AND state = 'pending'`,
        )
        if (changed === 0) continue
        const result = state === 'pending' ? 'retry' : state
        database.run(
          sql`INSERT INTO attempt VALUES (${seq}, ${destination}, ${atMs}, ${attempts}, ${durationMs}, ${result}, ${reason})`,
        )
        database.run(
          sql`DELETE FROM attempt WHERE rowid IN (SELECT rowid FROM attempt
                WHERE seq = ${seq} AND destination = ${destination} ORDER BY rowid DESC LIMIT -1 OFFSET ${ATTEMPTS_KEPT})`,
        )
      }
    })
    this.#onChange()
  }

  /**
   * Makes deliveries due at once, and returns their number. With ids: the failed and pending deliveries of these events. Without
   * ids: all failed deliveries, and pending ones with at least one attempt; one call takes a few thousand of them.
   */
  retry(destination: string, eventIds?: readonly string[]): number {
    const which =
      eventIds === undefined
        ? sql`(state = 'failed' OR (state = 'pending' AND attempts > 0))`
        : sql`state IN ('failed', 'pending') AND ${among('seq', numbersOf(eventIds))}`
    return this.#redeliver(destination, which, 0)
  }

  /**
   * Queues a finished delivery again, under a new key, because a receiver that deduplicates would ignore the old one. Returns false
   * when the event has no delivered or failed delivery to this destination.
   */
  replay(destination: string, eventId: string): boolean {
    const which = sql`state IN ('delivered', 'failed') AND ${among('seq', numbersOf([eventId]))}`
    return this.#redeliver(destination, which, 1) > 0
  }

  #redeliver(destination: string, which: Sql, rounds: 0 | 1): number {
    const count = this.#database.run(
      sql`UPDATE delivery SET state = 'pending', attempts = 0, due_at = 0, reason = NULL, round = round + ${raw(String(rounds))}
          WHERE (seq, destination) IN (
            SELECT seq, destination FROM delivery WHERE destination = ${destination} AND ${which} LIMIT ${ROWS_PER_RETRY})`,
    )
    if (count > 0) this.#onChange()
    return count
  }
}
