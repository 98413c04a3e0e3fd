import { quoted } from '../output/text.ts'
import { lossOf, parseExact } from '../settings/exact-json.ts'
import type { NoteKind } from './notes.ts'
import { fromEpoch, type ReadTime, type TimeRules, type TimeUnit } from './time.ts'

/** The last four are timestamps: seconds, milliseconds, microseconds and nanoseconds since 1970. */
export const CASTS = ['text', 'number', 'boolean', 'json', 's', 'ms', 'us', 'ns'] as const
export type Cast = (typeof CASTS)[number]

export interface CastRules extends TimeRules {
  /** The decimal separator of numbers, which may then have separators of thousands. */
  readonly decimal?: '.' | ',' | undefined
}

/** `notes` is what the cast has changed. */
export type CastResult =
  | { readonly value: unknown; readonly notes?: readonly (readonly [path: string, kind: NoteKind])[] }
  | { readonly wrong: string }

const CURRENCY = /\p{Sc}|\b[A-Z]{3}\b/u
const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i
const TRUE = 'true yes 1 t y on ja wahr vrai oui verdadero si vero'.split(' ')
const FALSE = 'false no 0 f n off nein falsch faux non falso'.split(' ')

export function cast(value: unknown, to: Cast, rules: CastRules = {}): CastResult {
  if (value === undefined || value === null) return { value }
  switch (to) {
    case 'text':
      return { value: typeof value === 'object' ? JSON.stringify(value) : String(value) }
    case 'number':
      return typeof value === 'number' ? { value } : castNumber(value, rules)
    case 'boolean': {
      const word = String(value).trim().toLowerCase()
      if (TRUE.includes(word)) return { value: true }
      return FALSE.includes(word) ? { value: false } : wrong('true or false', value)
    }
    case 'json':
      return castJson(value)
    default:
      return castEpoch(value, to, rules)
  }
}

function castNumber(value: unknown, { decimal }: CastRules): CastResult {
  const text = String(value).trim()
  const plain = decimal === undefined ? text : ungrouped(text, decimal)
  if (plain === undefined || !NUMBER.test(plain)) {
    const bare = text.replace(CURRENCY, '').trim()
    const isComma = decimal === undefined && /^-?[\d.' \u00a0\u202f]*\d,\d+$/.test(bare)
    const comma = isComma ? '; for a decimal comma: --decimal ,' : ''
    const sign =
      bare === text ? '' : '; take the currency out of the column, or leave out :number to send it as text'
    return { wrong: `expected a number, got ${quoted(value)}${comma}${sign}` }
  }
  const loss = lossOf(plain)
  if (loss === undefined) return { value: Number(plain) }
  return { value: loss === 'large' ? plain : Number(plain), notes: [['', loss]] }
}

/** Removes separators of thousands, if they stand where they may. */
function ungrouped(text: string, decimal: '.' | ','): string | undefined {
  const [whole = '', fraction, ...others] = text.split(decimal)
  const isGrouped = /^-?\d{1,3}(?:([.,' \u00a0\u202f\u2019])\d{3})(?:\1\d{3})*$/.test(whole)
  if (others.length > 0 || !(isGrouped || /^-?\d*$/.test(whole))) return undefined
  return whole.replace(/[^\d-]/g, '') + (fraction === undefined ? '' : `.${fraction}`)
}

function castJson(value: unknown): CastResult {
  if (typeof value !== 'string') return { value }
  try {
    const { value: parsed, losses } = parseExact(value)
    return { value: parsed, notes: losses }
  } catch {
    return wrong('JSON', value)
  }
}

function castEpoch(value: unknown, unit: TimeUnit, rules: CastRules): CastResult {
  return timeResult(fromEpoch(value, unit, rules))
}

export function timeResult(time: ReadTime): CastResult {
  if ('wrong' in time) return time
  const { ms, note } = time
  return { value: new Date(ms).toISOString(), ...(note !== undefined && { notes: [['', note]] as const }) }
}

function wrong(expected: string, value: unknown): CastResult {
  return { wrong: `expected ${expected}, got ${quoted(value)}` }
}
