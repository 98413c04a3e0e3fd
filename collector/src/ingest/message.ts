import { randomUUID } from 'node:crypto'
import { isObject } from '../json/is-object.ts'
import type { SentDifference } from '../new-event.ts'
import { idText, isBlank, textOrNull } from '../plain-text.ts'
import {
  type EventTexts,
  isKind,
  type Kind,
  type Message,
  NO_TEXTS,
  type Reason,
  type Warning,
} from '../record.ts'
import { fits, INHERITED_FIELDS, type Inheritance } from './inheritance.ts'
import { type ReadTime, readTime } from './timestamp.ts'

/** A message as a client has sent it: any value in any field. */
type Incoming = Record<string, unknown> & { [field in keyof Message]?: unknown } & { writeKey?: unknown }

/** Data that all messages of a request have in common. */
export interface Envelope {
  inheritance: Inheritance | undefined
  /** The time of the client's clock when it sent the request. */
  sentAt: string | undefined
  /** `sentAt` in milliseconds since the Unix epoch. */
  sentAtMs: number | undefined
  receivedAtMs: number
  /** `receivedAtMs` in ISO 8601. */
  receivedAt: string
  /** Address of the client, which becomes `context.ip` if `context.direct` is true. */
  remoteAddress: string
  /** Warnings about every message of the request. */
  warnings: readonly Warning[]
}

/** A message that was checked, in the form in which it is stored. */
export interface ReadMessage extends EventTexts {
  reason: Reason | null
  kind: Kind | null
  /** Time of the event, corrected for the client's clock, in milliseconds since the Unix epoch. */
  timestampMs: number
  /** The `integrations` of the message, followed by those of the batch. */
  integrations: ReadonlyArray<Readonly<Record<string, unknown>>>
  body: string
  sent: SentDifference
  warnings: Warning[]
}

const MAX_DATE_MS = 8.64e15

/** Earlier times are usually seconds where milliseconds belong, or a clock that was never set. */
const EARLIEST_MS = Date.UTC(2000, 0, 1)
/** Later times are usually a wrong clock. */
const FUTURE_MS = 86_400_000

/** The specification requires fewer than 100 characters. */
const MESSAGE_ID_CHARACTERS = 99

export const MAX_EVENT_BYTES = 32 * 1024

/** PHP writes an empty map as an empty list. */
function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Null counts as a missing value. Any other value that is not an object is a mistake, and is reported. */
export function isObjectOrAbsent(value: unknown): boolean {
  return value === undefined || value === null || isObject(value) || isEmptyList(value)
}

const CONTROLS = /\p{Cc}/u

/** Counts code points, so a surrogate pair is one character. */
function isMessageId(value: unknown): boolean {
  if (typeof value !== 'string' || value === '' || CONTROLS.test(value)) return false
  return value.length <= MESSAGE_ID_CHARACTERS || [...value].length <= MESSAGE_ID_CHARACTERS
}

/** The name in the list of events. Each kind has it in a different field. */
function displayName(kind: Kind | null, message: Incoming): string | null {
  switch (kind) {
    case 'track':
      return textOrNull(message.event)
    case 'page':
    case 'screen':
      return textOrNull(message.name)
    case 'group':
      return idText(message.groupId)
    case 'alias':
      return idText(message.previousId)
    default:
      return kind === null ? textOrNull(message.event) : null
  }
}

/** Whether the context says that the client is the user's own device; undefined if the context does not say. */
function isDirect(context: unknown): boolean | undefined {
  return isObject(context) && Object.hasOwn(context, 'direct') ? context['direct'] === true : undefined
}

/** Returns the first rule that a message breaks. The rules are in the order in which a developer would check them. */
function judge(kind: Kind | null, message: Incoming): Reason | null {
  if (kind === null) return 'bad_type'
  const { messageId, userId, anonymousId, groupId, previousId } = message
  if (messageId !== undefined && messageId !== null && !isMessageId(messageId)) return 'bad_message_id'
  if ([userId, anonymousId, groupId, previousId].some(isBlank)) return 'bad_id'
  for (const field of [message.context, message.integrations, message.properties, message.traits]) {
    if (!isObjectOrAbsent(field)) return 'bad_field'
  }
  if (kind === 'alias') {
    if (idText(userId) === null) return 'no_user_id'
    return idText(previousId) === null ? 'no_previous_id' : null
  }
  if (idText(userId) === null && idText(anonymousId) === null) return 'no_user_anon_id'
  if (kind === 'track' && !textOrNull(message.event)?.trim()) return 'no_event'
  if (kind === 'group' && idText(groupId) === null) return 'no_group_id'
  return null
}

/**
 * Decides whether the service accepts a message, and brings the message into its stored form.
 *
 * Moves `timestamp` by the difference between `sentAt` and the time of receipt, and keeps the original time in
 * `originalTimestamp`.
 *
 * @param item The parsed message. It is changed in place, because a copy would take too long at full load.
 * @param pathKind The kind that the path of the request names; undefined in a batch, where each message has its own type.
 * @param itemBytes Size of the message; 0 if it is known to be within the limit.
 */
