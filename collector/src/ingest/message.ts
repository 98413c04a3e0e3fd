import { randomUUID } from 'node:crypto'
import type { SentDifference } from '../new-event.ts'
import { idText, isBlank, textOrNull } from '../plain-text.ts'
import { type EventTexts, isKind, type Kind, type Reason, textsOf, type Warning } from '../record.ts'
import { fits, type Inheritance, type InheritedField } from './inheritance.ts'
import { type ReadTime, readTime } from './timestamp.ts'

/** The fields of a message that the service reads. A client may send any value in them. */
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
  /** JSON text of the message as it is stored. */
  body: string
  /** The difference between the stored message and the message that was sent. */
  sent: SentDifference
  warnings: Warning[]
}

/** The last time that a `Date` can represent. */
const MAX_DATE_MS = 8.64e15

/** Earlier times are usually seconds where milliseconds belong, or a clock that was never set. */
const EARLIEST_MS = Date.UTC(2000, 0, 1)
/** Later times are usually a wrong clock. */
const FUTURE_MS = 86_400_000

/** The specification requires fewer than 100 characters. */
const MESSAGE_ID_CHARACTERS = 99

export const MAX_EVENT_BYTES = 32 * 1024

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** PHP writes an empty map as an empty list. */
function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Null counts as a missing value. Any other value that is not an object is a mistake, and is reported. */
function isObjectOrAbsent(value: unknown): boolean {
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
  const draft = new Draft(message)
  const warnings = [...envelope.warnings]

  // The write key is a credential, so it is never stored with the message.
  if (pathKind === undefined && typeof message.writeKey === 'string') warnings.push('write_key_in_item')
  draft.remove('writeKey')
  if (kind !== null) draft.set('type', kind)
  // A message that is too large only with its inherited fields is stored without corrections, to save time: a batch may have
  // thousands of such messages.
  const timestampMs = isTooLarge ? envelope.receivedAtMs : correctTime(draft, envelope, warnings)
  const messageId = textOrNull(message.messageId)
  if (reason === null && typeof message.messageId !== 'string') {
    // Events and deliveries are deduplicated by their messageId.
    draft.set('messageId', `collector-${randomUUID()}`)
  }
  const outer = reason === 'bad_field' || isTooLarge ? undefined : inheritance?.fields
  const integrations = [message.integrations, outer?.integrations].filter(isObject)
  if (reason !== 'bad_field' && !isTooLarge) {
    const isFromDevice = isDirect(message.context) ?? isDirect(outer?.context)
    draft.complete('context', outer?.context)
    draft.complete('integrations', outer?.integrations)
    for (const field of ['properties', 'traits'] as const) draft.mapOf(field)
    if (isFromDevice) draft.setIn('context', 'ip', envelope.remoteAddress)
  }
  if (!isTooLarge) draft.set('receivedAt', envelope.receivedAt)

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
    sent: draft.difference,
    warnings,
  }
}

/** Returns the record of an item that is not an object. */
function noMessage(item: unknown, { receivedAt, receivedAtMs, warnings }: Envelope): ReadMessage {
  return {
    reason: 'bad_item',
    kind: null,
    ...textsOf(() => null),
    timestampMs: receivedAtMs,
    integrations: [],
    body: JSON.stringify({ item, receivedAt }),
    sent: { added: [], changed: {}, removed: [] },
    warnings: [...warnings],
  }
}

/** Returns the time of the event, or the time of receipt if the timestamp cannot be read. */
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
    if (timestampMs < EARLIEST_MS || timestampMs > receivedAtMs + FUTURE_MS) warnings.push('timestamp_far')
  } else if (given !== undefined && given !== null) {
    warnings.push('timestamp')
  }
  if (given !== undefined && given !== null) draft.set('originalTimestamp', given)
  draft.set('timestamp', original === undefined ? receivedAt : new Date(timestampMs).toISOString())
  if (sentAt !== undefined && sentAt !== null) draft.set('sentAt', sentAt)
  return timestampMs
}

/** A message on its way from the sent form to the stored form, with a list of the changes. */
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

  /** Ensures that the message has this field as an object, with the keys that it inherits from the batch. */
  complete(field: InheritedField, outer: Readonly<Record<string, unknown>> | undefined): void {
    const own = this.message[field]
    if (!isObject(own)) return this.set(field, { ...outer })
    if (outer === undefined) return
    for (const key of Object.keys(outer)) {
      if (!Object.hasOwn(own, key)) this.difference.added.push(`${field}.${key}`)
    }
    // Spread syntax defines own properties, so a key "__proto__" does not set the prototype.
    this.message[field] = { ...outer, ...own }
  }

  /** An empty list counts as an empty map. */
  mapOf(field: 'properties' | 'traits'): void {
    if (isEmptyList(this.message[field])) this.set(field, {})
  }

  /** Sets a key of a field. {@link Draft.complete} must be called first. */
  setIn(field: InheritedField, key: string, value: unknown): void {
    const own = this.message[field] as Record<string, unknown>
    // A field that the client did not send has no keys of its own.
    if (!this.difference.added.includes(field))
      this.#note(`${field}.${key}`, Object.hasOwn(own, key), own[key], value)
    own[key] = value
  }

  #note(path: string, isThere: boolean, before: unknown, after: unknown): void {
    if (!isThere) this.difference.added.push(path)
    else if (before !== after) this.difference.changed[path] = before
  }
}
