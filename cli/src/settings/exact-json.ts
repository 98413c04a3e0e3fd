import { randomUUID } from 'node:crypto'

/**
 * What `JSON.parse` or sending would change in silence: a `large` number is kept as text here, a `rounded` one is rounded, and
 * half a `surrogate` pair is sent as U+FFFD.
 */
export type Loss = 'large' | 'rounded' | 'surrogate'

export interface ExactJson {
  readonly value: unknown
  /** The paths of the numbers that a double cannot hold. */
  readonly losses: readonly (readonly [path: string, loss: Loss])[]
}

const NO_LOSSES: ExactJson['losses'] = []
/** A text without these has no number that would be changed. */
const SUSPECT = /[\d.]{16}|e[+-]?\d{3}/i
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi
/** An escape that may be half a pair. */
const HALF = /\\ud[89a-f]/i
const MARK = `${randomUUID()}:`

/**
 * Parses JSON. An integer beyond 2^53 becomes a text with its digits, because a double would make one user of two.
 *
 * @throws SyntaxError, as `JSON.parse` does; RangeError when it is nested too deeply.
 */
export function parseExact(text: string): ExactJson {
  const plain: unknown = JSON.parse(text)
  const halves = HALF.test(text) ? surrogates(plain, '') : NO_LOSSES
  if (!SUSPECT.test(text)) return { value: plain, losses: halves }
  const marked = text.replace(TOKEN, (token) =>
    token.startsWith('"') || lossOf(token) === undefined ? token : `"${MARK}${token}"`,
  )
  if (marked === text) return { value: plain, losses: halves }
  const losses = [...halves]
  return { value: unmark(JSON.parse(marked), '', losses), losses }
}

function unmark(value: unknown, path: string, losses: (readonly [string, Loss])[]): unknown {
  if (typeof value === 'string' && value.startsWith(MARK)) {
    const literal = value.slice(MARK.length)
    const loss = lossOf(literal) as 'large' | 'rounded'
    losses.push([path, loss])
    return loss === 'large' ? literal : Number(literal)
  }
  if (typeof value !== 'object' || value === null) return value
  for (const [key, inner] of Object.entries(value)) {
    const kept = unmark(inner, path === '' ? key : `${path}.${key}`, losses)
    if (kept !== inner) Object.defineProperty(value, key, { value: kept })
  }
  return value
}

function surrogates(value: unknown, path: string): ExactJson['losses'] {
  if (typeof value === 'string') return /\p{Surrogate}/u.test(value) ? [[path, 'surrogate']] : NO_LOSSES
  if (typeof value !== 'object' || value === null) return NO_LOSSES
  return Object.entries(value).flatMap(([key, inner]) =>
    surrogates(inner, path === '' ? key : `${path}.${key}`),
  )
}

/** Digits that always identify a double. A program that prints a double with more has other digits in mind. */
const DOUBLE_DIGITS = 17

/** @param literal A number as JSON writes it. */
export function lossOf(literal: string): 'large' | 'rounded' | undefined {
  // Fast path: a double holds 15 digits.
  if (literal.length < 16 && !/e/i.test(literal)) return undefined
  const value = Number(literal)
  if (!Number.isFinite(value)) return 'large'
  if (/^-?\d+$/.test(literal)) return Number.isSafeInteger(value) ? undefined : 'large'
  const [digits, exponent] = decimal(literal)
  const [kept, keptExponent] = decimal(String(value))
  if (digits === kept && (digits === '' || exponent === keptExponent)) return undefined
  const isPrinted =
    digits.length <= DOUBLE_DIGITS && Math.abs(value) <= Number.MAX_SAFE_INTEGER && value !== 0
  return isPrinted ? undefined : 'rounded'
}

/** The digits of a number without zeros at either end, and the power of ten by which they count. */
function decimal(literal: string): [digits: string, exponent: number] {
  const [, whole = '', fraction = '', power = '0'] = /(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(literal) ?? []
  const all = (whole + fraction).replace(/^0+/, '')
  const digits = all.replace(/0+$/, '')
  return [digits, Number(power) - fraction.length + all.length - digits.length]
}

/** Returns the first key that an object of a valid text has twice, and its offset: `JSON.parse` keeps only the last of them. */
export function repeatedKey(text: string): { key: string; offset: number } | undefined {
  const open: Set<string>[] = []
  const parts = /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|[{}]/g
  for (let part = parts.exec(text); part !== null; part = parts.exec(text)) {
    const [token, content = '', colon] = part
    if (token === '{') open.push(new Set())
    else if (token === '}') open.pop()
    else if (colon !== undefined) {
      const key = content.includes('\\') ? (JSON.parse(`"${content}"`) as string) : content
      const keys = open.at(-1)
      if (keys?.has(key)) return { key, offset: part.index }
      keys?.add(key)
    }
  }
  return undefined
}
