import { randomUUID } from 'node:crypto'
import { isKind, type Kind, type Reason, type Warning } from '../record.ts'
import { idText, isUnclearId, textOrNull } from '../store/columns.ts'
import type { SentDifference } from '../store/ports.ts'
import { type ReadTime, readTime } from './timestamp.ts'

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
  /** What holds for every message of the request. */
  warnings: readonly Warning[]
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
  /** How that differs from what was sent. */
  sent: SentDifference
  warnings: Warning[]
}

/** The last moment that a `Date` can hold. */
const MAX_DATE_MS = 8.64e15

/** A messageId has fewer than 100 characters. */
const MESSAGE_ID_CHARACTERS = 99

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Absent and null mean "nothing"; anything but an object is a mistake worth naming. */
function isObjectOrAbsent(value: unknown): boolean {
  return value === undefined || value === null || isObject(value)
}

/** Counts what people count: a symbol outside of the first plane is one character. */
function isMessageId(value: unknown): boolean {
  if (typeof value !== 'string' || value === '' || isUnclearId(value)) return false
  return value.length <= MESSAGE_ID_CHARACTERS || [...value].length <= MESSAGE_ID_CHARACTERS
}

/** What the list shows as the name; each kind has its own idea of one. */
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

/** First rule that a message breaks; the order is the one in which a developer would look. */
function judge(kind: Kind | null, message: Incoming): Reason | null {
  if (kind === null) return 'bad_type'
  const { messageId, userId, anonymousId, groupId, previousId } = message
  if (messageId !== undefined && messageId !== null && !isMessageId(messageId)) return 'bad_message_id'
  if ([userId, anonymousId, groupId, previousId].some(isUnclearId)) return 'bad_id'
  for (const field of [message.context, message.integrations, message.properties, message.traits]) {
    if (!isObjectOrAbsent(field)) return 'bad_field'
  }
  if (kind === 'alias') {
    if (idText(userId) === null) return 'no_user_id'
    return idText(previousId) === null ? 'no_previous_id' : null
  }
  if (idText(userId) === null && idText(anonymousId) === null) return 'no_user_anon_id'
  if (kind === 'track' && textOrNull(message.event) === null) return 'no_event'
  if (kind === 'group' && idText(groupId) === null) return 'no_group_id'
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
  if (!isObject(item)) return noMessage(item, envelope)
  const message: Incoming = item
  const kind = pathKind ?? (isKind(message.type) ? message.type : null)
  const reason = judge(kind, message)
  const draft = new Draft(message)
  const warnings = [...envelope.warnings]

  // The key is a credential: it is never kept with the message.
  if (pathKind === undefined && typeof message.writeKey === 'string') warnings.push('write_key_in_item')
  draft.remove('writeKey')
  if (kind !== null) draft.set('type', kind)
  const timestampMs = correctTime(draft, envelope, warnings)
  if (reason === null && typeof message.messageId !== 'string') {
    // Without an id nothing can be deduplicated later, not even by a destination.
    draft.set('messageId', `collector-${randomUUID()}`)
  }
  if (reason !== 'bad_field') {
    draft.merge('context', envelope.context)
    draft.merge('integrations', envelope.integrations)
    const context = message.context as { direct?: unknown }
    if (context.direct === true) draft.setIn('context', 'ip', envelope.remoteAddress)
  }
  draft.set('receivedAt', envelope.receivedAt)

  return {
    reason,
    kind,
    name: displayName(kind, message),
    userId: idText(message.userId),
    anonymousId: idText(message.anonymousId),
    messageId: textOrNull(message.messageId),
    timestampMs,
    integrations: isObject(message.integrations) ? message.integrations : {},
    body: JSON.stringify(message),
    sent: draft.difference,
    warnings,
  }
}

/** What is kept of an item that is no object. */
function noMessage(item: unknown, { receivedAt, receivedAtMs, warnings }: Envelope): ReadMessage {
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
    sent: { added: [], changed: {}, removed: [] },
    warnings: [...warnings],
  }
}

/**
 * Sets `timestamp`, `originalTimestamp` and `sentAt`; returns the time of the event.
 *
 * A timestamp that cannot be read costs the event nothing but its time: that is then the one of receipt.
 */
function correctTime(draft: Draft, envelope: Envelope, warnings: Warning[]): number {
  const { message } = draft
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
  } else if (given !== undefined && given !== null) {
    warnings.push('timestamp')
  }
  if (given !== undefined && given !== null) draft.set('originalTimestamp', given)
  draft.set('timestamp', original === undefined ? receivedAt : new Date(timestampMs).toISOString())
  if (sentAt !== undefined && sentAt !== null) draft.set('sentAt', sentAt)
  return timestampMs
}

/** A message on its way from what was sent to what is kept, and the account of the way. */
class Draft {
  readonly message: Incoming
  readonly difference = {
    added: [] as string[],
    changed: {} as Record<string, unknown>,
    removed: [] as string[],
  }

  constructor(message: Incoming) {
    this.message = message
  }

  set(field: keyof Incoming, value: unknown): void {
    this.#note(field, Object.hasOwn(this.message, field), this.message[field], value)
    this.message[field] = value
  }

  remove(field: keyof Incoming): void {
    if (!Object.hasOwn(this.message, field)) return
    this.difference.removed.push(field)
    delete this.message[field]
  }

  /** Sets a field of an object that `merge` has made sure of. */
  setIn(field: 'context' | 'integrations', key: string, value: unknown): void {
    const object = this.message[field] as Record<string, unknown>
    this.#note(`${field}.${key}`, Object.hasOwn(object, key), object[key], value)
    object[key] = value
  }

  /** The batch's values under the message's own. Spread defines own properties, so a "__proto__" key stays data. */
  merge(field: 'context' | 'integrations', outer: unknown): void {
    const own = this.message[field]
    if (!isObject(own)) {
      this.set(field, isObject(outer) ? { ...outer } : {})
    } else if (isObject(outer)) {
      for (const key of Object.keys(outer)) {
        if (!Object.hasOwn(own, key)) this.difference.added.push(`${field}.${key}`)
      }
      this.message[field] = { ...outer, ...own }
    }
  }

  #note(path: string, isThere: boolean, before: unknown, after: unknown): void {
    if (!isThere) this.difference.added.push(path)
    else if (before !== after) this.difference.changed[path] = before
  }
}
