import { isDeepStrictEqual } from 'node:util'
import { isObject } from './json.ts'

/**
 * Sets the value at a path, and makes the objects on the way. Keys such as `__proto__` are ordinary data.
 *
 * @returns Whether another value was replaced; `blocked` if a part of the path has a value that is no object.
 */
export function put(
  target: Record<string, unknown>,
  path: readonly string[],
  value: unknown,
): boolean | 'blocked' {
  let at = target
  for (const part of path.slice(0, -1)) {
    let next = Object.hasOwn(at, part) ? at[part] : undefined
    if (next === undefined || next === null) {
      next = {}
      define(at, part, next)
    }
    if (!isObject(next)) return 'blocked'
    at = next as Record<string, unknown>
  }
  const key = path.at(-1) as string
  const before = Object.hasOwn(at, key) ? at[key] : undefined
  define(at, key, value)
  return before !== undefined && before !== null && !isSame(before, value)
}

/** Returns the value at a path, or of the key that is the whole text. */
export function valueAt(fields: object, source: string): unknown {
  if (Object.hasOwn(fields, source)) return (fields as Record<string, unknown>)[source]
  let value: unknown = fields
  for (const part of source.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return value
}

/** Returns a copy without the value at a path, and without the objects that are empty then. An array stays whole. */
export function without(fields: object, path: readonly string[]): Record<string, unknown> {
  const copy = { ...fields } as Record<string, unknown>
  const [key = '', ...rest] = path
  const inner = Object.hasOwn(copy, key) ? copy[key] : undefined
  if (rest.length === 0) delete copy[key]
  else if (isObject(inner)) {
    const left = without(inner, rest)
    if (Object.keys(left).length === 0 && Object.keys(inner).length > 0) delete copy[key]
    else define(copy, key, left)
  }
  return copy
}

function define(object: Record<string, unknown>, key: string, value: unknown): void {
  // An assignment to this key would set the prototype.
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  else object[key] = value
}

export function isSame(one: unknown, other: unknown): boolean {
  return one === other || isDeepStrictEqual(one, other)
}
