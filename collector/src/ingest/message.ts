import { randomUUID } from 'node:crypto'
import { isKind, type Kind, type Reason } from '../record.ts'

/** The fields that the service reads, in an object that a stranger wrote. */
interface Incoming {
  type?: unknown
  event?: unknown
  name?: unknown
  userId?: unknown
  anonymousId?: unknown
  groupId?: unknown
  previousId?: unknown
  messageId?: unknown
  timestamp?: unknown
  sentAt?: unknown
  context?: unknown
  integrations?: unknown
  properties?: unknown
  traits?: unknown
  writeKey?: unknown
  originalTimestamp?: unknown
  receivedAt?: unknown
}

/** What holds for all messages of a request. */
export interface Envelope {
  /** The batch's own; merged under the item's. */
  context: unknown
  integrations: unknown
  /** The client's clock when it sent the request. */
  sentAt: unknown
  /** The same in milliseconds since the epoch, when it can be read. */
  sentAtMs: number | undefined
  receivedAtMs: number
  /** The same as ISO-8601. */
  receivedAt: string
  /** Address of the caller, for `context.direct`. */
  remoteAddress: string
}

/** One message read, judged and put into the form in which it is kept. */
export interface ReadMessage {
  reason: Reason | null
  kind: Kind | null
  name: string | null
  userId: string | null
  anonymousId: string | null
  messageId: string | null
  /** Corrected time of the event, milliseconds since the epoch. */
  timestampMs: number
  integrations: Readonly<Record<string, unknown>>
  /** JSON text of the message as it is kept. */
  body: string
}

/** The last moment that a `Date` can hold. */
const MAX_DATE_MS = 8.64e15

/** Length limit of `messageId`, spec section 1: fewer than 100 characters. */
const MESSAGE_ID_CHARACTERS = 99

// A date-time by ISO 8601; a bare date is taken too, as clients in other languages send it.
const ISO_DATE_TIME =
  /^[+-]?\d{4,6}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d\d:?\d\d)?)?$/

