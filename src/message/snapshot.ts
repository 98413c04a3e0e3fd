import { DeliveryError } from '../errors/errors.ts'
import { setOwn } from './merge.ts'

export const CIRCULAR = '[Circular]'
export const THROWS = '[Throws]'

/** Deeper than any real event, but not so deep that the stack overflows. */
const MAX_DEPTH = 500
const DEFAULT_LIMIT = 32_768

interface State {
  /** Bytes of JSON. Also limits the number of values and the length of each string, so that a huge event is refused before it is copied. */
  readonly limit: number
  /** The objects that contain the object being copied, outermost first. */
  readonly ancestors: object[]
  values: number
}

/**
 * Makes a deep copy of `value` as plain data that gives the same JSON. Dates stay Dates. Where `JSON.stringify` would throw, a BigInt
 * becomes its decimal string, a circular reference `"[Circular]"`, and a property that throws `"[Throws]"`. An error of the `toJSON` of
 * `value` itself is thrown.
 *
 * @param limit In bytes of JSON. Default: 32,768.
 * @throws DeliveryError with the code `unserializable` for more than 500 levels; `too_large` over the limit.
 */
export function snapshot(value: unknown, limit = DEFAULT_LIMIT): unknown {
  return copy(value, '', { limit, ancestors: [], values: 0 })
}

function copy(value: unknown, key: string | number, state: State): unknown {
  count(state)
  const type = typeof value
  if (value === null || (type !== 'object' && type !== 'function' && type !== 'bigint')) {
    return copyAsIs(value, state)
  }
  // Each byte becomes several characters; each number of 8 bytes at least 4.
  if (ArrayBuffer.isView(value) && value.byteLength > 2 * state.limit) {
    throw new DeliveryError('too_large', `an array of ${value.byteLength} bytes`)
  }
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON !== 'function') return copyAsIs(value, state)
  if (toJSON === Date.prototype.toJSON && isPlainDate(value)) return new Date(value.getTime())
  // As in `JSON.stringify`, a `toJSON` of the result is not called.
  return copyAsIs(toJSON.call(value, String(key)), state)
}

/** A subclass or an own property might override `toISOString`, which `toJSON` calls. */
function isPlainDate(value: unknown): value is Date {
  if (!(value instanceof Date) || Object.getPrototypeOf(value) !== Date.prototype) return false
  return Object.getOwnPropertyNames(value).length === 0
}

function count(state: State): void {
  if (++state.values > state.limit) throw new DeliveryError('too_large', `more than ${state.limit} values`)
}

function copyAsIs(value: unknown, state: State): unknown {
  if (isFinal(value, state)) return value
  switch (typeof value) {
    case 'string':
      throw new DeliveryError('too_large', `a text of ${value.length} characters`)
    case 'bigint':
      return String(value)
    case 'object':
      return descend(value as object, state)
    default:
      return undefined
  }
}

function descend(value: object, state: State): unknown {
  const { ancestors } = state
  if (ancestors.includes(value)) return CIRCULAR
  if (ancestors.length >= MAX_DEPTH) {
    throw new DeliveryError('unserializable', `more than ${MAX_DEPTH} levels deep`)
  }
  ancestors.push(value)
  const copied = copyContents(value, state)
  ancestors.pop()
  return copied
}

function copyContents(value: object, state: State): unknown {
  if (Array.isArray(value)) return copyArray(value, state)
  const prototype = Object.getPrototypeOf(value)
  const isLiteral = prototype === Object.prototype || prototype === null
  if (!isLiteral) return unbox(value) ?? copyByKey(value, state)
  return copyLiteral(value, state) ?? copyByKey(value, state)
}

function copyArray(value: readonly unknown[], state: State): unknown[] {
  const list: unknown[] = []
  for (let index = 0; index < value.length; index++) list.push(copyProperty(value, index, state))
  return list
}

/** Without calling a `valueOf` of its own. */
function unbox(value: object): string | number | boolean | undefined {
  if (value instanceof Number) return Number.prototype.valueOf.call(value)
  if (value instanceof String) return String.prototype.valueOf.call(value)
  return value instanceof Boolean ? Boolean.prototype.valueOf.call(value) : undefined
}

/** Several times faster than key by key. `undefined` when a getter throws. */
function copyLiteral(value: object, state: State): Record<string, unknown> | undefined {
  let plain: Record<string, unknown>
  try {
    // Spread defines properties and runs no setters, so an own `__proto__` stays plain data.
    plain = { ...value }
  } catch {
    return undefined
  }
  for (const symbol of Object.getOwnPropertySymbols(plain)) delete (plain as Record<symbol, unknown>)[symbol]
  for (const key of Object.keys(plain)) {
    const item = plain[key]
    if (isFinal(item, state)) count(state)
    else plain[key] = copyItem(item, key, state)
  }
  return plain
}

function isFinal(value: unknown, { limit }: State): boolean {
  switch (typeof value) {
    case 'string':
      return value.length <= limit
    case 'number':
    case 'boolean':
    case 'undefined':
      return true
    default:
      return value === null
  }
}

function copyByKey(value: object, state: State): Record<string, unknown> {
  const plain: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const copied = copyProperty(value, key, state)
    if (copied === undefined) continue
    setOwn(plain, key, copied)
  }
  return plain
}

/** If reading it throws, only this property is lost. */
function copyProperty(holder: object, key: string | number, state: State): unknown {
  let item: unknown
  try {
    item = (holder as Record<string | number, unknown>)[key]
  } catch {
    return THROWS
  }
  if (!isFinal(item, state)) return copyItem(item, key, state)
  count(state)
  return item
}

function copyItem(item: unknown, key: string | number, state: State): unknown {
  const depth = state.ancestors.length
  try {
    return copy(item, key, state)
  } catch (error) {
    if (error instanceof DeliveryError) throw error
    state.ancestors.length = depth
    return THROWS
  }
}
