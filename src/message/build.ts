import { DeliveryError } from '../errors/errors.ts'
import { isInstance } from '../errors/guard.ts'
import { platform } from '../runtime/platform.node.ts'
import { dateMs, describe, isRecord } from './describe.ts'
import { mergeDeep } from './merge.ts'
import { isMessageId, MESSAGE_ID_LIMIT } from './message-id.ts'
import type { EventProperties } from './shapes.ts'
import { snapshot, THROWS } from './snapshot.ts'
import type { Kind, Message } from './types.ts'

/** The parts that the client adds to every message. */
export interface MessageStamp {
  readonly library: { name: string; version: string }
  readonly metadata: Message['_metadata']
}

/** The fields of a `Scope`, not yet checked. */
export interface MessageDefaults {
  readonly userId?: unknown
  readonly anonymousId?: unknown
  readonly context?: unknown
  readonly integrations?: unknown
  readonly timestamp?: unknown
}

type Fields = Record<string, unknown>
type ToJSON = (this: unknown, key: string) => unknown

/**
 * Builds the message of one call. Reads each top-level field of `params` once. Leaves out unknown fields, and fields from a
 * polluted `Object.prototype`.
 *
 * @param nowMs The time of the call in milliseconds since the epoch; NaN when the clock cannot be read.
 * @throws DeliveryError with the code `invalid` when a field is missing or has the wrong type; any error that a getter throws.
 * @see docs/spec.md, section 1
 */
export function buildMessage(
  kind: Kind,
  params: unknown,
  stamp: MessageStamp,
  nowMs: number,
  defaults?: MessageDefaults,
): Message {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) {
    throw new DeliveryError('invalid', `${kind}: expected an object, got ${describe(params)}`)
  }
  const fields = params as Fields
  const userId = readIdentity(kind, fields, 'userId', defaults)
  const anonymousId = kind === 'alias' ? undefined : readIdentity(kind, fields, 'anonymousId', defaults)
  if (kind === 'alias') requireId(kind, userId, 'userId')
  else if (userId === undefined && anonymousId === undefined) {
    throw new DeliveryError('invalid', `${kind}: expected userId or anonymousId, got neither`)
  }

  const context = readMerged(kind, fields, 'context', defaults)
  const isNamed = kind === 'page' || kind === 'screen'
  const category = isNamed ? readText(kind, fields, 'category') : undefined
  return {
    type: kind,
    messageId: readMessageId(kind, fields),
    timestamp: readTimestamp(kind, readField(fields, 'timestamp') ?? readField(defaults, 'timestamp'), nowMs),
    userId,
    anonymousId,
    previousId: kind === 'alias' ? readRequiredId(kind, fields, 'previousId') : undefined,
    groupId: kind === 'group' ? readRequiredId(kind, fields, 'groupId') : undefined,
    event: kind === 'track' ? readEventName(kind, fields) : undefined,
    name: isNamed ? readText(kind, fields, 'name') : undefined,
    category,
    properties: readProperties(kind, fields, category),
    traits: kind === 'identify' || kind === 'group' ? (readObject(kind, fields, 'traits') ?? {}) : undefined,
    context: extend(context, { library: stamp.library }) as Message['context'],
    integrations: (readMerged(kind, fields, 'integrations', defaults) ?? {}) as Message['integrations'],
    _metadata: stamp.metadata,
  }
}

function readProperties(
  kind: Kind,
  fields: Fields,
  category: string | undefined,
): EventProperties | undefined {
  if (kind !== 'track' && kind !== 'page' && kind !== 'screen') return undefined
  const properties = readObject(kind, fields, 'properties')
  if (kind === 'page' && category !== undefined) return extend(properties, { category })
  return properties ?? {}
}

/** Adds keys to a copy of `base`. If a getter throws, the keys are added to a {@link snapshot} of `base`. */
function extend(base: Fields | undefined, keys: Fields): Fields {
  try {
    // Spread copies an own `__proto__` key as plain data; `Object.assign` would set the prototype.
    return { ...base, ...keys }
  } catch {
    try {
      return { ...(snapshot(base) as Fields), ...keys }
    } catch (error) {
      if (isInstance(error, DeliveryError)) throw error
      return keys
    }
  }
}

function readField(fields: object = {}, name: string): unknown {
  const value = (fields as Fields)[name]
  if (value === undefined || !(name in Object.prototype)) return value
  return Object.getOwnPropertyDescriptor(fields, name) === undefined ? undefined : value
}

function readId(kind: Kind, fields: Fields, name: string): string | undefined {
  const value = readField(fields, name)
  if (typeof value === 'string') {
    if (value === '') return undefined
    const first = value.charCodeAt(0)
    // Most ids start with a visible ASCII character: this check is cheaper than trim().
    if ((first > 0x20 && first < 0x7f) || value.trim() !== '') return value
    throw invalid(kind, name, 'a non-empty string', value)
  }
  if (value === undefined || value === null) return undefined
  if (isTextual(value)) return String(value)
  throw invalid(kind, name, 'a string or a finite number', value)
}

function readIdentity(
  kind: Kind,
  fields: Fields,
  name: 'userId' | 'anonymousId',
  defaults: MessageDefaults | undefined,
): string | undefined {
  const own = readId(kind, fields, name)
  return own === undefined && defaults !== undefined ? readId(kind, defaults as Fields, name) : own
}

function readRequiredId(kind: Kind, fields: Fields, name: string): string {
  return requireId(kind, readId(kind, fields, name), name)
}

function requireId(kind: Kind, id: string | undefined, name: string): string {
  if (id !== undefined) return id
  throw new DeliveryError('invalid', `${kind}: ${name}: expected a non-empty string, got none`)
}

