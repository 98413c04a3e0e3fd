import type { SentDifference } from '../../new-event.ts'
import type { DestinationOutcome, EventRecord, Violation } from '../../record.ts'
import { numberOf } from '../cursor.ts'
import { raw, sql } from '../sql.ts'
import { storedJson, storedMessage } from '../stored-message.ts'
import type { QueryContext } from './context.ts'
import { recordsOf, summariesOf } from './events.ts'
import { requestSummary, rowOfRequest } from './requests.ts'
import { asSent, differenceOf } from './sent-message.ts'

const REPEATS_SHOWN = 20

interface DetailRow {
  body: string | null
  sent: string | null
  violations: string | null
  source: string
}

export function eventDetail(context: QueryContext, id: string) {
  const seq = numberOf(id) ?? 0
  const [record] = recordsOf(context, [seq])
  const row = context.database.get<DetailRow>(
    sql`SELECT body, sent, violations, source FROM event WHERE seq = ${seq}`,
  )
  if (record === undefined || row === undefined) return null
  const request = record.request === null ? undefined : rowOfRequest(context, record.request)
  return {
    ...record,
    ...sentOf(record, row),
    clockSkewMs: clockSkewMs(record),
    requestDetails: request === undefined ? null : requestSummary(request),
    destinations: deliveriesOf(context, seq),
    ...repeatsOf(context, record, row.source),
    violations: storedJson<Violation[]>(row.violations, []),
    previous: neighbour(context, 'max', '<', seq),
    following: neighbour(context, 'min', '>', seq),
  }
}

function neighbour(
  { database }: QueryContext,
  which: 'max' | 'min',
  side: '<' | '>',
  seq: number,
): string | null {
  const found = database.number(
    sql`SELECT ${raw(which)}(seq) AS value FROM event WHERE seq ${raw(side)} ${seq}`,
  )
  return found === 0 ? null : String(found)
}

function deliveriesOf({ database }: QueryContext, seq: number) {
  const attempts = database.all<{ name: string; at: number; reason: string | null } & Attempt>(
    sql`SELECT destination AS name, at, attempt, ms AS durationMs, result, reason FROM attempt WHERE seq = ${seq} ORDER BY rowid`,
  )
  const rows = database.all<DestinationOutcome & { reason: string | null; due: number }>(
    sql`SELECT destination AS name, state, reason, attempts, due_at AS due FROM delivery WHERE seq = ${seq} ORDER BY destination`,
  )
  return rows.map(({ name, state, reason, attempts: count, due }) => ({
    name,
    state,
    ...(reason === null ? {} : { reason }),
    attempts: count,
    dueAt: state === 'pending' && due > 0 ? new Date(due).toISOString() : null,
    history: attempts
      .filter((one) => one.name === name)
      .map(({ name: _, at, reason, ...attempt }) => {
        return { ...attempt, at: new Date(at).toISOString(), ...(reason === null ? {} : { reason }) }
      }),
  }))
}

interface Attempt {
  attempt: number
  durationMs: number
  result: 'delivered' | 'retry' | 'failed'
}

/** Other events with the same messageId: the accepted one, if `record` is a repeat, and the repeats. */
function repeatsOf(context: QueryContext, { messageId, seq, reason }: EventRecord, source: string) {
  if (messageId === null) return { first: null, repeats: [] }
  const isRepeat = reason === 'duplicate' || reason === 'dedup_conflict'
  const first = isRepeat ? context.messageIds.find(source, messageId) : undefined
  const others = context.database.all<{ seq: number }>(
    sql`SELECT seq FROM event WHERE messageId = ${messageId} AND source = ${source} AND reason IS NOT NULL AND seq <> ${seq}
        ORDER BY seq LIMIT ${REPEATS_SHOWN}`,
  )
  const repeats = summariesOf(
    context,
    others.map((row) => row.seq),
  )
  return {
    first: first === undefined ? null : (recordsOf(context, [first.seq])[0] ?? null),
    repeats: repeats.map(({ id, receivedAt, reason }) => ({ id, receivedAt, reason })),
  }
}

/** Null if the message that the client sent is not known. */
function sentOf({ message }: EventRecord, row: DetailRow) {
  const noted = storedJson<SentDifference | null>(row.sent, null)
  const own = storedMessage(row.body)
  if (noted === null || own === null || message === null) return { sent: null, difference: null }
  return { sent: asSent(own, noted), difference: differenceOf(message, noted) }
}

/** How far the clock of the client was behind: the time of receipt minus `sentAt`. */
function clockSkewMs({ message, receivedAt }: EventRecord): number | null {
  const sentAtMs = typeof message?.sentAt === 'string' ? Date.parse(message.sentAt) : Number.NaN
  return Number.isNaN(sentAtMs) ? null : Date.parse(receivedAt) - sentAtMs
}
