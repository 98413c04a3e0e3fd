import { quoted } from '../output/text.ts'
import type { NoteKind } from './notes.ts'

/** How far the decimal point moves to the right, from the unit to milliseconds. */
const MOVES = { s: 3, ms: 0, us: -3, ns: -6 } as const
export type TimeUnit = keyof typeof MOVES

const NAMES = { s: 'seconds', ms: 'milliseconds', us: 'microseconds', ns: 'nanoseconds' } as const
const EARLIEST_MS = Date.UTC(2000)
const YEAR_MS = 366 * 86_400_000

export interface TimeRules {
  /** The form of a date that is not ISO 8601, such as `dd.mm.yyyy`. */
  readonly date?: string | undefined
  /** Accepts times before 2000 or more than a year ahead. */
  readonly anyTime?: boolean | undefined
}

/** Milliseconds since the epoch, and what has been assumed or cut. */
export type ReadTime = { readonly ms: number; readonly note?: NoteKind } | { readonly wrong: string }

/** Reads a number of seconds, milliseconds, ... since 1970. It is read as text: nanoseconds have more digits than a double. */
export function fromEpoch(value: unknown, unit: TimeUnit, rules: TimeRules): ReadTime {
  const text = String(value).trim()
  const [, sign, whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  if (sign === undefined) return { wrong: `expected ${NAMES[unit]} since 1970, got ${quoted(value)}` }
  const [ms, rest] = moved(whole, fraction, MOVES[unit])
  const signed = sign === '-' ? -ms : ms
  if (!isLikely(signed, rules)) return { wrong: unlikely(quoted(value), signed, whole, unit) }
  return /[1-9]/.test(rest) ? { ms: signed, note: 'time_digits' } : { ms: signed }
}

/** Moves the decimal point of `whole.fraction`. Returns the integer, and the digits behind the new point. */
function moved(whole: string, fraction: string, by: number): [ms: number, rest: string] {
  const digits = whole.padStart(1 - by, '0') + fraction
  const point = Math.max(whole.length, 1 - by) + by
  return [Number(digits.padEnd(point, '0').slice(0, point)), digits.slice(point)]
}

function isLikely(ms: number, { anyTime }: TimeRules): boolean {
  if (anyTime === true) return Math.abs(ms) <= 8.64e15
  return ms >= EARLIEST_MS && ms <= Date.now() + YEAR_MS
}

const RANGE = 'expected a time from 2000 to a year from now'

/** @param digits Of a number since 1970; `undefined` for a date. */
function unlikely(got: string, ms: number, digits?: string, unit?: TimeUnit): string {
  const fitting = (Object.keys(MOVES) as TimeUnit[]).find(
    (one) => digits !== undefined && isLikely(moved(digits, '', MOVES[one])[0], {}),
  )
  const read = unit === undefined ? '' : ` in ${NAMES[unit]}`
  if (fitting !== undefined && fitting !== unit)
    return `${RANGE}, got ${got}${read}; in ${NAMES[fitting]} it is ${dayOf(moved(digits as string, '', MOVES[fitting])[0])}: use timestamp:${fitting}`
  const days = Number(digits) - EXCEL_EPOCH_DAYS
  if (digits !== undefined && isLikely(days * 86_400_000, {}))
    return `${RANGE}, got ${got}${read}; it may be a day number of a spreadsheet (${dayOf(days * 86_400_000)}): give the column a date format there`
  return `${RANGE}, got ${got}${Number.isNaN(ms) ? '' : ` (${dayOf(ms)})`}; --any-time accepts it`
}

const EXCEL_EPOCH_DAYS = 25_569

function dayOf(ms: number): string {
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString().replace(/T.*/, '') : 'beyond all calendars'
}

const CLOCK = String.raw`(\d\d?:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)(?: ?(AM|PM))?`
const ZONE = String.raw` ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?`
const ISO = new RegExp(`^(\\d{4}-\\d\\d(?:-\\d\\d)?)(?:[T ]${CLOCK}${ZONE})?$`, 'i')
/** RFC 2822, as Snowflake prints it. */
const MAIL = /^(?:[a-z]{3}, )?(\d\d?) ([a-z]{3}) (\d{4}) (\d\d:\d\d(?::\d\d)?) (Z|UTC|GMT|[+-]\d{4})$/i
const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')

/**
 * Reads the variants of ISO 8601 that databases write, and dates in the form of `--date`. A time without a zone is read as UTC,
 * so that the result does not depend on the machine.
 */
export function readTime(value: unknown, rules: TimeRules): ReadTime {
  if (typeof value === 'number') return fromEpoch(value, 'ms', rules)
  const text = String(value).trim()
  if (/^-?\d+(?:\.\d+)?$/.test(text)) {
    const wrong = unlikely(quoted(value), Number.NaN, text.replace(/^-|\..*/g, ''))
    const unit = 'for a number since 1970: timestamp:s, :ms, :us or :ns'
    return { wrong: wrong.replace(RANGE, 'expected a date').replace('--any-time accepts it', unit) }
  }
  const [, net] = /^\/Date\((\d+)\)\/$/.exec(text) ?? []
  if (net !== undefined) return fromEpoch(net, 'ms', rules)
  const parts = isoParts(text) ?? mailParts(text) ?? formParts(text, rules.date)
  if (parts === undefined) {
    const hint = /^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b/.test(text)
      ? `; for another order of day and month: --date dd.mm.yyyy, --date mm/dd/yyyy`
      : ''
    return { wrong: `expected a date in ISO 8601, such as 2024-02-01T09:30:00Z, got ${quoted(value)}${hint}` }
  }
  const { date, time = '00:00', half, zone } = parts
  // `Date.parse` reads 30 February as 1 March.
  const isDay = new Date(Date.parse(`${date}T00:00:00Z`)).getUTCDate() === Number(date.slice(8))
  const clock = clockOf(time, half)
  const ms = isDay && clock !== undefined ? Date.parse(`${date}T${clock}${zoneOf(zone)}`) : Number.NaN
  if (Number.isNaN(ms))
    return { wrong: `expected a date, got ${quoted(value)}: there is no such day or time` }
  if (!isLikely(ms, rules)) return { wrong: unlikely(quoted(value), ms) }
  if (/[.,]\d{3}\d*[1-9]/.test(time)) return { ms, note: 'time_digits' }
  return zone === undefined && parts.time !== undefined ? { ms, note: 'no_zone' } : { ms }
}

interface Parts {
  readonly date: string
  readonly time?: string | undefined
  /** AM or PM. */
  readonly half?: string | undefined
  readonly zone?: string | undefined
}

function isoParts(text: string): Parts | undefined {
  const [, date, time, half, zone] = ISO.exec(text) ?? []
  return date === undefined ? undefined : { date: date.length === 7 ? `${date}-01` : date, time, half, zone }
}

function mailParts(text: string): Parts | undefined {
  const [, day = '', name = '', year, time, zone] = MAIL.exec(text) ?? []
  const month = MONTHS.indexOf(name.toLowerCase()) + 1
  return month === 0 ? undefined : { date: `${year}-${twoDigits(month)}-${twoDigits(day)}`, time, zone }
}

function formParts(text: string, form: string | undefined): Parts | undefined {
  if (form === undefined) return undefined
  const order = form.match(/d+|m+|y+/g) ?? []
  const pattern = form
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/y+|d+|m+/g, (part) => (part.startsWith('y') ? '(\\d{4})' : '(\\d\\d?)'))
  const [whole, ...found] = new RegExp(`^${pattern}(?:,? ${CLOCK}${ZONE})?$`, 'i').exec(text) ?? []
  if (whole === undefined) return undefined
  const part = (letter: string): string => found[order.findIndex((one) => one.startsWith(letter))] as string
  const [time, half, zone] = found.slice(3)
  return { date: `${part('y')}-${twoDigits(part('m'))}-${twoDigits(part('d'))}`, time, half, zone }
}

