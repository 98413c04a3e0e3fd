import type { NewEvent } from '../new-event.ts'
import { type Reason, TEXT_NAMES } from '../record.ts'
import type { Database } from './database.ts'
import type { NewRequest } from './new-request.ts'
import type { Persons } from './persons.ts'
import { isSameContent } from './same-content.ts'
import { EVENT_COLUMNS } from './schema.ts'
import type { SqlValue } from './sql.ts'

const INSERT_EVENT = `INSERT INTO event (seq, ${EVENT_COLUMNS.join(', ')}) VALUES (?, ${EVENT_COLUMNS.map(() => '?').join(', ')})`
const INSERT_DELIVERY =
  'INSERT INTO delivery (seq, destination, received_at, state, reason) VALUES (?, ?, ?, ?, ?)'
const FIND_FIRST =
  'SELECT seq, body FROM event WHERE message_id = ? AND source = ? AND reason IS NULL AND received_at > ? LIMIT 1'

export interface CommitParts {
  database: Database
  persons: Persons
  /** Time for which a messageId is remembered; infinite = as long as its event is stored. */
  dedupWindowMs: number
}

/** What is known of an event that was written. */
export interface Written extends Pick<NewEvent, 'source' | 'kind'> {
  seq: number
  reason: Reason | null
}

/** Writes events, in a transaction of the caller. Returns the result of each, in order. */
export function writeEvents(
  { database, persons, dedupWindowMs }: CommitParts,
  events: readonly NewEvent[],
  firstSeq: number,
): Written[] {
  return events.map((event, index) => {
    const seq = firstSeq + index
    const { userId, anonymousId, receivedAtMs } = event
    const reason = event.reason ?? repeatOf(database, event, dedupWindowMs)
    const person = persons.personOf(userId, anonymousId, reason === null)
    if (event.kind === 'alias' && reason === null && userId !== null && event.name !== null)
      persons.alias(userId, event.name)
    database.runText(INSERT_EVENT, seq, ...valuesOf(event, reason, person))
    for (const { destination, skippedBecause = null } of reason === null ? event.deliveries : []) {
      const state = skippedBecause === null ? 'pending' : 'skipped'
      database.runText(INSERT_DELIVERY, seq, destination, receivedAtMs, state, skippedBecause)
    }
    return { seq, source: event.source, kind: event.kind, reason }
  })
}

/** Whether the messageId of an accepted event is known. Sees the events of the same transaction too. */
function repeatOf(database: Database, event: NewEvent, dedupWindowMs: number): Reason | null {
  const { messageId, source, body, receivedAtMs } = event
  if (messageId === null) return null
  const sinceMs = Number.isFinite(dedupWindowMs) ? receivedAtMs - dedupWindowMs : Number.MIN_SAFE_INTEGER
  const first = database.get<{ body: string | null }>({
    text: FIND_FIRST,
    values: [messageId, source, sinceMs],
  })
  if (first === undefined) return null
  return isSameContent(first.body, body) ? 'duplicate' : 'dedup_conflict'
}

function valuesOf(event: NewEvent, reason: Reason | null, person: string | null): SqlValue[] {
  const values: SqlValue[] = [event.source, reason, event.kind]
  for (const field of TEXT_NAMES) values.push(event[field])
  values.push(
    person,
    event.receivedAtMs,
    event.timestampMs,
    event.requestId ?? null,
    event.body,
    event.sent === undefined ? null : JSON.stringify(event.sent),
    list(event.warnings),
    list(event.violations),
  )
  return values
}

function list(values: readonly unknown[] | undefined): string | null {
  return values === undefined || values.length === 0 ? null : JSON.stringify(values)
}

export function writeRequests(database: Database, requests: readonly NewRequest[]): void {
  for (const request of requests) {
    const columns = Object.keys(request)
    database.runText(
      `INSERT OR IGNORE INTO request (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
      ...(Object.values(request) as SqlValue[]),
    )
  }
}
