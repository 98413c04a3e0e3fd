export interface Difference {
  /** The path, such as `properties.items.0.price`. Empty for the value as a whole. */
  readonly path: string
  /** The expected value, as it would have been sent. */
  readonly expected: unknown
  readonly actual: unknown
}

/** An asymmetric matcher of Jest, Vitest, Sinon or Chai, such as `expect.any(Number)`. */
export interface AsymmetricMatcher {
  /** Whether `actual` matches. */
  asymmetricMatch(actual: never): boolean
}

/** The equality of the test runner, including the equality testers that a project has added. */
export type Equals = (actual: unknown, expected: unknown) => boolean

const never: Equals = () => false

/**
 * Finds the differences between `actual` and `expected`. Keys that are missing or `undefined` in `expected` may have any value.
 * Arrays must have the same length. `expected` is first converted to the form in which it would have been sent, so that a test
 * can pass the arguments of its call: `NaN` becomes `null`, a `Date` becomes text, a `Map` becomes an empty object.
 *
 * @param equals Called first for each pair of values. If it returns `true`, there is no difference.
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
 * Returns the two values for a diff, with only those keys of `actual` that `expected` has. Where the values agree, both sides
 * get the same value.
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
 * Converts one level of a value as `JSON.stringify` does, and a `bigint` as the client does. A function stays a function, which
 * no message contains. So `{ total: Number }`, in which `expect.any` was forgotten, does not match.
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
      // Turns -0 into 0, because the JSON is the same.
      return Number.isFinite(written) ? written + 0 : null
    case 'bigint':
      return String(written)
    default:
      return written
  }
}

/**
 * Whether an object, such as a `Map`, a `Set` or an `Error`, becomes `{}` in JSON although it is not an empty literal. An
 * expected literal `{}` matches any object, but such an object must not.
 */
export function isEmptied(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  // Recognises literals of any realm, because the prototype of a literal has no prototype.
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
