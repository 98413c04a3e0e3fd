import type { DestinationOutcome, EventRecord, EventSummary, Message } from '../../record.ts'
import type { PageRoom } from '../page-room.ts'
import { EVENT_ROW_COLUMNS, type EventRow, outcome, summaryOfRow } from '../summary.ts'
import type { Database } from './database.ts'

const ROWS_PER_STATEMENT = 100

/**
 * The records of these numbers, in their order; what was deleted meanwhile is left out.
 *
 * @param room What does not fit is left out as well.
 */
export function recordsOf(database: Database, seqs: readonly number[], room?: PageRoom): EventRecord[] {
  const records: EventRecord[] = []
  for (let start = 0; start < seqs.length; start += ROWS_PER_STATEMENT) {
    readSome(database, seqs.slice(start, start + ROWS_PER_STATEMENT), records, room)
  }
  return records
}

/** The same without their messages. */
export function summariesOf(database: Database, seqs: readonly number[]): EventSummary[] {
  return recordsOf(database, seqs).map(({ message: _, ...summary }) => summary)
}

function readSome(
  database: Database,
  seqs: readonly number[],
  into: EventRecord[],
  room: PageRoom | undefined,
): void {
  // Always as many placeholders, so that it stays one statement.
  const asked = [...seqs, ...Array(ROWS_PER_STATEMENT - seqs.length).fill(-1)]
  const places = Array(ROWS_PER_STATEMENT).fill('?').join(',')
  const rows = new Map(
    database
      .all<EventRow>(
        `SELECT ${EVENT_ROW_COLUMNS} FROM event JOIN source ON source.id = source_id WHERE event.seq IN (${places})`,
        ...asked,
      )
      .map((row) => [row.seq, row]),
  )
  const outcomes = new Map<number, DestinationOutcome[]>()
  const deliveries = database.all<Parameters<typeof outcome>[0] & { seq: number }>(
    `SELECT seq, destination, state, reason, attempts FROM delivery WHERE seq IN (${places}) ORDER BY seq, destination`,
    ...asked,
  )
  for (const row of deliveries) {
    const list = outcomes.get(row.seq)
    if (list === undefined) outcomes.set(row.seq, [outcome(row)])
    else list.push(outcome(row))
  }
  for (const seq of seqs) {
    const row = rows.get(seq)
    if (row === undefined) continue
    if (room?.take(row.body) === false) return
    const message = row.body === null ? null : (JSON.parse(row.body) as Message)
    into.push({ ...summaryOfRow(row, message, outcomes.get(seq) ?? []), message })
  }
}
