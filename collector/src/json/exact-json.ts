const KEY: unique symbol = Symbol.for('trackpost-collector.mark')
/** Not a variable of this module, because `require` and `import` load two copies of it. */
const shared = globalThis as { [KEY]?: string }

/**
 * Prefix of a string that stands for a JSON number which JavaScript cannot represent exactly, such as a 64-bit id. A string can
 * be passed to another thread; an object of a class cannot. The prefix is random, so that no client can send such a string.
 */
export function mark(): string {
  shared[KEY] ??= `\u0001${crypto.getRandomValues(new Uint32Array(4)).join('-')}:`
  return shared[KEY]
}

/** Called in a thread that passes values from `parseExact` to another thread, with the mark of that thread. */
export function useMark(mark: string): void {
  shared[KEY] = mark
}

// `[\d.]` is repeated instead of `[\d.]{16}`: with a count, V8 tests every character, and this runs for each request. After an
// exponent, the end of the number is tested too, because UUIDs often contain `1e123`.
const MAY_BE_INEXACT = new RegExp(`${'[\\d.]'.repeat(16)}|\\d[eE]\\+?\\d\\d\\d+\\s*(?:[,\\]}]|$)`)
/** Runs of characters that are a number which JavaScript may not represent, or a part of a string. */
const SUSPECTS = /[\d.]{16,}(?:[eE][+-]?\d+)?|[\d.]+[eE]\+?\d{3,}/g
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** A number of at most this many characters has no more digits than JavaScript can represent. */
const CHARACTERS_KEPT = 15

/** A fast check: `false` only if JavaScript can represent all numbers of the text, except those too close to 0. */
export function mayBeInexact(text: string): boolean {
  return (
    MAY_BE_INEXACT.test(text) &&
    (text.match(SUSPECTS)?.some((suspect) => fateOf(suspect) !== 'kept') ?? false)
  )
}

/** A JSON text with numbers that JavaScript cannot represent. */
export interface Inexact {
  /** The value as {@link parseExact} returns it. */
  exact: unknown
  /** Whether a number is beyond the range of a double (about 1.8e308). */
  isOutOfRange: boolean
}

/**
 * Returns undefined if JavaScript can represent all numbers of the text.
 *
 * @throws SyntaxError
 */
export function parseInexact(text: string): Inexact | undefined {
  if (!mayBeInexact(text)) return undefined
  let isOutOfRange = false
  let isExact = true
  const marked = text.replace(STRING_OR_NUMBER, (token) => {
    const fate = token.startsWith('"') ? 'kept' : fateOf(token)
    if (fate === 'kept') return token
    isExact = false
    if (fate === 'exact') return JSON.stringify(`${mark()}${token}`)
    isOutOfRange = true
    return 'null'
  })
  if (isExact) return undefined
  return { exact: JSON.parse(marked), isOutOfRange }
}

/**
 * Numbers that JavaScript cannot represent exactly become marked strings; numbers beyond the range of a double become null.
 *
 * @throws SyntaxError
 */
export function parseExact(text: string): unknown {
  const inexact = parseInexact(text)
  return inexact === undefined ? JSON.parse(text) : inexact.exact
}

/** What becomes of a number: JavaScript can represent it, its digits are kept as text, or it is out of range. */
function fateOf(token: string): 'kept' | 'exact' | 'out of range' {
  const number = Number(token)
  if (!Number.isFinite(number)) return Number.isNaN(number) ? 'kept' : 'out of range'
  // A number too close to 0 is 0.
  if (token.length <= CHARACTERS_KEPT || number === 0) return 'kept'
  const text = String(number)
  if (text === token) return 'kept'
  // A whole number with many zeros stays as it is: as an id, 1e+21 would be another text.
  const hasSameForm = text.includes('e') === /e/i.test(token)
  return hasSameForm && significantDigits(text) === significantDigits(token) ? 'kept' : 'exact'
}

/** The digits without the zeros at both ends: `-0.0150e3` has `15`. */
function significantDigits(number: string): string {
  const [mantissa = ''] = number.split(/[eE]/, 1)
  const digits = mantissa.replace(/[-.]/g, '')
  let start = 0
  let end = digits.length
  while (digits[start] === '0') start++
  while (end > start && digits[end - 1] === '0') end--
  return digits.slice(start, end)
}

/** Returns a value from `parseExact` with the nearest JavaScript numbers. */
export function rounded(value: unknown): unknown {
  return JSON.parse(stringifyExact(value))
}

/**
 * The text of a number in the form in which it is stored: as JavaScript writes it, or with all its digits if JavaScript cannot
 * represent it. Undefined if the text is no JSON number, or out of range.
 */
export function storedNumber(text: string): string | undefined {
  if (!JSON_NUMBER.test(text)) return undefined
  const fate = fateOf(text)
  if (fate === 'out of range') return undefined
  return fate === 'exact' ? text : JSON.stringify(Number(text))
}

/** Formats a value from `parseExact`, or a part of one, as JSON. */
export function stringifyExact(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent)
  const marked = `\\u0001${mark().slice(1)}`
  if (!text?.includes(marked)) return text
  return text.replace(new RegExp(`"\\${marked}([^"]*)"`, 'g'), '$1')
}

/** Returns the digits of a number that JavaScript cannot represent exactly; undefined for any other value. */
export function exactDigits(value: unknown): string | undefined {
  return typeof value === 'string' && value.startsWith(mark()) ? value.slice(mark().length) : undefined
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