/** Milliseconds since the epoch, or undefined when the value is no ISO-8601 date-time. */
export function isoTimeMs(value: unknown): number | undefined {
  if (typeof value !== 'string' || value.length > 40 || !ISO_DATE_TIME.test(value)) return undefined
  const timeMs = Date.parse(value)
  return Number.isNaN(timeMs) ? undefined : timeMs
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Absent and null mean "nothing"; anything but an object is a mistake worth naming. */
function isObjectOrAbsent(value: unknown): boolean {
  return value === undefined || value === null || isObject(value)
}

/** An id as text; numbers are taken, as services in other languages send them. */
function idText(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? null : value.toWellFormed()
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : null
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.toWellFormed() : null
}

/** What the list shows as the name; each kind has its own idea of one. */
function displayName(kind: Kind | null, message: Incoming): string | null {
  switch (kind) {
    case 'track':
      return text(message.event)
    case 'page':
    case 'screen':
      return text(message.name)
    case 'group':
      return idText(message.groupId)
    case 'alias':
      return idText(message.previousId)
    default:
      return kind === null ? text(message.event) : null
  }
}

/** First rule that a message breaks; the order is the one in which a developer would look. */
function judge(kind: Kind | null, message: Incoming): Reason | null {
  if (kind === null) return 'bad_type'
  const { messageId, context, integrations, properties, traits } = message
  if (messageId !== undefined && messageId !== null) {
    if (typeof messageId !== 'string' || messageId === '' || messageId.length > MESSAGE_ID_CHARACTERS) {
      return 'bad_message_id'
    }
  }
  for (const field of [context, integrations, properties, traits]) {
    if (!isObjectOrAbsent(field)) return 'bad_field'
  }
  if (message.timestamp !== undefined && message.timestamp !== null) {
    if (isoTimeMs(message.timestamp) === undefined) return 'bad_timestamp'
  }
  if (kind === 'alias') {
    if (idText(message.userId) === null) return 'no_user_id'
    return idText(message.previousId) === null ? 'no_previous_id' : null
  }
  if (idText(message.userId) === null && idText(message.anonymousId) === null) return 'no_user_anon_id'
  if (kind === 'track' && text(message.event) === null) return 'no_event'
  if (kind === 'group' && idText(message.groupId) === null) return 'no_group_id'
  return null
}

/**
 * Reads one message: which kind it is, whether the service accepts it, and what it keeps.
 *
 * The time of the event is corrected for the client's clock: as far as `sentAt` is from the moment of
 * receipt, so far is `timestamp` moved; the given one stays in `originalTimestamp`. Batch `context` and
 * `integrations` are merged key by key, one level deep, so that an item's own value always wins whole.
 *
 * @param item The parsed item; it is changed into what is kept, which at full load is cheaper than a copy.
 * @param pathKind The kind that the address names; undefined in a batch, where each item has its own type.
 */
export function readMessage(item: unknown, pathKind: Kind | undefined, envelope: Envelope): ReadMessage {
  const { receivedAt, receivedAtMs } = envelope
  if (!isObject(item)) {
    return {
      reason: 'bad_item',
      kind: null,
      name: null,
      userId: null,
      anonymousId: null,
      messageId: null,
      timestampMs: receivedAtMs,
      integrations: {},
      body: JSON.stringify({ item, receivedAt }),
    }
  }
  const message: Incoming = item
  const kind = pathKind ?? (isKind(message.type) ? message.type : null)
  const reason = judge(kind, message)

  // The key is a credential: it is never kept with the message.
  if (message.writeKey !== undefined) delete message.writeKey
  const sentAt = message.sentAt ?? envelope.sentAt
  const originalMs = isoTimeMs(message.timestamp)
  let timestampMs = receivedAtMs
  if (originalMs !== undefined) {
    const sentAtMs = sentAt === envelope.sentAt ? envelope.sentAtMs : isoTimeMs(sentAt)
    const correctedMs = originalMs + (sentAtMs === undefined ? 0 : receivedAtMs - sentAtMs)
    timestampMs = Math.abs(correctedMs) <= MAX_DATE_MS ? correctedMs : originalMs
    message.originalTimestamp = message.timestamp
  }
  if (kind !== null) message.type = kind
  if (reason !== 'bad_timestamp') {
    message.timestamp = originalMs === undefined ? receivedAt : new Date(timestampMs).toISOString()
  }
  if (sentAt !== undefined && sentAt !== null) message.sentAt = sentAt
  if (reason === null && typeof message.messageId !== 'string') {
    // Without an id nothing can be deduplicated later, not even by a destination.
    message.messageId = `collector-${randomUUID()}`
  }
  if (reason !== 'bad_field') {
    const context: { direct?: unknown; ip?: unknown } = merged(envelope.context, message.context)
    if (context.direct === true) context.ip = envelope.remoteAddress
    message.context = context
    message.integrations = merged(envelope.integrations, message.integrations)
  }
  message.receivedAt = receivedAt

  return {
    reason,
    kind,
    name: displayName(kind, message),
    userId: idText(message.userId),
    anonymousId: idText(message.anonymousId),
    messageId: text(message.messageId),
    timestampMs,
    integrations: isObject(message.integrations) ? message.integrations : {},
    body: JSON.stringify(message),
  }
}

/** The batch's values under the item's own. Spread defines own properties, so a "__proto__" key stays data. */
function merged(outer: unknown, own: unknown): Record<string, unknown> {
  if (!isObject(outer)) return isObject(own) ? own : {}
  return isObject(own) ? { ...outer, ...own } : { ...outer }
}

// What the service itself adds or corrects, or what a client renews with each attempt.
const VOLATILE = ['receivedAt', 'sentAt', 'timestamp'] as const

/** Whether two messages that are kept say the same, so that the second is the first one sent again. */
export function isSameContent(one: string, other: string): boolean {
  return stableText(one) === stableText(other)
}

function stableText(body: string): string {
  const message = JSON.parse(body) as Record<string, unknown>
  for (const field of VOLATILE) delete message[field]
  return JSON.stringify(message)
}
