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
}

/** What holds for all messages of a request. */
export interface Envelope {
  /** The batch's own; merged under the item's. */
  context: unknown
  integrations: unknown
  /** The client's clock when it sent the request. */
  sentAt: unknown
  receivedAtMs: number
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
 * @param pathKind The kind that the address names; undefined in a batch, where each item has its own type.
 */
export function readMessage(item: unknown, pathKind: Kind | undefined, envelope: Envelope): ReadMessage {
  const receivedAt = new Date(envelope.receivedAtMs).toISOString()
  if (!isObject(item)) {
    return {
      reason: 'bad_item',
      kind: null,
      name: null,
      userId: null,
      anonymousId: null,
      messageId: null,
      timestampMs: envelope.receivedAtMs,
      integrations: {},
      body: JSON.stringify({ item, receivedAt }),
    }
  }
  const incoming: Incoming = item
  const kind = pathKind ?? (isKind(incoming.type) ? incoming.type : null)
  const reason = judge(kind, incoming)

  // The key is a credential: it is never kept with the message. Spread defines own properties, so a
  // "__proto__" key in the data stays data.
  const { writeKey: _writeKey, ...message } = incoming
  const sentAt = incoming.sentAt ?? envelope.sentAt
  const sentAtMs = isoTimeMs(sentAt)
  const originalMs = isoTimeMs(incoming.timestamp)
  let timestampMs = envelope.receivedAtMs
  if (originalMs !== undefined) {
    const correctedMs = originalMs + (sentAtMs === undefined ? 0 : envelope.receivedAtMs - sentAtMs)
    timestampMs = Math.abs(correctedMs) <= 8.64e15 ? correctedMs : originalMs
    Object.assign(message, { originalTimestamp: incoming.timestamp })
  }
  if (kind !== null) message.type = kind
  if (reason !== 'bad_timestamp') message.timestamp = new Date(timestampMs).toISOString()
  if (sentAt !== undefined && sentAt !== null) message.sentAt = sentAt
  if (reason === null && typeof incoming.messageId !== 'string') {
    // Without an id nothing can be deduplicated later, not even by a destination.
    message.messageId = `collector-${randomUUID()}`
  }
  if (reason !== 'bad_field') {
    message.context = { ...objectOrEmpty(envelope.context), ...objectOrEmpty(incoming.context) }
    message.integrations = {
      ...objectOrEmpty(envelope.integrations),
      ...objectOrEmpty(incoming.integrations),
    }
    const context = message.context as { direct?: unknown; ip?: unknown }
    if (context.direct === true) context.ip = envelope.remoteAddress
  }

  return {
    reason,
    kind,
    name: displayName(kind, incoming),
    userId: idText(incoming.userId),
    anonymousId: idText(incoming.anonymousId),
    messageId: text(message.messageId),
    timestampMs,
    integrations: objectOrEmpty(message.integrations),
    body: JSON.stringify({ ...message, receivedAt }),
  }
}

function objectOrEmpty(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}
