/**
 * Prefix of a string that stands for a JSON number which JavaScript cannot represent exactly, such as a 64-bit id. A string can
 * be passed to another thread; an object of a class cannot. If a client itself sends such a string, the string is shown as a
 * number.
 */
const MARK = '\u0001exact:'
/** Matches only values: not keys, and not the middle of a string, where a backslash precedes the quote. */
const MARKED = /(^|[[:,\s])"\\u0001exact:(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)"(?!:)/g

// `[\d.]` is repeated instead of `[\d.]{16}`: with a count, V8 tests every character, and this runs for each request. After an
// exponent, the end of the number is tested too, because UUIDs often contain `1e123`.
const MAY_BE_INEXACT = new RegExp(`${'[\\d.]'.repeat(16)}|\\d[eE]\\+?\\d\\d\\d+\\s*(?:[,\\]}]|$)`)
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g
/** A number of at most this many characters has no more digits than JavaScript can represent. */
const CHARACTERS_KEPT = 15

/** A fast check: `false` only if JavaScript can represent all numbers of the text, except those too close to 0. */
export function mayBeInexact(text: string): boolean {
  return MAY_BE_INEXACT.test(text)
}

/**
 * Numbers that JavaScript cannot represent exactly become marked strings.
 *
 * @throws SyntaxError
 */
export function parseExact(text: string): unknown {
  return JSON.parse(
    mayBeInexact(text)
      ? text.replace(STRING_OR_NUMBER, (token) =>
          token.startsWith('"') || isKept(token) ? token : JSON.stringify(`${MARK}${token}`),
        )
      : text,
  )
}

function isKept(token: string): boolean {
  const number = Number(token)
  return Number.isFinite(number) && (token.length <= CHARACTERS_KEPT || String(number) === token)
}

/** Formats a value from `parseExact`, or a part of one, as JSON. */
export function stringifyExact(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent)
  return text?.includes('\\u0001exact:') ? text.replace(MARKED, '$1$2') : text
}

/** Returns the digits of a number that JavaScript cannot represent exactly; undefined for any other value. */
export function exactDigits(value: unknown): string | undefined {
  return typeof value === 'string' && value.startsWith(MARK) ? value.slice(MARK.length) : undefined
}

/** Shortens strings, but not those that `parseExact` has made from numbers. Returns any other value unchanged. */
export function shortened(value: unknown, characters: number): unknown {
  return typeof value === 'string' && exactDigits(value) === undefined ? value.slice(0, characters) : value
}

/** Replaces the numbers in a value by those of `exact`, which `parseExact` has made from the same text. */
export function withExactNumbers(value: unknown, exact: unknown): unknown {
  if (typeof value === 'number') return exactDigits(exact) === undefined ? value : exact
  if (typeof value !== 'object' || value === null || typeof exact !== 'object' || exact === null) return value
  if (Array.isArray(value)) {
    const others: readonly unknown[] = Array.isArray(exact) ? exact : []
    return value.map((one, index) => withExactNumbers(one, others[index]))
  }
  // `fromEntries` instead of assignments, so that a key `__proto__` stays ordinary data.
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      Object.hasOwn(exact, key) ? withExactNumbers(one, (exact as Record<string, unknown>)[key]) : one,
    ]),
  )
}
