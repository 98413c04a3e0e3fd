import { createHash } from 'node:crypto'
import { BUCKET_MS } from '../buckets.ts'
import { numberOf } from '../cursor.ts'
import type { Bounds, Dialect, StepContext } from '../dialect.ts'
import { escapeForStore } from '../escape.ts'
import { mergedText } from '../inherited.ts'
import type { ClaimedDelivery, DeliveryUpdate } from '../ports.ts'
import { inheritedOf } from '../queries/records.ts'
import { all, first, type Query, raw, sql } from '../sql.ts'

/** Attempts that are stored for each delivery. The last one is in the row of `delivery`, the others in `attempt`. */
const ATTEMPTS_KEPT = 20

const DIGEST_CHARACTERS = 16

interface DeliveryBefore {
  seq: number
  state: string
  reason: string | null
  attempts: number
  last_at: number | null
  last_ms: number | null
  received_at: number
}

type Change = { seq: number; before: DeliveryBefore; state: string; reason: string | null }

/**
 * Leases due deliveries, oldest first, by setting their due time to the end of the lease.
 *
 * @param id The id of the database. The keys of deliveries begin with it.
 */
export function* claim(
  { dialect, nowMs }: StepContext,
  id: string,
  destination: string,
  limit: number,
  leaseMs: number,
): Query<ClaimedDelivery[]> {
  const due = yield* all<{ seq: number; attempts: number; round: number }>(
    sql`SELECT seq, attempts, round FROM delivery
        WHERE destination = ${destination} AND state = 'pending' AND due_at <= ${nowMs} AND seq >= ${dialect.first}
        ORDER BY due_at, seq LIMIT ${limit} ${dialect.skipLocked}`,
  )
  if (due.length === 0) return []
  const seqs = due.map(({ seq }) => seq)
  yield* setDue(dialect, destination, seqs, Math.ceil(nowMs + leaseMs))
  const events = yield* all<{
    seq: number
    source: string
    messageId: string | null
    receivedAt: number
    body: string
    inherited: number | null
  }>(
    sql`SELECT event.seq AS seq, source.name AS source, message_id AS "messageId", received_at AS "receivedAt", body, inherited
        FROM event JOIN source ON source.id = source_id WHERE ${dialect.among(seqs)}`,
  )
  const texts = yield* inheritedOf(
    dialect,
    events.map(({ inherited }) => inherited),
  )
  const bySeq = new Map(events.map((event) => [event.seq, event]))
  return due.flatMap(({ seq, attempts, round }) => {
    const event = bySeq.get(seq)
    if (event === undefined) return []
    const { source, messageId, inherited } = event
    const body = mergedText(event.body, texts.get(inherited ?? 0))
    const key = `${id}-${seq}-${digestOf(event)}${round === 0 ? '' : `-${round}`}`
    const receivedAtMs = event.receivedAt
    return [{ eventId: String(seq), attempts, source, messageId, receivedAtMs, body, key }]
  })
}

/**
 * Identifies the event in the key of its delivery. After a restore from a backup, new events get numbers that other events had
 * before, and receivers would take them for repeats.
 */
function digestOf(event: { source: string; messageId: string | null; receivedAt: number }): string {
  const { source, messageId, receivedAt } = event
  const text = JSON.stringify([source, messageId, receivedAt])
  return createHash('sha256').update(text).digest('hex').slice(0, DIGEST_CHARACTERS)
}

/** `dueAtMs` 0 means at once. */
export function* setDue(
  dialect: Dialect,
  destination: string,
  seqs: readonly number[],
  dueAtMs: number,
): Query<void> {
  if (seqs.length === 0) return
  yield sql`UPDATE delivery SET due_at = ${dueAtMs}
    WHERE ${dialect.among(seqs, 'delivery')} AND destination = ${destination} AND state = 'pending'`
}

/**
 * Skips deliveries that were deleted, or finished by another process, in the meantime. The last attempt is stored in the row of
 * `delivery`, so that a delivery that succeeds at once needs no row in `attempt`.
 */
