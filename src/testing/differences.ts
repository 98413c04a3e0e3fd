/** One thing in which a value is not as it was expected. */
export interface Difference {
  /** Where it is, such as `properties.items.0.price`. Empty: the value as a whole. */
  readonly path: string
  /** The expected value, as it would have been sent. */
  readonly expected: unknown
  /** The actual value. */
  readonly actual: unknown
}

/** An object of Jest, Vitest, Sinon or Chai that decides by itself what it is equal to, such as `expect.any(Number)`. */
export interface AsymmetricMatcher {
  /** Whether `actual` is what this stands for. */
  asymmetricMatch(actual: never): boolean
}

/** Whether the test runner takes two values for equal, by the testers that a project has added too. */
export type Equals = (actual: unknown, expected: unknown) => boolean

const never: Equals = () => false

/**
 * In what `actual` differs from `expected`, which may be a part of it: what it leaves out, or has as `undefined`, may be
 * anything. Lists must be of the same length. What was expected is compared as it would have been sent, so that a test may
 * compare with what it has passed to the call: `NaN` as `null`, a `Date` as text, a `Map` as an object without anything in it.
 *
 * @param equals Asked for each value first; what it takes for equal is no difference.
 */
export function differences(
  expected: unknown,
  actual: unknown,
  equals: Equals = never,
  path = '',
): Difference[] {
  if (expected === undefined || equals(actual, expected)) return []
  if (isAsymmetric(expected)) {
    return expected.asymmetricMatch(actual as never) ? [] : [{ path, expected, actual }]
  }
  const sent = asSent(expected, path.slice(path.lastIndexOf('.') + 1))
  const different = [{ path, expected: sent, actual }]
  if (!isObject(sent) || !isObject(actual)) return Object.is(sent, actual) ? [] : different
  if (Array.isArray(sent) !== Array.isArray(actual)) return different
  if (Array.isArray(sent) && sent.length !== actual['length']) return different
  if (isEmptied(sent) && Object.keys(actual).length > 0) return different
  return Object.keys(sent).flatMap((name) =>
    differences(sent[name], own(actual, name), equals, path === '' ? name : `${path}.${name}`),
  )
}

/** Both sides for a diff: of `actual` only what `expected` asks for, and where the two agree, the same value. */
export function sidesOf(expected: unknown, actual: unknown, equals: Equals = never): [unknown, unknown] {
  if (differences(expected, actual, equals).length === 0) return [actual, actual]
  if (isAsymmetric(expected)) return [expected, actual]
  const sent = asSent(expected, '')
  if (!isObject(sent) || !isObject(actual) || Array.isArray(sent) || Array.isArray(actual))
    return [sent, actual]
  const pairs = Object.keys(sent)
    .filter((name) => sent[name] !== undefined)
    .map((name) => [name, sidesOf(sent[name], own(actual, name), equals)] as const)
  return [
    Object.fromEntries(pairs.map(([name, [side]]) => [name, side])),
    Object.fromEntries(pairs.map(([name, [, side]]) => [name, side])),
  ]
}

/**
 * One level of a value as `JSON.stringify` has it, and a `bigint` as the client writes it. A function stays one, and is found in no
 * message: `{ total: Number }` forgets `expect.any`.
 */
function asSent(value: unknown, name: string): unknown {
  let written = value
  const { toJSON } = Object(value) as { toJSON?: unknown }
  if (typeof toJSON === 'function') written = toJSON.call(value, name)
  if (written instanceof Number || written instanceof String || written instanceof Boolean) {
    written = written.valueOf()
  }
  switch (typeof written) {
    case 'number':
      // Zero too: the message has no sign for it, and a difference that cannot be seen does not help.
      return Number.isFinite(written) ? written + 0 : null
    case 'bigint':
      return String(written)
    default:
      return written
  }
}

/**
 * Whether JSON has nothing of an object that is no literal: a `Map`, a `Set`, an `Error`. A literal `{}` asks for nothing, these must
 * not pass for any object.
 */
export function isEmptied(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  // Literals of any realm: what they inherit from inherits from nothing.
  const isLiteral = prototype === null || Object.getPrototypeOf(prototype) === null
  return !isLiteral && !Array.isArray(value) && Object.keys(value).length === 0
}

function own(value: Record<string, unknown>, name: string): unknown {
  return Object.keys(value).includes(name) ? value[name] : undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

export function isAsymmetric(value: unknown): value is AsymmetricMatcher {
  return isObject(value) && typeof value['asymmetricMatch'] === 'function'
}
