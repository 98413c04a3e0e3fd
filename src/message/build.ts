import { DeliveryError } from '../errors/errors.ts'
import { platform } from '../runtime/platform.node.ts'
import { dateMs, describe, isRecord } from './describe.ts'
import { isMessageId } from './message-id.ts'
import type { EventProperties } from './shapes.ts'
import { snapshot } from './snapshot.ts'
import type { ContextEvent, Kind, Message } from './types.ts'

export interface MessageStamp {
  readonly library: { name: string; version: string }
  readonly metadata: Message['_metadata']
}

type Fields = Record<string, unknown>

/**
 * Reads each top-level field of `params` once, and leaves out unknown fields.
 *
 * @throws DeliveryError with the code `invalid`; any error that a getter or a `toJSON` throws.
 * @see docs/spec.md, section 1
 */
export function buildMessage(kind: Kind, params: unknown, stamp: MessageStamp, nowMs: number): Message {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) {
    throw new DeliveryError('invalid', `${kind}: expected an object, got ${describe(params)}`)
  }
  const fields = params as Fields
  const userId = readId(kind, fields, 'userId')
  const anonymousId = kind === 'alias' ? undefined : readId(kind, fields, 'anonymousId')
  if (kind === 'alias') requireId(kind, userId, 'userId')
  else requireIdentity(kind, userId, anonymousId)

  const context = readObject(kind, fields, 'context')
  const isNamed = kind === 'page' || kind === 'screen'
  const category = isNamed ? readText(kind, fields, 'category') : undefined
  return {
    type: kind,
    messageId: readMessageId(kind, fields),
    timestamp: readTimestamp(kind, fields['timestamp'], nowMs),
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
    integrations: (readObject(kind, fields, 'integrations') ?? {}) as Message['integrations'],
    _metadata: stamp.metadata,
  }
}

/**
 * Checks an event that has left the plugins like {@link buildMessage}, and returns it as it is sent, with the fields that plugins have
 * added.
 */
export function checkMessage(kind: Kind, event: ContextEvent): Message {
  const fields: Fields = { ...event, type: kind }
  if (typeof fields['toJSON'] === 'function') fields['toJSON'] = undefined
  try {
    const userId = change(fields, 'userId', readId(kind, fields, 'userId'))
    const anonymousId = change(fields, 'anonymousId', readId(kind, fields, 'anonymousId'))
    if (kind === 'alias') requireId(kind, userId, 'userId')
    else requireIdentity(kind, userId, anonymousId)
    if (kind === 'alias') change(fields, 'previousId', readRequiredId(kind, fields, 'previousId'))
    if (kind === 'group') change(fields, 'groupId', readRequiredId(kind, fields, 'groupId'))
    if (kind === 'track') readEventName(kind, fields)
    if (!isMessageId(fields['messageId'])) throw invalid(kind, 'messageId', MESSAGE_ID, fields['messageId'])
    // Without a timestamp, the service takes the time of the request.
    const timestamp = fields['timestamp'] ?? undefined
    fields['timestamp'] = timestamp === undefined ? undefined : readTimestamp(kind, timestamp, Number.NaN)
    for (const name of OBJECTS) change(fields, name, readObject(kind, fields, name))
  } catch (error) {
    if (!(error instanceof DeliveryError)) throw error
    throw new DeliveryError(error.code, `a plugin has changed the event: ${error.message}`)
  }
  return fields as unknown as Message
}

const OBJECTS = ['properties', 'traits', 'context', 'integrations']

/** Most plugins leave most fields as they are. */
function change<Value>(fields: Fields, name: string, value: Value): Value {
  if (fields[name] !== value) fields[name] = value
  return value
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
    return { ...(snapshot(base) as Fields), ...keys }
  }
}

function readId(kind: Kind, fields: Fields, name: string): string | undefined {
  const value = fields[name]
  if (typeof value === 'string') {
    if (value === '') return undefined
    if (isBlank(value)) throw invalid(kind, name, 'a non-empty string', value)
    return value
  }
  if (value === undefined || value === null) return undefined
  if (isTextual(value)) return String(value)
  throw invalid(kind, name, 'a string or a finite number', value)
}

function isBlank(text: string): boolean {
  const first = text.charCodeAt(0)
  // Most texts start with a visible ASCII character: this check is cheaper than trim().
  return !(first > 0x20 && first < 0x7f) && text.trim() === ''
}

function requireIdentity(kind: Kind, userId: string | undefined, anonymousId: string | undefined): void {
  if (userId !== undefined || anonymousId !== undefined) return
  throw new DeliveryError('invalid', `${kind}: expected userId or anonymousId, got neither`)
}

function readRequiredId(kind: Kind, fields: Fields, name: string): string {
  return requireId(kind, readId(kind, fields, name), name)
}

function requireId(kind: Kind, id: string | undefined, name: string): string {
  if (id !== undefined) return id
  throw new DeliveryError('invalid', `${kind}: ${name}: expected a non-empty string, got none`)
}

