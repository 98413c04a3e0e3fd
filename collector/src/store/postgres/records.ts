import type { DestinationOutcome, EventRecord, EventSummary, Message } from '../../record.ts'
import type { PageRoom } from '../page-room.ts'
import { EVENT_ROW_COLUMNS, type EventRow, outcome, summaryOfRow } from '../summary.ts'
import type { QueryContext } from './queries/context.ts'

/**
 * The records of these numbers, in their order; what was deleted meanwhile is left out.
 *
 * @param room What does not fit is left out as well.
 */
export async function recordsOf(
  context: QueryContext,
  seqs: readonly number[],
  room?: PageRoom,
): Promise<EventRecord[]> {
  if (seqs.length === 0) return []
  const { sql, span } = context
  const [first, last] = [Math.min(...seqs), Math.max(...seqs)]
  const values = [seqs, ...span.daysOf({ first, last })]
  const rows = await sql.query<EventRow>(
    `SELECT ${EVENT_ROW_COLUMNS} FROM event JOIN source ON source.id = source_id
     WHERE event.seq = ANY ($1::bigint[]) AND day BETWEEN $2::date AND $3::date`,
    values,
  )
  const deliveries = await sql.query<Parameters<typeof outcome>[0] & { seq: number }>(
    `SELECT seq, destination, state, reason, attempts FROM delivery
     WHERE seq = ANY ($1::bigint[]) AND day BETWEEN $2::date AND $3::date ORDER BY seq, destination`,
    values,
  )
  const outcomes = new Map<number, DestinationOutcome[]>()
  for (const row of deliveries) {
    const list = outcomes.get(row.seq)
    if (list === undefined) outcomes.set(row.seq, [outcome(row)])
    else list.push(outcome(row))
  }
  const bySeq = new Map(rows.map((row) => [row.seq, row]))
  const records: EventRecord[] = []
  for (const seq of seqs) {
    const row = bySeq.get(seq)
    if (row === undefined) continue
    if (room?.take(row.body) === false) break
    const message = row.body === null ? null : (JSON.parse(row.body) as Message)
    records.push({ ...summaryOfRow(row, message, outcomes.get(seq) ?? []), message })
  }
  return records
}

/** The same without their messages. */
export async function summariesOf(context: QueryContext, seqs: readonly number[]): Promise<EventSummary[]> {
  return (await recordsOf(context, seqs)).map(({ message: _, ...summary }) => summary)
}

/** The time of receipt of an event; undefined when there is none of this number. */
export async function receivedAtOf({ sql, span }: QueryContext, seq: number): Promise<number | undefined> {
  const [row] = await sql.query<{ at: number }>(
    'SELECT received_at AS at FROM event WHERE seq = $1 AND day BETWEEN $2::date AND $3::date',
    [seq, ...span.daysOf({ first: seq, last: seq })],
  )
  return row?.at
}
