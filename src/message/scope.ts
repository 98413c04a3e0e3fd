import { isRecord } from './describe.ts'
import { mergeDeep } from './merge.ts'
import type { EventProperties, ExtraContext, Id, Integrations, Timestamp } from './shapes.ts'

/**
 * Defaults for the events of a scope. The values of the call win; `properties`, `context` and `integrations` are merged at every
 * level.
 */
export interface Scope {
  /** Your id for the user. */
  userId?: Id | null | undefined
  /** An id for a visitor whose identity is not known. `alias` ignores this id. */
  anonymousId?: Id | null | undefined
  /** Properties of each `track`, `page` and `screen`. */
  properties?: EventProperties | null | undefined
  /** Facts about the messages, for example `ip` and `userAgent`. */
  context?: ExtraContext | null | undefined
  /** Destination switches. */
  integrations?: Integrations | null | undefined
  /** When the event happened. */
  timestamp?: Timestamp | null | undefined
}

type Fields = Record<string, unknown>

const PARAMS =
  'userId anonymousId previousId groupId event name category properties traits context integrations timestamp messageId'.split(
    ' ',
  )
const IDS = ['userId', 'anonymousId'] as const
const OBJECTS = ['properties', 'context', 'integrations'] as const

/** Into a copy. An empty id is none. */
export function mergeScopes(base: Scope | undefined, over: Scope | undefined): Scope {
  const merged: Fields = { timestamp: over?.timestamp ?? base?.timestamp }
  for (const name of IDS) merged[name] = isNone(over?.[name]) ? base?.[name] : over?.[name]
  for (const name of OBJECTS) merged[name] = mergeObjects(base?.[name], over?.[name])
  return merged as Scope
}

/** Reads each field once. What is not an object stays as it is. */
export function applyScope(scope: Scope, params: unknown): unknown {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return params
  const merged: Fields = {}
  for (const name of PARAMS) merged[name] = (params as Fields)[name]
  merged['timestamp'] ??= scope.timestamp
  for (const name of IDS) if (isNone(merged[name])) merged[name] = scope[name]
  for (const name of OBJECTS) merged[name] = mergeObjects(scope[name], readWritten(name, merged[name]))
  return merged
}

function isNone(id: unknown): boolean {
  return id === undefined || id === null || id === ''
}

/** An object that writes itself is merged as it is written. */
function readWritten(name: string, value: unknown): unknown {
  if (!isRecord(value) || typeof value['toJSON'] !== 'function') return value
  return (value as { toJSON(key: string): unknown }).toJSON(name)
}

/** A value that cannot be merged stays as it is: the validation of the event then reports the value. */
function mergeObjects(base: unknown, over: unknown): unknown {
  if (over === undefined || over === null) return base
  if (!isRecord(over)) return over
  try {
    return mergeDeep(isRecord(base) ? base : {}, over)
  } catch {
    // A getter throws: the event is written without it, and without the scope.
    return over
  }
}
