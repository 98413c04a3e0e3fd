import type { StepContext, StepRunner } from '../dialect.ts'
import type { ClaimedDelivery, DeliveryQueue, DeliveryUpdate, UnattendedDestination } from '../ports.ts'
import { all, type Query, sql } from '../sql.ts'
import { claim, nextDue, numbersOf, redeliver, setDue, settle } from './delivery-steps.ts'

const ROWS_PER_RETRY = 5000

/** A log to which another program writes may name any number of destinations. */
const MAX_UNATTENDED = 50

/** A transactional outbox: pending deliveries are stored in the same transaction as their events. */
export class Outbox implements DeliveryQueue {
  readonly #runner: StepRunner
  readonly #id: string
  readonly #onChange: () => void

  /** @param id A part of each `Idempotency-Key`, so that the keys of several databases differ. */
  constructor(runner: StepRunner, id: string, onChange: () => void) {
    this.#runner = runner
    this.#id = id
    this.#onChange = onChange
  }

  async claim(destination: string, limit: number, leaseMs: number): Promise<ClaimedDelivery[]> {
    // Usually nothing is due. This read finds that out without locks.
    const isDue = await this.#runner.read(function* (context) {
      const nextMs = yield* nextDue(context, destination)
      return nextMs !== undefined && nextMs <= context.nowMs
    })
    if (!isDue) return []
    return this.#runner.write((context) => claim(context, this.#id, destination, limit, leaseMs))
  }

  async settle(destination: string, updates: readonly DeliveryUpdate[]): Promise<void> {
    if (updates.length === 0) return
    // Repeated after a transient error, because a delivery whose result is not stored would be sent again.
    await this.#runner.write((context) => settle(context, destination, updates), true)
    this.#onChange()
  }

  async release(destination: string, eventIds: readonly string[]): Promise<void> {
    if (eventIds.length > 0)
      await this.#runner.write(({ dialect }) => setDue(dialect, destination, numbersOf(eventIds), 0), true)
  }

  nextDueMs(destination: string): Promise<number | undefined> {
    return this.#runner.read((context) => nextDue(context, destination))
  }

  async retry(destination: string, eventIds?: readonly string[]): Promise<number> {
    const seqs =
      eventIds === undefined
        ? await this.#runner.read((context) => unfinished(context, destination))
        : numbersOf(eventIds)
    return this.#redeliver(destination, seqs, ['failed', 'pending'], 0)
  }

  /** Gives the delivery a new key, because a receiver that deduplicates by keys would ignore the old key. */
  async replay(destination: string, eventId: string): Promise<boolean> {
    return (await this.#redeliver(destination, numbersOf([eventId]), ['delivered', 'failed'], 1)) > 0
  }

  async #redeliver(
    destination: string,
    seqs: readonly number[],
    states: readonly string[],
    rounds: 0 | 1,
  ): Promise<number> {
    const count = await this.#runner.write(function* (context) {
      const there = seqs.filter((seq) => seq >= context.dialect.first)
      return yield* redeliver(context, destination, there, states, rounds)
    })
    if (count > 0) this.#onChange()
    return count
  }

  async attend(destinations: readonly string[]): Promise<void> {
    if (destinations.length === 0) return
    // Rows are written in the order of their keys, so that processes cannot deadlock.
    await this.#runner.write(function* ({ dialect, nowMs }) {
      const given = dialect.given({ name: { type: 'text', values: destinations } })
      yield sql`INSERT INTO ${dialect.keyValueTable} (${dialect.keyColumn}, value)
        SELECT 'attended ' || given.name, CAST(${dialect.now(nowMs)} AS text) FROM ${given} WHERE TRUE ORDER BY 1
        ON CONFLICT (${dialect.keyColumn}) DO UPDATE SET value = excluded.value`
    })
  }

  unattended(withinMs: number): Promise<UnattendedDestination[]> {
    return this.#runner.read(({ dialect, nowMs }) => {
      const key = sql`'attended ' || destination`
      // Only values with this key are numbers. With `and` instead of `case`, the database might cast other values first.
      const at = sql`CASE WHEN ${dialect.keyColumn} = ${key} THEN CAST(value AS bigint) END`
      return all<UnattendedDestination>(
        sql`SELECT destination, sum(count) AS pending FROM delivery_tally
            WHERE state = 'pending' AND NOT EXISTS (SELECT 1 FROM ${dialect.keyValueTable} WHERE ${at} > ${dialect.now(nowMs)} - ${withinMs})
            GROUP BY destination HAVING sum(count) > 0 ORDER BY destination LIMIT ${MAX_UNATTENDED}`,
      )
    })
  }
}

function* unfinished({ dialect }: StepContext, destination: string): Query<number[]> {
  const rows = yield* all<{ seq: number }>(
    sql`SELECT seq FROM delivery WHERE destination = ${destination} AND seq >= ${dialect.first}
        AND (state = 'failed' OR (state = 'pending' AND attempts > 0)) LIMIT ${ROWS_PER_RETRY}`,
  )
  return rows.map(({ seq }) => seq)
}
