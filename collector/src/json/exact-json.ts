/**
 * Prefix of texts that stand for JSON numbers that JavaScript cannot represent, such as 64-bit ids, between `parseExact` and
 * `stringifyExact`. They are texts and not objects of a class, so that they can be passed to threads. If somebody sends a text
 * with this control character before a number, it is shown as the number.
 */
const MARK = '\u0001exact:'
/** Matches only values: not keys, and not the middle of a text, where a backslash precedes the quote. */
const MARKED = /(^|[[:,\s])"\\u0001exact:(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)"(?!:)/g

// The digits are written out: with a count such as `{16}`, V8 tests every character, and this runs for each request.
const MAY_BE_INEXACT = new RegExp(`${'\\d'.repeat(16)}|\\d[eE]\\+?\\d\\d\\d`)
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g
/** A number of at most this many characters has no more digits than JavaScript keeps. */
const CHARACTERS_KEPT = 15

/** Whether a text may contain such a number. A fast check, since most texts do not. */
export function mayBeInexact(text: string): boolean {
  return MAY_BE_INEXACT.test(text)
}

/**
 * Parses JSON without changing any of its numbers.
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

/** The JSON of a value from `parseExact`, or of a part of it. */
export function stringifyExact(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent)
  return text?.includes('\\u0001exact:') ? text.replace(MARKED, '$1$2') : text
}

/** The digits of a number that JavaScript cannot represent; undefined for any other value. */
export function exactDigits(value: unknown): string | undefined {
  return typeof value === 'string' && value.startsWith(MARK) ? value.slice(MARK.length) : undefined
}

/** The first characters of a text; any other value as it is, also a number from `parseExact`. */
export function shortened(value: unknown, characters: number): unknown {
  return typeof value === 'string' && exactDigits(value) === undefined ? value.slice(0, characters) : value
}

/** Replaces the numbers of a value by those of `exact`, which `parseExact` has made from the same text. */
export function withExactNumbers(value: unknown, exact: unknown): unknown {
  if (typeof value === 'number') return exactDigits(exact) === undefined ? value : exact
  if (typeof value !== 'object' || value === null || typeof exact !== 'object' || exact === null) return value
  if (Array.isArray(value)) {
    const others: readonly unknown[] = Array.isArray(exact) ? exact : []
    return value.map((one, index) => withExactNumbers(one, others[index]))
  }
  // Entries rather than assignments: a "__proto__" key stays data.
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      Object.hasOwn(exact, key) ? withExactNumbers(one, (exact as Record<string, unknown>)[key]) : one,
    ]),
  )
}
