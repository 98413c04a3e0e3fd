import { isNamed } from '../event-key.ts'
import type { Message } from '../record.ts'
import { pathText } from '../search/syntax.ts'

/** Integers are numbers, and dates are texts: neither is another type for the code that reads a property. */
export type ValueType = 'text' | 'number' | 'boolean' | 'list' | 'object' | 'null'

/** A property of an event: where it is, and what it is. */
export interface Field {
  /** As in a search, with elements of lists marked: `properties.items[].id`. */
  path: string
  type: ValueType
  /** The path of the object or list that it is in; '' for a property itself. */
  parent: string
}

/** Where an event comes from. Each may be '': not known. */
export interface Origin {
  version: string
  os: string
  device: string
  library: string
  source: string
}

/** For each part of an origin, where a search finds it. */
export const ORIGIN_FIELDS: Readonly<Record<keyof Origin, string>> = {
  version: 'context.app.version',
  os: 'context.os.name',
  device: 'context.device.type',
  library: 'context.library.name',
  source: 'source',
}

const MAX_DEPTH = 6
/** Elements of a list that are looked at. */
const MAX_ELEMENTS = 20

export function typeOf(value: unknown): ValueType {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  switch (typeof value) {
    case 'string':
      return 'text'
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    default:
      return 'object'
  }
}

type Found = (path: string, type: ValueType, parent: string, value: unknown) => void

/** Calls `found` for each property or trait of the message; more than once for what several elements of a list have. */
export function eachField(kind: string, message: Message, found: Found): void {
  const root = isNamed(kind) ? 'properties' : 'traits'
  const data: unknown = message[root]
  if (data !== undefined && typeOf(data) === 'object') visitObject(data as object, root, '', 1, found)
}

function visitObject(data: object, path: string, parent: string, depth: number, found: Found): void {
  for (const key of Object.keys(data)) {
    visit((data as Record<string, unknown>)[key], `${path}.${plainKey(key)}`, parent, depth, found)
  }
}

const PLAIN = /^[A-Za-z_$][\w$-]*$/

function plainKey(key: string): string {
  return PLAIN.test(key) ? key : pathText([key])
}

function visit(value: unknown, path: string, parent: string, depth: number, found: Found): void {
  const type = typeOf(value)
  found(path, type, parent, value)
  if (depth >= MAX_DEPTH) return
  if (type === 'object') visitObject(value as object, path, path, depth + 1, found)
  else if (type === 'list') {
    const list = value as unknown[]
    for (let i = 0; i < list.length && i < MAX_ELEMENTS; i++) {
      visit(list[i], `${path}[]`, path, depth + 1, found)
    }
  }
}

export function originOf(message: Message, source: string): Origin {
  const context: unknown = message.context
  return {
    version: textAt(context, 'app', 'version'),
    os: textAt(context, 'os', 'name'),
    device: textAt(context, 'device', 'type'),
    library: textAt(context, 'library', 'name'),
    source,
  }
}

function textAt(value: unknown, ...keys: string[]): string {
  let at = value
  for (const key of keys) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return ''
    at = (at as Record<string, unknown>)[key]
  }
  return typeof at === 'string' ? at : typeof at === 'number' ? String(at) : ''
}
