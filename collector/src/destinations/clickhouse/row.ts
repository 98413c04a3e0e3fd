import { exactDigits, parseExact, stringifyExact } from '../../json/exact-json.ts'
import type { ClaimedDelivery } from '../../store/ports.ts'

/** The range of the columns `timestamp` and `received_at`: DateTime64(3). */
const EARLIEST_MS = Date.UTC(1900, 0, 1)
const LATEST_MS = Date.UTC(2299, 11, 31, 23, 59, 59, 999)

/** Columns of the table, in their order, with their types. */
export const COLUMNS = {
  key: 'String',
  source: 'LowCardinality(String)',
  type: 'LowCardinality(String)',
  event: 'LowCardinality(String)',
  user_id: 'String',
  anonymous_id: 'String',
  message_id: 'String',
  timestamp: "DateTime64(3, 'UTC')",
  received_at: "DateTime64(3, 'UTC')",
  properties: 'String',
  traits: 'String',
  context: 'String',
  message: 'String',
} as const

/**
 * One event as a line of JSONEachRow. The same event always gives the same line.
 *
 * @throws RangeError when its message is nested too deeply to be written.
 */
export function rowOf({ key, source, messageId, body }: ClaimedDelivery): string {
  const message = parseExact(body) as Record<string, unknown>
  const row: Record<keyof typeof COLUMNS, string> = {
    key,
    source: text(source),
    type: text(message['type']),
    event: text(message['event'] ?? message['name']),
    user_id: text(message['userId']),
    anonymous_id: text(message['anonymousId']),
    message_id: text(messageId),
    timestamp: time(message['timestamp']),
    received_at: time(message['receivedAt']),
    properties: json(message['properties']),
    traits: json(message['traits']),
    context: json(message['context']),
    message: body.toWellFormed(),
  }
  return `${JSON.stringify(row)}\n`
}

/** An absent value becomes an empty text. A lone surrogate, which ClickHouse refuses, becomes U+FFFD. */
function text(value: unknown): string {
  if (value === undefined || value === null) return ''
  return (exactDigits(value) ?? (typeof value === 'string' ? value : JSON.stringify(value))).toWellFormed()
}

/** A time as ISO 8601, limited to the range of the column; 1970 if the value is not a time. */
function time(value: unknown): string {
  const ms = typeof value === 'string' ? Date.parse(value) : 0
  return new Date(Math.min(LATEST_MS, Math.max(EARLIEST_MS, Number.isNaN(ms) ? 0 : ms))).toISOString()
}

function json(value: unknown): string {
  return stringifyExact(value ?? {})
}
