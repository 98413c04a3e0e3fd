import { DeliveryError } from '../errors/errors.ts'
import { createMessageId, isMessageId, MESSAGE_ID_LIMIT } from './message-id.ts'
import { isoTime, toIsoTime } from './timestamp.ts'
import type { EventProperties, Kind, Message } from './types.ts'

/** What the client adds to every message. */
export interface MessageStamp {
  readonly library: { name: string; version: string }
  readonly metadata: Message['_metadata']
}

type Fields = Record<string, unknown>

/**
 * Builds the message of one call. Reads each field of `params` once, top level only: what lies inside
 * `properties`, `traits`, `context` and `integrations` is taken by the serialiser. Unknown fields are left out.
 *
 * @param nowMs The time of the call, milliseconds since the epoch.
 * @throws DeliveryError `invalid` when a field is missing or of the wrong type; whatever a getter throws.
 * @see spec.md, section 1
 */
export function buildMessage(kind: Kind, params: unknown, stamp: MessageStamp, nowMs: number): Message {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) {
    throw invalid(`${kind}: expected an object, got ${describe(params)}`)
  }
  const fields = params as Fields
  const userId = readId(fields, 'userId')
  const anonymousId = kind === 'alias' ? undefined : readId(fields, 'anonymousId')
  if (kind === 'alias') requireId(userId, 'userId')
  else if (userId === undefined && anonymousId === undefined) {
    throw invalid(`${kind}: expected userId or anonymousId, got neither`)
  }

  const context = readObject(fields, 'context')
  const named = kind === 'page' || kind === 'screen'
  const category = named ? readText(fields, 'category') : undefined
  return {
    type: kind,
    messageId: readMessageId(fields['messageId']),
    timestamp: readTimestamp(fields['timestamp'], nowMs),
    userId,
    anonymousId,
    previousId: kind === 'alias' ? requireId(readId(fields, 'previousId'), 'previousId') : undefined,
    groupId: kind === 'group' ? requireId(readId(fields, 'groupId'), 'groupId') : undefined,
    event: kind === 'track' ? readEventName(fields['event']) : undefined,
    name: named ? readText(fields, 'name') : undefined,
    category,
    properties: readProperties(kind, fields, category),
    traits: kind === 'identify' || kind === 'group' ? (readObject(fields, 'traits') ?? {}) : undefined,
    // Spread, not Object.assign: an own `__proto__` key of the caller's stays plain data.
    context: context === undefined ? { library: stamp.library } : { ...context, library: stamp.library },
    integrations: (readObject(fields, 'integrations') ?? {}) as Message['integrations'],
    _metadata: stamp.metadata,
  }
}

function readProperties(
  kind: Kind,
  fields: Fields,
  category: string | undefined,
): EventProperties | undefined {
  if (kind !== 'track' && kind !== 'page' && kind !== 'screen') return undefined
  const properties = readObject(fields, 'properties')
  if (kind === 'page' && category !== undefined) return { ...properties, category }
  return properties ?? {}
}

function readId(fields: Fields, name: string): string | undefined {
  const value = fields[name]
  if (typeof value === 'string') return value === '' ? undefined : value
  if (value === undefined || value === null) return undefined
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))) return String(value)
  throw invalid(`${name}: expected a string or a finite number, got ${describe(value)}`)
}

function requireId(id: string | undefined, name: string): string {
  if (id === undefined) throw invalid(`${name}: expected a non-empty string, got none`)
  return id
}

function readEventName(value: unknown): string {
  if (typeof value !== 'string' || value === '') {
    throw invalid(`event: expected a non-empty string, got ${describe(value)}`)
  }
  return value
}

function readText(fields: Fields, name: string): string | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw invalid(`${name}: expected a string, got ${describe(value)}`)
  return value
}

function readObject(fields: Fields, name: string): Record<string, unknown> | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  if (!isPlainObject(value)) throw invalid(`${name}: expected a plain object, got ${describe(value)}`)
  return value
}

function readMessageId(value: unknown): string {
  if (value === undefined || value === null) return createMessageId()
  if (isMessageId(value)) return value
  throw invalid(
    `messageId: expected 1 to ${MESSAGE_ID_LIMIT - 1} characters without control characters, got ${describe(value)}`,
  )
}

function readTimestamp(value: unknown, nowMs: number): string {
  if (value === undefined || value === null) return isoTime(nowMs)
  const time = toIsoTime(value)
  if (time === undefined) {
    throw invalid(`timestamp: expected a valid Date, ISO-8601 text or milliseconds, got ${describe(value)}`)
  }
  return time
}

/** An object literal or one without a prototype, of any realm; no class instance, array, Map or Date. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return true
  // Another realm's Object.prototype is the one that has no prototype itself; arrays have one more step.
  return Object.getPrototypeOf(prototype) === null && !Array.isArray(value)
}

function invalid(message: string): DeliveryError {
  return new DeliveryError('invalid', message)
}

/** The type of a value, for messages: never the value itself, which may be anybody's data. */
function describe(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (value === '') return 'an empty string'
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : 'a Date'
  return typeof value
}
