import { type Clock, sleep } from '../../clock.ts'
import { numberOf } from '../cursor.ts'
import { mergedText } from '../inherited.ts'
import type { ClaimedDelivery, DeliveryQueue, DeliveryUpdate, UnattendedDestination } from '../ports.ts'
import type { Queryable, SqlValue } from './database.ts'
import { inheritedOf } from './inherited.ts'
import { isPassing } from './passing.ts'

const ROWS_PER_RETRY = 5000
/** What was attempted is worth some patience: what is not written down is attempted again. */
const SETTLE_ATTEMPTS = 5
const SETTLE_DELAY_MS = 50

const NOW_MS = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
const CLAIM = 'SELECT * FROM claim($1, $2, $3, $4) ORDER BY nth'

const RELEASE = `
UPDATE delivery SET due_at = 0 FROM unnest($2::bigint[]) AS given (seq)
WHERE delivery.seq = given.seq AND delivery.day = day_of(given.seq) AND delivery.destination = $1 AND delivery.state = 'pending'`

/** In order, so that of several processes none waits for another in a circle. By the clock of the server: those of processes differ. */
const ATTEND = `
INSERT INTO kept_value (name, value)
  SELECT 'attended ' || given.name, ${NOW_MS}::text FROM unnest($1::text[]) AS given (name) ORDER BY given.name
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`

/** The cast is of nothing but times, in whatever order the conditions are looked at: other values are no numbers. */
const UNATTENDED = `
SELECT destination, sum(count) AS pending FROM delivery_tally
WHERE state = 'pending' AND NOT EXISTS (
  SELECT FROM kept_value
  WHERE CASE WHEN kept_value.name = 'attended ' || destination THEN kept_value.value::bigint > ${NOW_MS} - $1::bigint END)
GROUP BY destination HAVING sum(count) > 0 ORDER BY destination`

/** What is owed to destinations, in the table of deliveries. */
export class Outbox implements DeliveryQueue {
  readonly #database: Queryable
  readonly #id: string
  readonly #clock: Clock
  readonly #onChange: () => void

  /**
   * @param id Of the database: makes keys unique among all that a receiver may know.
   * @param onChange Told when outcomes were written.
   */
  constructor(database: Queryable, id: string, clock: Clock, onChange: () => void) {
    this.#database = database
    this.#id = id
    this.#clock = clock
    this.#onChange = onChange
  }

  async claim(destination: string, limit: number, leaseMs: number): Promise<ClaimedDelivery[]> {
    const nowMs = this.#clock.now()
    const rows = await this.#database.query<{
      seq: number
      attempts: number
      round: number
      source: string
      message_id: string | null
      body: string
      inherited: number | null
    }>(CLAIM, [destination, nowMs, limit, Math.ceil(nowMs + leaseMs)])
    const texts = await inheritedOf(
      this.#database,
      rows.map(({ inherited }) => inherited),
    )
    return rows.map(({ seq, attempts, round, source, message_id, body, inherited }) => ({
      eventId: String(seq),
      attempts,
      source,
      messageId: message_id,
      body: mergedText(body, texts.get(inherited ?? 0)),
      key: `${this.#id}-${seq}${round === 0 ? '' : `-${round}`}`,
    }))
  }

  async settle(destination: string, updates: readonly DeliveryUpdate[]): Promise<void> {
    if (updates.length === 0) return
    await this.#again('SELECT settle($1, $2, $3, $4, $5, $6, $7, $8)', [
      destination,
      updates.map(({ eventId }) => numberOf(eventId) ?? 0),
      updates.map(({ state }) => state),
      updates.map(({ reason }) => reason),
      updates.map(({ attempts }) => attempts),
      updates.map(({ dueAtMs }) => Math.ceil(dueAtMs)),
      updates.map(({ attempt }) => (attempt === undefined ? null : Math.round(attempt.atMs))),
      updates.map(({ attempt }) => (attempt === undefined ? null : Math.round(attempt.durationMs))),
    ])
    this.#onChange()
  }

  async release(destination: string, eventIds: readonly string[]): Promise<void> {
    if (eventIds.length > 0) await this.#again(RELEASE, [destination, numbersOf(eventIds)])
  }

  /** Runs a statement that changes nothing more when it is run again, also when its connection is lost. */
  async #again(text: string, values: readonly SqlValue[]): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#database.query(text, values)
        return
      } catch (cause) {
        if (attempt >= SETTLE_ATTEMPTS || !isPassing(cause)) throw cause
        await sleep(this.#clock, SETTLE_DELAY_MS * 2 ** attempt)
      }
    }
  }

  async nextDueMs(destination: string): Promise<number | undefined> {
    const [next] = await this.#database.query<{ due_at: number }>(
      "SELECT due_at FROM delivery WHERE destination = $1 AND state = 'pending' ORDER BY due_at LIMIT 1",
      [destination],
    )
    return next?.due_at
  }

  async retry(destination: string, eventIds?: readonly string[]): Promise<number> {
    if (eventIds !== undefined) {
      return this.#redeliver(destination, numbersOf(eventIds), ['failed', 'pending'], 0)
    }
    const rows = await this.#database.query<{ seq: number }>(
      `SELECT seq FROM delivery WHERE destination = $1 AND (state = 'failed' OR (state = 'pending' AND attempts > 0)) LIMIT $2`,
      [destination, ROWS_PER_RETRY],
    )
    const seqs = rows.map(({ seq }) => seq)
    return this.#redeliver(destination, seqs, ['failed', 'pending'], 0)
  }

  /** One that waits for its turn is delivered anyhow. */
  async replay(destination: string, eventId: string): Promise<boolean> {
    return (await this.#redeliver(destination, numbersOf([eventId]), ['delivered', 'failed'], 1)) > 0
  }

  async attend(destinations: readonly string[]): Promise<void> {
    await this.#database.query(ATTEND, [destinations])
  }

  unattended(withinMs: number): Promise<UnattendedDestination[]> {
    return this.#database.query(UNATTENDED, [withinMs])
  }

  async #redeliver(
    destination: string,
    seqs: readonly number[],
    states: readonly string[],
    rounds: number,
  ): Promise<number> {
    if (seqs.length === 0) return 0
    const [row] = await this.#database.query<{ count: number }>('SELECT redeliver($1, $2, $3, $4) AS count', [
      destination,
      seqs,
      states,
      rounds,
    ])
    const count = row?.count ?? 0
    if (count > 0) this.#onChange()
    return count
  }
}

/** Each number once, and no ids that were never given out. */
function numbersOf(ids: readonly string[]): number[] {
  return [...new Set(ids.map(numberOf).filter((seq) => seq !== undefined))]
}
