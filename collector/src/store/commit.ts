import type { NewEvent } from '../new-event.ts'
import type { Reason } from '../record.ts'
import type { Database } from './database.ts'
import type { MessageIds } from './message-ids.ts'
import type { NewRequest } from './new-request.ts'
import type { Persons } from './persons.ts'
import { isSameContent } from './same-content.ts'
import type { SqlValue } from './sql.ts'

export interface CommitParts {
  database: Database
  persons: Persons
  messageIds: MessageIds
}

/** What is known of an event that was written. */
export interface Written extends Pick<NewEvent, 'source' | 'kind'> {
  seq: number
  reason: Reason | null
}

/** Writes events, in a transaction of the caller. Returns the result of each, in order. */
export function writeEvents(
  { database, persons, messageIds }: CommitParts,
  events: readonly NewEvent[],
  firstSeq: number,
): Written[] {
  return events.map((event, index) => {
    const seq = firstSeq + index
    const { source, messageId, userId, anonymousId, receivedAtMs } = event
    const reason = event.reason ?? repeatOf(messageIds, event)
    if (reason === null && messageId !== null) messageIds.add(source, messageId, seq)
    const person = persons.personOf(userId, anonymousId, reason === null)
    if (event.kind === 'alias' && reason === null && userId !== null && event.name !== null)
      persons.alias(userId, event.name)
    insert(database, 'INTO event', rowOf(seq, event, reason, person))
    for (const { destination, skippedBecause = null } of reason === null ? event.deliveries : []) {
      const state = skippedBecause === null ? 'pending' : 'skipped'
      insert(database, 'INTO delivery', {
        seq,
        destination,
        received_at: receivedAtMs,
        state,
        reason: skippedBecause,
      })
    }
    return { seq, source, kind: event.kind, reason }
  })
}

/** Whether the messageId of an accepted event is known. Sees the events of the same transaction too. */
function repeatOf(messageIds: MessageIds, { source, messageId, body }: NewEvent): Reason | null {
  const first = messageId === null ? undefined : messageIds.find(source, messageId)
  if (first === undefined) return null
  return isSameContent(first.body, body) ? 'duplicate' : 'dedup_conflict'
}

function rowOf(seq: number, event: NewEvent, reason: Reason | null, person: string | null): Row {
  return {
    seq,
    source: event.source,
    reason,
    kind: event.kind,
    name: event.name,
    userId: event.userId,
    anonymousId: event.anonymousId,
    messageId: event.messageId,
    person,
    received_at: event.receivedAtMs,
    timestamp: event.timestampMs,
    request_id: event.requestId ?? null,
    body: event.body,
    sent: event.sent === undefined ? null : JSON.stringify(event.sent),
    warnings: list(event.warnings),
    violations: list(event.violations),
  }
}

function list(values: readonly unknown[] | undefined): string | null {
  return values === undefined || values.length === 0 ? null : JSON.stringify(values)
}

type Row = Record<string, SqlValue>
const inserts = new Map<string, string>()

/** The rows of a table always have the same columns, in the same order. */
function insert(database: Database, into: string, row: Row): void {
  let text = inserts.get(into)
  if (text === undefined) {
    const columns = Object.keys(row)
    text = `INSERT ${into} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`
    inserts.set(into, text)
  }
  database.runText(text, ...Object.values(row))
}

export function writeRequests(database: Database, requests: readonly NewRequest[]): void {
  for (const request of requests) insert(database, 'OR IGNORE INTO request', { ...request })
}