export function* settle(
  { dialect }: StepContext,
  destination: string,
  updates: readonly DeliveryUpdate[],
): Query<void> {
  const bySeq = new Map(updates.map((update) => [numberOf(update.eventId) ?? 0, update]))
  const pending = yield* locked(dialect, destination, [...bySeq.keys()], ['pending'])
  if (pending.length === 0) return
  const changes = pending.flatMap((before) => {
    const update = bySeq.get(before.seq)
    return update === undefined
      ? []
      : [{ ...update, seq: before.seq, before, reason: escapeForStore(update.reason) }]
  })
  yield* keepAttempts(
    dialect,
    destination,
    changes
      // After a lost connection, this function may run again with the same results. The row may then have this attempt already.
      .filter(({ before, attempt }) => before.last_at !== rounded(attempt?.atMs))
      .map(({ before, attempts }) => ({ ...before, attempts: attempts - 1 })),
  )
  const given = dialect.given({
    seq: { type: 'number', values: changes.map(({ seq }) => seq) },
    state: { type: 'text', values: changes.map(({ state }) => state) },
    reason: { type: 'text', values: changes.map(({ reason }) => reason) },
    attempts: { type: 'number', values: changes.map(({ attempts }) => attempts) },
    due_at: { type: 'number', values: changes.map(({ dueAtMs }) => Math.ceil(dueAtMs)) },
    last_at: { type: 'number', values: changes.map(({ attempt }) => rounded(attempt?.atMs)) },
    last_ms: { type: 'number', values: changes.map(({ attempt }) => rounded(attempt?.durationMs)) },
  })
  yield sql`UPDATE delivery SET state = given.state, reason = given.reason, attempts = given.attempts,
      due_at = given.due_at, last_at = given.last_at, last_ms = given.last_ms
    FROM ${given} WHERE delivery.seq = given.seq AND delivery.destination = ${destination}
      AND ${dialect.within(boundsOf(changes.map(({ seq }) => seq)), 'delivery')}`
  yield* moveCounts(dialect, destination, changes)
  yield dialect.notifyOutcomes
}

/** Makes deliveries in one of the `states` due at once. If `rounds` is 1, they also get new keys. Returns their number. */
export function* redeliver(
  { dialect }: StepContext,
  destination: string,
  seqs: readonly number[],
  states: readonly string[],
  rounds: 0 | 1,
): Query<number> {
  const before = yield* locked(dialect, destination, seqs, states)
  if (before.length === 0) return 0
  yield* keepAttempts(dialect, destination, before)
  const found = before.map(({ seq }) => seq)
  yield sql`UPDATE delivery SET state = 'pending', attempts = 0, due_at = 0, last_at = NULL, last_ms = NULL, round = round + ${rounds}
    WHERE ${dialect.among(found, 'delivery')} AND destination = ${destination}`
  const changes = before.map((one) => ({ seq: one.seq, before: one, state: 'pending', reason: null }))
  yield* moveCounts(dialect, destination, changes)
  yield dialect.notifyOutcomes
  return before.length
}

/** Locks the deliveries in the order of `seq` to prevent deadlocks. */
function* locked(
  dialect: Dialect,
  destination: string,
  seqs: readonly number[],
  states: readonly string[],
): Query<DeliveryBefore[]> {
  if (seqs.length === 0) return []
  return yield* all<DeliveryBefore>(
    sql`SELECT delivery.seq AS seq, state, delivery.reason AS reason, attempts, last_at, last_ms, received_at
        FROM delivery JOIN event ON event.seq = delivery.seq AND ${dialect.within(boundsOf(seqs))}
        WHERE ${dialect.among(seqs, 'delivery')} AND destination = ${destination}
          AND state IN (${raw(states.map((state) => `'${state}'`).join(', '))})
        ORDER BY delivery.seq ${dialect.lockDeliveries}`,
  )
}

