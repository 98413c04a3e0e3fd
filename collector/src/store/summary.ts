import type {
  DestinationOutcome,
  EventStatus,
  EventSummary,
  EventTexts,
  PreviewEntry,
  Reason,
  Warning,
} from '../record.ts'
import { pathText } from '../search/syntax.ts'
import { storedJson } from './stored-message.ts'

/** The largest time that a `Date` can represent (ECMAScript, "Time Values and Time Range"). */
const MAX_DATE_MS = 8.64e15

const PREVIEW_ENTRIES = 6
const PREVIEW_CHARACTERS = 80
const PREVIEW_DEPTH = 3

export function statusOf(reason: string | null): EventStatus {
  if (reason === null) return 'accepted'
  return reason === 'duplicate' ? 'repeated' : 'rejected'
}

export interface EventRow extends EventTexts {
  seq: number
  source: string
  reason: Reason | null
  kind: EventSummary['type']
  received_at: number
  timestamp: number
  request_id: number | null
  warnings: string | null
  violations: string | null
  body: string | null
}

export const EVENT_ROW_COLUMNS =
  'seq, source, reason, kind, name, userId, anonymousId, messageId, received_at, timestamp, request_id, warnings, violations, body'

export function summaryOfRow(
  row: EventRow,
  message: unknown,
  destinations: DestinationOutcome[],
): EventSummary {
  const summary: EventSummary = {
    id: String(row.seq),
    seq: row.seq,
    request: row.request_id === null ? null : String(row.request_id),
    receivedAt: isoTimeOf(row.received_at),
    timestamp: isoTimeOf(row.timestamp),
    source: row.source,
    status: statusOf(row.reason),
    reason: row.reason,
    type: row.kind,
    name: row.name,
    userId: row.userId,
    anonymousId: row.anonymousId,
    messageId: row.messageId,
    preview: preview(message),
    violations: storedJson<unknown[]>(row.violations, []).length,
    destinations: [...destinations].sort(failedFirst),
  }
  if (row.warnings !== null) summary.warnings = storedJson<Warning[]>(row.warnings, [])
  return summary
}

const ORDER = ['failed', 'pending', 'skipped', 'delivered']

function failedFirst(one: DestinationOutcome, other: DestinationOutcome): number {
  return ORDER.indexOf(one.state) - ORDER.indexOf(other.state)
}

/** A time that a `Date` cannot represent becomes 1970-01-01. */
function isoTimeOf(timeMs: number): string {
  return new Date(Math.abs(timeMs) <= MAX_DATE_MS ? timeMs : 0).toISOString()
}

/** The first scalar values of `properties` and `traits`, so that people can recognise the event in a list. */
function preview(message: unknown): PreviewEntry[] {
  const { properties, traits } = (message ?? {}) as Record<string, unknown>
  const entries: PreviewEntry[] = []
  for (const [root, data] of Object.entries({ properties, traits })) {
    if (typeof data === 'object' && data !== null) collect(data, [root], entries)
  }
  return entries
}

function collect(data: object, path: readonly string[], entries: PreviewEntry[]): void {
  for (const [key, value] of Object.entries(data)) {
    if (entries.length >= PREVIEW_ENTRIES) return
    const own = [...path, key]
    if (typeof value === 'object' && value !== null) {
      if (own.length <= PREVIEW_DEPTH) collect(value, own, entries)
    } else {
      const shown = typeof value === 'string' ? value.slice(0, PREVIEW_CHARACTERS) : value
      entries.push({ path: pathText(own), value: shown })
    }
  }
}
