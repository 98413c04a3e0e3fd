export interface ReadTime {
  /** Milliseconds since the Unix epoch. */
  ms: number
  /**
   * False for a time of day without a zone. It is read as UTC, so that the result does not depend on the collector's machine.
   */
  hasZone: boolean
}

// ISO 8601: a date, or a date and time, in the extended or the basic format. The fraction begins with a comma or a point.
const DATE_TIME =
  /^([+-]\d{6}|\d{4})(-?)(\d\d)\2(\d\d)(?:[Tt ](\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d{1,12}))?)?)?([Zz]|[+-]\d\d(?::?\d\d)?)?)?$/

const MAX_CHARACTERS = 40
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/**
 * Reads an ISO 8601 date, or date and time.
 *
 * @returns Undefined for another format, and for a day or hour that does not exist.
 */
export function readTime(value: unknown): ReadTime | undefined {
  if (typeof value !== 'string' || value.length > MAX_CHARACTERS) return undefined
  const match = DATE_TIME.exec(value)
  if (match === null) return undefined
  const [, year = '', , month = '', day = '', hour, minute = '0', second = '0', fraction = '0', zone] = match
  const midnightMs = dayMs(Number(year), Number(month), Number(day))
  const timeMs = timeOfDayMs(Number(hour ?? 0), Number(minute), Number(second), Number(`0.${fraction}`))
  const offsetMs = zoneMs(zone)
  if (midnightMs === undefined || timeMs === undefined || offsetMs === undefined) return undefined
  const atMs = midnightMs + timeMs - offsetMs
  // A date alone means the start of that day in UTC. Only a time of day without a zone is ambiguous.
  return Number.isNaN(new Date(atMs).getTime())
    ? undefined
    : { ms: atMs, hasZone: hour === undefined || zone !== undefined }
}

/** Returns undefined for a day that does not exist, such as 30 February: `Date` would turn it into a day in March. */
function dayMs(year: number, month: number, day: number): number | undefined {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : undefined
}

/** 24:00 is the end of the day. A leap second counts as the next second. */
function timeOfDayMs(hour: number, minute: number, second: number, fraction: number): number | undefined {
  const ms = (hour * 60 + minute) * MINUTE_MS + second * 1000 + Math.floor(fraction * 1000)
  const isClockTime = hour <= 23 && minute <= 59 && second <= 60
  return isClockTime || (hour === 24 && ms === DAY_MS) ? ms : undefined
}

function zoneMs(zone: string | undefined): number | undefined {
  if (zone === undefined || zone === 'Z' || zone === 'z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(3).replace(':', '') || 0)
  if (hours > 23 || minutes > 59) return undefined
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS
}