function readEventName(kind: Kind, fields: Fields): string {
  const value = readField(fields, 'event')
  if (typeof value === 'string' && value !== '') return value
  throw invalid(kind, 'event', 'a non-empty string', value)
}

function readText(kind: Kind, fields: Fields, name: string): string | undefined {
  const value = readField(fields, name)
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return undefined
  if (isTextual(value)) return String(value)
  throw invalid(kind, name, 'a string', value)
}

/** Whether `value` is a number that may be used as a string. */
function isTextual(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))
}

function readMerged(
  kind: Kind,
  fields: Fields,
  name: 'context' | 'integrations',
  defaults: MessageDefaults | undefined,
): Fields | undefined {
  const own = readObject(kind, fields, name)
  if (defaults === undefined) return own
  const base = readObject(kind, defaults as Fields, name)
  if (base === undefined || own === undefined) return own ?? base
  try {
    return mergeDeep(base, own)
  } catch {
    return own
  }
}

/** A fast check before `isRecord`, because most callers pass a literal. */
function isLiteral(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function readObject(kind: Kind, fields: Fields, name: string): Fields | undefined {
  const value = readField(fields, name)
  if (value === undefined || value === null) return undefined
  try {
    if (!isLiteral(value) && !isRecord(value)) throw invalid(kind, name, 'an object', value)
    const { toJSON } = value
    return typeof toJSON === 'function' ? resolve(kind, value, name, toJSON as ToJSON) : value
  } catch (error) {
    if (isInstance(error, DeliveryError)) throw error
    // `toJSON`, its getter or a proxy throws. An object is sent, because services refuse events in which this field is a text.
    return { toJSON: THROWS }
  }
}

function resolve(kind: Kind, value: Fields, name: string, toJSON: ToJSON): Fields | undefined {
  let result: unknown
  try {
    result = toJSON.call(value, name)
  } catch {
    result = { toJSON: THROWS }
  }
  if (result === undefined || result === null) return undefined
  if (!isRecord(result)) throw invalid(kind, name, 'an object', result, ' from its toJSON()')
  // `JSON.stringify` calls `toJSON` only once. The message is stringified later, so a second `toJSON`, in the result of the
  // first, is removed: it would be called then.
  return typeof result['toJSON'] === 'function' ? { ...result, toJSON: undefined } : result
}

function readMessageId(kind: Kind, fields: Fields): string {
  const value = readField(fields, 'messageId')
  // `platform` is not read when this module is loaded: with code splitting, this module may run before the platform module.
  if (value === undefined || value === null) return platform.randomId()
  if (isMessageId(value)) return value
  const expected = `1 to ${MESSAGE_ID_LIMIT - 1} characters without control characters`
  throw invalid(kind, 'messageId', expected, value)
}

function readTimestamp(kind: Kind, value: unknown, nowMs: number): string {
  if (value === undefined || value === null) {
    if (Math.abs(nowMs) <= LATEST_MS) return isoTime(nowMs)
    throw new DeliveryError(
      'invalid',
      `${kind}: timestamp: the clock of this process (Date.now) shows no time`,
    )
  }
  const time = toIsoTime(value)
  if (time === undefined) {
    const expected = 'a valid Date, ISO-8601 text or milliseconds'
    if (typeof value !== 'string' || value.trim() === '') throw invalid(kind, 'timestamp', expected, value)
    const isForm = ISO_DATE_TIME.test(value)
    const fault = isForm ? ' with a day or time that does not exist' : ' in another form'
    throw invalid(kind, 'timestamp', expected, value, fault)
  }
  return time
}

/** @param fault Appended after the type of the value. */
function invalid(kind: Kind, name: string, expected: string, value: unknown, fault = ''): DeliveryError {
  return new DeliveryError(
    'invalid',
    `${kind}: ${name}: expected ${expected}, got ${describe(value)}${fault}`,
  )
}

/** A calendar date with or without a time of day, in the form of RFC 3339 or ISO 8601. */
const ISO_DATE_TIME =
  /^([+-]?\d{4,6})-(\d\d)(?:-(\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?)?$/i

/** The latest time that a Date can have (ECMA-262, section 21.4.1.1). Beyond it, `toISOString` throws. */
const LATEST_MS = 8.64e15

let cachedMs = Number.NaN
let cachedText = ''

/** Caches the last result, because many calls fall into the same millisecond. */
export function isoTime(ms: number): string {
  if (ms !== cachedMs) {
    cachedText = new Date(ms).toISOString()
    cachedMs = ms
  }
  return cachedText
}

/** The milliseconds since the epoch for a text from {@link isoTime} or {@link toIsoTime}. */
export function msOf(text: string): number {
  return text === cachedText ? cachedMs : Date.parse(text)
}

/** Converts a `Timestamp` to ISO 8601 in UTC. Returns `undefined` for any other value. */
export function toIsoTime(value: unknown): string | undefined {
  let ms: number | undefined
  if (typeof value === 'number') ms = value
  else if (typeof value === 'string') ms = parseIsoTime(value)
  else ms = dateMs(value)
  if (ms === undefined) return undefined
  return Math.abs(ms) <= LATEST_MS ? new Date(ms).toISOString() : undefined
}

function parseIsoTime(text: string): number {
  const [, year, month, day = '01'] = ISO_DATE_TIME.exec(text) ?? []
  // The last day of a month is day 0 of the next month. The check is needed because `Date.parse` reads 30 February as 2 March.
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  return Number(day) <= lastDay ? Date.parse(text.replace(',', '.')) : Number.NaN
}
