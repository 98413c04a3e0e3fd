export interface ReadTime {
  /** Milliseconds since the Unix epoch. */
  ms: number
  /**
   * False for a time of day without a zone. It is read as UTC, so that the result does not depend on the collector's machine.
   */
  hasZone: boolean
}

const DATE_TIME =
  /^((?:[+-]\d{6}|\d{4})-\d\d-(\d\d))(?:T(\d\d:\d\d(?::\d\d(?:\.\d{1,12})?)?)(Z|[+-]\d\d(?::?\d\d)?)?)?$/
const MAX_CHARACTERS = 40

/**
 * Reads an ISO 8601 date, or date and time, in the extended format.
 *
 * @returns Undefined for another format, and for a day or hour that does not exist.
 */
export function readTime(value: unknown): ReadTime | undefined {
  if (typeof value !== 'string' || value.length > MAX_CHARACTERS) return undefined
  const [, date = '', day, time, zone] = DATE_TIME.exec(value.toUpperCase().replace(',', '.')) ?? []
  // `Date` would turn 30 February into a day in March.
  if (new Date(date).getUTCDate() !== Number(day)) return undefined
  const ms = time === undefined ? Date.parse(date) : Date.parse(`${date}T${time}${zoneOf(zone)}`)
  // A date alone means the start of that day in UTC. Only a time of day without a zone is ambiguous.
  return Number.isNaN(ms) ? undefined : { ms, hasZone: time === undefined || zone !== undefined }
}

function zoneOf(zone = 'Z'): string {
  return zone === 'Z' ? zone : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`
}
