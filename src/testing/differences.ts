/** One thing in which a value is not as it was expected. */
export interface Difference {
  /** Where it is, such as `properties.items.0.price`. Empty: the value as a whole. */
  readonly path: string
  /** What should be there. */
  readonly expected: unknown
  /** What is there. */
  readonly actual: unknown
}

/** An object of Jest, Vitest, Sinon or Chai that decides by itself what it is equal to. */
interface AsymmetricMatcher {
  asymmetricMatch(actual: unknown): boolean
}

/**
 * In what `actual` differs from `expected`, which may be a part of it: what it leaves out, or has as `undefined`, may be
 * anything. Lists must be of the same length.
 */
export function differences(expected: unknown, actual: unknown, path = ''): Difference[] {
  if (expected === undefined) return []
  if (isAsymmetric(expected)) return expected.asymmetricMatch(actual) ? [] : [{ path, expected, actual }]
  const written = asWritten(expected)
  if (!isObject(written) || !isObject(actual) || Array.isArray(written) !== Array.isArray(actual)) {
    return Object.is(written, actual) ? [] : [{ path, expected: written, actual }]
  }
  if (Array.isArray(written) && written.length !== (actual as unknown as unknown[]).length) {
    return [{ path, expected: written, actual }]
  }
  return Object.keys(written).flatMap((name) =>
    differences(written[name], own(actual, name), path === '' ? name : `${path}.${name}`),
  )
}

/** A test may compare with what it has passed to the call; the message has it as JSON. */
function asWritten(expected: unknown): unknown {
  if (typeof expected === 'bigint') return String(expected)
  if (!isObject(expected)) return expected
  const { toJSON } = expected
  return typeof toJSON === 'function' ? toJSON.call(expected) : expected
}

function own(value: Record<string, unknown>, name: string): unknown {
  return Object.keys(value).includes(name) ? value[name] : undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isAsymmetric(value: unknown): value is AsymmetricMatcher {
  return isObject(value) && typeof value['asymmetricMatch'] === 'function'
}