function readEventName(kind: Kind, fields: Fields): string {
  const { event: value } = fields
  if (typeof value === 'string' && !isBlank(value)) return value
  throw invalid(kind, 'event', 'a non-empty string', value)
}

function readText(kind: Kind, fields: Fields, name: string): string | undefined {
  const value = fields[name]
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return undefined
  if (isTextual(value)) return String(value)
  throw invalid(kind, name, 'a string', value)
}

function isTextual(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))
}

function readObject(kind: Kind, fields: Fields, name: string): Fields | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  if (!isRecord(value)) throw invalid(kind, name, 'an object', value)
  const { toJSON } = value
  if (typeof toJSON !== 'function') return value
  const result = callToJSON(name, value, toJSON as ToJSON)
  if (result === undefined || result === null) return undefined
  if (!isRecord(result)) throw invalid(kind, name, 'an object', result, ' from its toJSON()')
  // `JSON.stringify` calls `toJSON` only once. The message is stringified later, so a second `toJSON`, in the result of the
  // first, is removed: it would be called then.
  return typeof result['toJSON'] === 'function' ? { ...result, toJSON: undefined } : result
}

type ToJSON = (this: unknown, key: string) => unknown

function callToJSON(name: string, value: Fields, toJSON: ToJSON): unknown {
  try {
    return toJSON.call(value, name)
  } catch (cause) {
    // Services refuse events in which this field is not an object, so it cannot be replaced by a mark.
    throw new DeliveryError('unserializable', `${name}: its toJSON throws`, { cause })
  }
}

function readMessageId(kind: Kind, fields: Fields): string {
  const { messageId: value } = fields
  // `platform` is not read when this module is loaded: with code splitting, this module may run before the platform module.
  if (value === undefined || value === null) return platform.randomId()
  if (isMessageId(value)) return value
  throw invalid(kind, 'messageId', MESSAGE_ID, value)
}

const MESSAGE_ID = '1 to 99 characters without control characters'

function readTimestamp(kind: Kind, value: unknown, nowMs: number): string {
  if (value === undefined || value === null) return isoTime(nowMs)
  if (typeof value === 'number') checkNumber(kind, value, Number.isNaN(nowMs) ? Date.now() : nowMs)
  const time = toIsoTime(value)
  if (time === undefined) {
    const expected = 'a valid Date, ISO-8601 text or milliseconds'
    if (typeof value !== 'string' || value.trim() === '') throw invalid(kind, 'timestamp', expected, value)
    const isForm = ISO_DATE_TIME.test(value)
    const fault = isForm ? ' with a time that does not exist' : ' in another form'
    throw invalid(kind, 'timestamp', expected, value, fault)
  }
  return time
}

const YEAR_2000_MS = Date.UTC(2000)
const TEN_YEARS_MS = 315_576_000_000

/** Numbers are often in another unit. A `Date` and ISO text may be of any year. */
function checkNumber(kind: Kind, value: number, nowMs: number): void {
  const isNear = (ms: number): boolean => ms >= YEAR_2000_MS && ms <= nowMs + TEN_YEARS_MS
  if (isNear(value) || !Number.isFinite(value)) return
  const units = { seconds: value * 1e3, microseconds: value / 1e3, nanoseconds: value / 1e6 }
  const [unit] = Object.entries(units).find(([, ms]) => isNear(ms)) ?? []
  const edge = value < YEAR_2000_MS ? 'before 2000-01-01' : 'more than ten years ahead'
  const fault =
    unit === undefined ? ` that is ${edge}; write a Date for such a time` : ` that looks like ${unit}`
  throw invalid(kind, 'timestamp', 'milliseconds since 1970', value, fault)
}

function invalid(kind: Kind, name: string, expected: string, value: unknown, fault = ''): DeliveryError {
  return new DeliveryError(
    'invalid',
    `${kind}: ${name}: expected ${expected}, got ${describe(value)}${fault}`,
  )
}

/** RFC 3339 or ISO 8601; the time of day may be left out. */
const ISO_DATE_TIME =
  /^[+-]?\d{4,6}-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?)?$/i

/** ECMA-262, section 21.4.1.1. */
const LATEST_MS = 8.64e15

let cachedMs = Number.NaN
let cachedText = ''

/** Many calls fall into the same millisecond. */
export function isoTime(ms: number): string {
  if (ms !== cachedMs) {
    cachedText = new Date(ms).toISOString()
    cachedMs = ms
  }
  return cachedText
}

export function msOf(text: string): number {
  return text === cachedText ? cachedMs : Date.parse(text)
}

/** `undefined` for what is not a `Timestamp`. */
export function toIsoTime(value: unknown): string | undefined {
  let ms: number | undefined
  if (typeof value === 'number') ms = value
  else if (typeof value === 'string') ms = parseIsoTime(value)
  else ms = dateMs(value)
  if (ms === undefined) return undefined
  return Math.abs(ms) <= LATEST_MS ? isoTime(ms) : undefined
}

function parseIsoTime(text: string): number {
  return ISO_DATE_TIME.test(text) ? Date.parse(text.replace(',', '.')) : Number.NaN
}