/** Whether a text has the day, the month and the year, such as `dd.mm.yyyy` or `m/d/yyyy`. */
export function isDateForm(form: string): boolean {
  const order = form.match(/[a-z]+/g) ?? []
  return (
    /^[dmy ./-]+$/.test(form) &&
    order
      .map((part) => part.replace(/^([dm])\1?$/, '$1').replace(/^yyyy$/, 'y'))
      .sort()
      .join('') === 'dmy'
  )
}

function twoDigits(number: number | string): string {
  return String(number).padStart(2, '0')
}

function clockOf(time: string, half: string | undefined): string | undefined {
  if (half === undefined && time[2] === ':') return time.replace(',', '.')
  const [hours = '', ...rest] = time.replace(',', '.').split(':')
  if (half === undefined) return [twoDigits(hours), ...rest].join(':')
  const hour = Number(hours)
  if (hour < 1 || hour > 12) return undefined
  return [twoDigits((hour % 12) + (/pm/i.test(half) ? 12 : 0)), ...rest].join(':')
}

function zoneOf(zone = 'Z'): string {
  const [, hours, minutes = '00'] = /^([+-]\d\d):?(\d\d)?$/.exec(zone) ?? []
  return hours === undefined ? 'Z' : `${hours}:${minutes}`
}