export function readMessage(
  item: unknown,
  pathKind: Kind | undefined,
  envelope: Envelope,
  itemBytes: number,
): ReadMessage {
  if (!isObject(item)) return noMessage(item, envelope)
  const message: Incoming = item
  const kind = pathKind ?? (isKind(message.type) ? message.type : null)
  const { inheritance } = envelope
  const isTooLarge = !fits(inheritance, itemBytes, MAX_EVENT_BYTES)
  const reason = judge(kind, message) ?? (isTooLarge ? 'event_too_large' : null)
  const sent = { ...message }
  const warnings = [...envelope.warnings]

  // The write key is a credential, so it is never stored with the message.
  if (pathKind === undefined && typeof message.writeKey === 'string') warnings.push('write_key_in_item')
  delete message.writeKey
  if (kind !== null) message.type = kind
  // A message that is too large only with its inherited fields is stored without corrections, to save time: a batch may have
  // thousands of such messages.
  const timestampMs = isTooLarge ? envelope.receivedAtMs : correctTime(message, envelope, warnings)
  const messageId = textOrNull(message.messageId)
  // Events and deliveries are deduplicated by their messageId.
  if (reason === null && typeof message.messageId !== 'string')
    message.messageId = `collector-${randomUUID()}`
  const outer = reason === 'bad_field' || isTooLarge ? undefined : inheritance?.fields
  const integrations = [message.integrations, outer?.integrations].filter(isObject)
  if (reason !== 'bad_field' && !isTooLarge) {
    const isFromDevice = isDirect(message.context) ?? isDirect(outer?.context)
    for (const field of INHERITED_FIELDS) message[field] = merged(message[field], outer?.[field])
    for (const field of ['properties', 'traits'] as const)
      if (isEmptyList(message[field])) message[field] = {}
    if (isFromDevice) message.context = { ...(message.context as object), ip: envelope.remoteAddress }
  }
  if (!isTooLarge) message.receivedAt = envelope.receivedAt

  return {
    reason,
    kind,
    name: displayName(kind, message),
    userId: idText(message.userId),
    anonymousId: idText(message.anonymousId),
    messageId: messageId ?? textOrNull(message.messageId),
    timestampMs,
    integrations,
    body: JSON.stringify(message),
    sent: differenceOf(sent, message),
    warnings,
  }
}

/** Spread syntax defines own properties, so a key "__proto__" does not set the prototype. */
function merged(own: unknown, outer: Readonly<Record<string, unknown>> | undefined): unknown {
  if (!isObject(own)) return { ...outer }
  return outer === undefined ? own : { ...outer, ...own }
}

function differenceOf(sent: Record<string, unknown>, kept: Record<string, unknown>): SentDifference {
  const changed: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(sent))
    if (field in kept && kept[field] !== value) changed[field] = value
  return {
    added: Object.keys(kept).filter((field) => !Object.hasOwn(sent, field)),
    changed,
    removed: Object.keys(sent).filter((field) => !Object.hasOwn(kept, field)),
  }
}

/** Returns the record of an item that is not an object. */
function noMessage(item: unknown, { receivedAt, receivedAtMs, warnings }: Envelope): ReadMessage {
  return {
    reason: 'bad_item',
    kind: null,
    ...NO_TEXTS,
    timestampMs: receivedAtMs,
    integrations: [],
    body: JSON.stringify({ item, receivedAt }),
    sent: { added: [], changed: {}, removed: [] },
    warnings: [...warnings],
  }
}

/** Returns the time of the event, or the time of receipt if the timestamp cannot be read. */
function correctTime(message: Incoming, envelope: Envelope, warnings: Warning[]): number {
  const { receivedAt, receivedAtMs } = envelope
  const sentAt = message.sentAt ?? envelope.sentAt
  const given = message.timestamp
  const original: ReadTime | undefined = readTime(given)
  let timestampMs = receivedAtMs
  if (original !== undefined) {
    if (!original.hasZone) warnings.push('timestamp_zone')
    const sentAtMs = sentAt === envelope.sentAt ? envelope.sentAtMs : readTime(sentAt)?.ms
    const correctedMs = original.ms + (sentAtMs === undefined ? 0 : receivedAtMs - sentAtMs)
    timestampMs = Math.abs(correctedMs) <= MAX_DATE_MS ? correctedMs : original.ms
    if (timestampMs < EARLIEST_MS || timestampMs > receivedAtMs + FUTURE_MS) warnings.push('timestamp_far')
  } else if (given !== undefined && given !== null) {
    warnings.push('timestamp')
  }
  if (given !== undefined && given !== null) message.originalTimestamp = given
  message.timestamp = original === undefined ? receivedAt : new Date(timestampMs).toISOString()
  if (sentAt !== undefined && sentAt !== null) message.sentAt = sentAt
  return timestampMs
}
