import { isRecord } from '../message/describe.ts'

export interface Difference {
  /** The path, such as `properties.items.0.price`. Empty for the value as a whole. */
  readonly path: string
  readonly expected: unknown
  readonly actual: unknown
}

/** An asymmetric matcher of Jest, Vitest, Sinon or Chai, such as `expect.any(Number)`. */
export interface AsymmetricMatcher {
  /** Whether `actual` matches. */
  asymmetricMatch(actual: never): boolean
}

/** As in `toMatchObject`. */
export type Matches = (actual: unknown, expected: unknown) => boolean

/**
 * What `toMatchObject` does with parsed JSON, for tests without Jest or Vitest: each key of `expected` must be there, with a value
 * that matches; lists have the same length.
 */
export const isPart: Matches = (actual, expected) => {
  if (isAsymmetric(expected)) return expected.asymmetricMatch(actual as never)
  const names = namesToCompare(expected, actual)
  if (names === undefined) return Object.is(actual, expected)
  return names.every((name) => has(actual, name) && isPart(own(actual, name), own(expected, name)))
}

export function differences(
  expected: unknown,
  actual: unknown,
  matches: Matches = isPart,
  path = '',
): Difference[] {
  if (matches(actual, expected)) return []
  const inner = (namesToCompare(expected, actual) ?? []).flatMap((name) => {
    const innerPath = path === '' ? name : `${path}.${name}`
    const [value, part] = [own(actual, name), own(expected, name)]
    if (!has(actual, name)) return [{ path: innerPath, expected: part, actual: value }]
    return differences(part, value, matches, innerPath)
  })
  return inner.length > 0 ? inner : [{ path, expected, actual }]
}

export function isAsymmetric(value: unknown): value is AsymmetricMatcher {
  return typeof (value as { asymmetricMatch?: unknown } | null)?.asymmetricMatch === 'function'
}

/** Whether `value` is an object, such as a `Map`, that is not compared by its keys. Parsed JSON has none. */
export function isOpaque(value: unknown): boolean {
  return isObject(value) && !isRecord(value) && !Array.isArray(value)
}

/** `undefined` if the two values can only be compared as a whole. */
function namesToCompare(expected: unknown, actual: unknown): string[] | undefined {
  if (!isObject(expected) || !isObject(actual) || isAsymmetric(expected) || isOpaque(expected))
    return undefined
  if (Array.isArray(expected) !== Array.isArray(actual)) return undefined
  if (!Array.isArray(expected)) return Object.keys(expected)
  return expected.length === actual['length'] ? Array.from(expected.keys(), String) : undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function has(value: unknown, name: string): boolean {
  // Node.js 16.0 has no Object.hasOwn.
  return Object.getOwnPropertyDescriptor(value, name) !== undefined
}

function own(value: unknown, name: string): unknown {
  return has(value, name) ? (value as Record<string, unknown>)[name] : undefined
}
