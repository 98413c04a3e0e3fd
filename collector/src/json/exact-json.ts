/**
 * Numbers of JSON that JavaScript cannot hold, as ids of 64 bits: they are texts with this in front, from `parseExact` to `stringifyExact`. No
 * class, so that they come through threads. Who sends a text with this control character in front of a number is shown the number.
 */
const MARK = '\u0001exact:'
/** As a value: not as a key, and not in the middle of a text, where a backslash is before the quote. */
const MARKED = /(^|[[:,\s])"\\u0001exact:(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)"(?!:)/g

// Digits one by one: with a count, V8 looks at every character, and each request is looked through.
const MAY_BE_INEXACT = new RegExp(`${'\\d'.repeat(16)}|\\d[eE]\\+?\\d\\d\\d`)
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g
/** Shorter ones have at most as many digits as a number of JavaScript keeps. */
const CHARACTERS_KEPT = 15

/** Whether there may be such a number in a text; mostly there is none. */
export function mayBeInexact(text: string): boolean {
  return MAY_BE_INEXACT.test(text)
}

/**
 * Parses JSON without a change to any of its numbers.
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

/** The JSON of a value that `parseExact` has made, or a part of it. */
export function stringifyExact(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent)
  return text?.includes('\\u0001exact:') ? text.replace(MARKED, '$1$2') : text
}

/** The digits of a number that JavaScript cannot hold; undefined for any other value. */
export function exactDigits(value: unknown): string | undefined {
  return typeof value === 'string' && value.startsWith(MARK) ? value.slice(MARK.length) : undefined
}

/** A value with the numbers of another one, which `parseExact` has made of the same text. */
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