/** Copies the last attempt of each delivery from `delivery` to `attempt`, and deletes the oldest attempts beyond the limit. */
function* keepAttempts(
  dialect: Dialect,
  destination: string,
  deliveries: readonly DeliveryBefore[],
): Query<void> {
  const tried = deliveries.filter(({ last_at }) => last_at !== null)
  if (tried.length === 0) return
  const given = dialect.given({
    seq: { type: 'number', values: tried.map(({ seq }) => seq) },
    at: { type: 'number', values: tried.map(({ last_at }) => last_at) },
    attempt: { type: 'number', values: tried.map(({ attempts }) => attempts) },
    ms: { type: 'number', values: tried.map(({ last_ms }) => last_ms ?? 0) },
    result: { type: 'text', values: tried.map(({ state }) => (state === 'pending' ? 'retry' : state)) },
    reason: { type: 'text', values: tried.map(({ reason }) => reason) },
  })
  yield sql`INSERT INTO attempt (${dialect.dayColumn}seq, destination, at, attempt, ms, result, reason)
    SELECT ${dialect.dayOfGiven}given.seq, ${destination}, given.at, given.attempt, given.ms, given.result, given.reason
    FROM ${given} WHERE TRUE ON CONFLICT DO NOTHING`
  const seqs = tried.map(({ seq }) => seq)
  yield sql`DELETE FROM attempt WHERE ${dialect.among(seqs, 'attempt')} AND destination = ${destination}
    AND (at, attempt) < (
      SELECT newer.at, newer.attempt FROM attempt AS newer
      WHERE newer.seq = attempt.seq AND newer.destination = attempt.destination AND ${dialect.within(boundsOf(seqs), 'newer')}
      ORDER BY newer.at DESC, newer.attempt DESC LIMIT 1 OFFSET ${ATTEMPTS_KEPT - 2})`
}

/** All transactions write counts in the order of the keys to prevent deadlocks. */
function* moveCounts(dialect: Dialect, destination: string, changes: readonly Change[]): Query<void> {
  const counts = new Map<string, { bucket: number; state: string; reason: string; count: number }>()
  const add = (bucket: number, state: string, given: string | null, by: number) => {
    const reason = state === 'pending' ? '' : (given ?? '')
    const key = `${bucket} ${state} ${reason}`
    const counted = counts.get(key) ?? { bucket, state, reason, count: 0 }
    counts.set(key, { ...counted, count: counted.count + by })
  }
  for (const { before, state, reason } of changes) {
    if (before.state === state && state === 'pending') continue
    const bucket = Math.floor(before.received_at / BUCKET_MS)
    add(bucket, before.state, before.reason, -1)
    add(bucket, state, reason, 1)
  }
  const changed = [...counts.values()].filter(({ count }) => count !== 0)
  if (changed.length === 0) return
  const given = dialect.given({
    bucket: { type: 'number', values: changed.map(({ bucket }) => bucket) },
    state: { type: 'text', values: changed.map(({ state }) => state) },
    reason: { type: 'text', values: changed.map(({ reason }) => reason) },
    count: { type: 'number', values: changed.map(({ count }) => count) },
  })
  yield sql`INSERT INTO delivery_tally (bucket, destination, state, reason, count)
    SELECT given.bucket, ${destination}, given.state, given.reason, given.count FROM ${given} WHERE TRUE ORDER BY 1, 3, 4
    ON CONFLICT (${dialect.deliveryTallyKey}) DO UPDATE SET count = delivery_tally.count + excluded.count`
}

export function* nextDue({ dialect }: StepContext, destination: string): Query<number | undefined> {
  const next = yield* first<{ due_at: number }>(
    sql`SELECT due_at FROM delivery WHERE destination = ${destination} AND state = 'pending' AND seq >= ${dialect.first}
        ORDER BY due_at, seq LIMIT 1`,
  )
  return next?.due_at
}

export function numbersOf(ids: readonly string[]): number[] {
  return [...new Set(ids.map(numberOf).filter((seq) => seq !== undefined))]
}

function boundsOf(seqs: readonly number[]): Bounds {
  return { first: Math.min(...seqs), last: Math.max(...seqs) }
}

function rounded(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value)
}
