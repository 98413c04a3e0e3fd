import { dateMs } from './describe.ts'

/** A calendar date, with or without a time of day, as RFC 3339 and ISO-8601 write it. */
const ISO_DATE_TIME =
  /^([+-]?\d{4,6})-(\d\d)(?:-(\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?)?$/i

let cachedMs = Number.NaN
let cachedText = ''

/** `ms` since the epoch as ISO-8601 text. Calls within the same millisecond share one text. */
export function isoTime(ms: number): string {
  if (ms !== cachedMs) {
    cachedText = new Date(ms).toISOString()
    cachedMs = ms
  }
  return cachedText
}

/** The milliseconds of a text that {@link isoTime} or {@link toIsoTime} returned. */
export function msOf(text: string): number {
  return text === cachedText ? cachedMs : Date.parse(text)
}

/**
 * The instant that a caller's timestamp names (a `Date` of any realm, ISO-8601 text, milliseconds since the epoch), as
 * ISO-8601 text in UTC; `undefined` for anything else.
 */
export function toIsoTime(value: unknown): string | undefined {
  let ms: number | undefined
  if (typeof value === 'number') ms = value
  else if (typeof value === 'string') ms = parseIsoTime(value)
  else ms = dateMs(value)
  if (ms === undefined) return undefined
  // Beyond these, a Date is invalid and toISOString throws: ECMA-262, section 21.4.1.1.
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : undefined
}

function parseIsoTime(text: string): number {
  const [, year, month, day = '01'] = ISO_DATE_TIME.exec(text) ?? []
  // The last day of a month is day 0 of the next. Date.parse would read 30 February as 2 March.
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  return Number(day) <= lastDay ? Date.parse(text.replace(',', '.')) : Number.NaN
}
