import type { StreamEvent } from '../stream/message.ts'

/** The columns of the table in ClickHouse and in PostgreSQL. Values are texts; both databases read the times. */
export interface Row {
  source: string
  message_id: string
  type: string
  event: string
  user_id: string
  anonymous_id: string
  /** ISO 8601 */
  timestamp: string
  /** ISO 8601 */
  received_at: string
  /** JSON, as the three below. */
  properties: string
  traits: string
  context: string
  message: string
}

export const COLUMNS = [
  'source',
  'message_id',
  'type',
  'event',
  'user_id',
  'anonymous_id',
  'timestamp',
  'received_at',
  'properties',
  'traits',
  'context',
  'message',
] as const satisfies ReadonlyArray<keyof Row>

/** The range of DateTime64(3) of ClickHouse. */
const EARLIEST_MS = Date.UTC(1900, 0, 1)
const LATEST_MS = Date.UTC(2299, 11, 31, 23, 59, 59, 999)

/** What may be U+0000 or a lone surrogate, as JSON writes them: neither database stores them in a text. */
const ODD = /\\u(?:0000|d[89a-f])/i

/** @throws RangeError when the message is nested too deeply. */
export function rowOf({ source, messageId, name, userId, anonymousId, ...event }: StreamEvent): Row {
  const isOdd = ODD.test(event.body)
  const parsed = JSON.parse(event.body) as Record<string, unknown>
  const message = isOdd ? (storable(parsed) as Record<string, unknown>) : parsed
  return {
    source: text(source),
    message_id: text(messageId),
    type: text(event.kind),
    event: text(name),
    user_id: text(userId),
    anonymous_id: text(anonymousId),
    timestamp: time(event.timestampMs),
    received_at: time(event.receivedAtMs),
    properties: JSON.stringify(message['properties'] ?? {}),
    traits: JSON.stringify(message['traits'] ?? {}),
    context: JSON.stringify(message['context'] ?? {}),
    message: isOdd ? JSON.stringify(message) : event.body,
  }
}

/** A missing value becomes an empty text. What cannot be stored becomes U+FFFD. */
function text(value: string | null): string {
  return (value ?? '').toWellFormed().replaceAll('\0', '\uFFFD')
}

function storable(value: unknown): unknown {
  if (typeof value === 'string') return text(value)
  if (Array.isArray(value)) return value.map(storable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [text(key), storable(inner)]))
}

function time(ms: number): string {
  return new Date(Math.min(LATEST_MS, Math.max(EARLIEST_MS, ms))).toISOString()
}

export interface Readable {
  rows: Row[]
  /** The positions in the batch of the rows, and of the events that cannot be written as a row. */
  places: number[]
  unreadable: Map<number, string>
}

export function rowsOf(events: readonly StreamEvent[]): Readable {
  const found: Readable = { rows: [], places: [], unreadable: new Map() }
  for (const [place, event] of events.entries()) {
    try {
      found.rows.push(rowOf(event))
      found.places.push(place)
    } catch (cause) {
      found.unreadable.set(place, (cause as Error).message)
    }
  }
  return found
}
