import { type ClaimedDelivery, exactDigits, parseExact, stringifyExact } from 'trackpost-collector/ports'

/** The range of values of DateTime64(3), the type of `timestamp` and `received_at`. */
const EARLIEST_MS = Date.UTC(1900, 0, 1)
const LATEST_MS = Date.UTC(2299, 11, 31, 23, 59, 59, 999)

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
 * Formats one event as a line in the ClickHouse format JSONEachRow. The same event always gives the same line.
 *
 * @throws RangeError when the message of the event is nested too deeply.
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

/** A missing value becomes an empty string. A lone surrogate becomes U+FFFD, since ClickHouse refuses surrogates. */
function text(value: unknown): string {
  if (value === undefined || value === null) return ''
  return (exactDigits(value) ?? (typeof value === 'string' ? value : JSON.stringify(value))).toWellFormed()
}

/** Formats a time as ISO 8601, limited to the range of the column. A value that is not a time becomes 1970. */
function time(value: unknown): string {
  const ms = typeof value === 'string' ? Date.parse(value) : 0
  return new Date(Math.min(LATEST_MS, Math.max(EARLIEST_MS, Number.isNaN(ms) ? 0 : ms))).toISOString()
}

function json(value: unknown): string {
  return stringifyExact(value ?? {})
}
