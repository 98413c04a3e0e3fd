/**
 * Prefix of a string that stands for a JSON number that JavaScript cannot represent exactly, such as a 64-bit id. `parseExact`
 * creates these strings, and `stringifyExact` turns them back into numbers. A string can be passed to another thread; an object
 * of a class cannot. If a client itself sends a string with this control character before a number, the string is shown as a
 * number.
 */
const MARK = '\u0001exact:'
/** Matches only values. It does not match keys, or the middle of a string, where a backslash precedes the quote. */
const MARKED = /(^|[[:,\s])"\\u0001exact:(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)"(?!:)/g

// `\d` is repeated instead of `\d{16}`: with a count, V8 tests every character, and this runs for each request.
const MAY_BE_INEXACT = new RegExp(`${'\\d'.repeat(16)}|\\d[eE]\\+?\\d\\d\\d`)
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g
/** A number of at most this many characters has no more digits than JavaScript can represent. */
const CHARACTERS_KEPT = 15

/** Whether a text may contain a number that JavaScript cannot represent. A fast check, because most texts contain none. */
export function mayBeInexact(text: string): boolean {
  return MAY_BE_INEXACT.test(text)
}

/**
 * Parses JSON. Numbers that JavaScript cannot represent exactly become marked strings.
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

/** Returns the first characters of a string. Any other value is returned unchanged, and so is a number from `parseExact`. */
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
