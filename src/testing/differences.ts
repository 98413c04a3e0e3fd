/** One difference between a value and the expected one. */
export interface Difference {
  /** The path, such as `properties.items.0.price`. Empty: the value as a whole. */
  readonly path: string
  /** The expected value, as it would have been sent. */
  readonly expected: unknown
  /** The actual value. */
  readonly actual: unknown
}

/** An object of Jest, Vitest, Sinon or Chai that decides by itself what it is equal to, such as `expect.any(Number)`. */
export interface AsymmetricMatcher {
  /** Whether `actual` is a match. */
  asymmetricMatch(actual: never): boolean
}

/** Whether two values are equal for the test runner, including the equality testers that a project has added. */
export type Equals = (actual: unknown, expected: unknown) => boolean

const never: Equals = () => false

/**
 * The differences of `actual` from `expected`. Keys that `expected` leaves out, or has as `undefined`, may have any value.
 * Lists must have the same length. `expected` is compared in the form in which it would have been sent, so that a test can
 * pass the arguments of its call: `NaN` is `null`, a `Date` is text, a `Map` is an empty object.
 *
 * @param equals Called for each value first; values that are equal for it are no difference.
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

/**
 * Both sides for a diff: only the keys of `actual` that `expected` has, and the same value on both sides where they agree.
 */
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
 * One level of a value in the form that `JSON.stringify` gives it, and a `bigint` as the client writes it. A function stays
 * a function, which no message contains, so that `{ total: Number }`, where `expect.any` was forgotten, does not match.
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
      // Turns -0 into 0: JSON has no sign for it, and a difference that cannot be seen does not help.
      return Number.isFinite(written) ? written + 0 : null
    case 'bigint':
      return String(written)
    default:
      return written
  }
}

/**
 * Whether JSON loses the content of an object: a `Map`, a `Set`, an `Error`. An expected
 * literal `{}` matches any object; these must not, although JSON makes `{}` of them.
 */
export function isEmptied(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  // Literals of any realm: their prototype has no prototype.
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
