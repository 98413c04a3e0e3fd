const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const RELATIVE = /^-(\d{1,9})([smhd])$/
const ISO = /^\d{4}-\d\d(?:-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?)?$/

/**
 * Parses a time in ISO 8601 (UTC if it has no zone), in milliseconds since the Unix epoch, or relative to now such as `-15m`.
 * Returns milliseconds since the Unix epoch; undefined for any other text.
 */
export function parseTime(text: string, nowMs: number): number | undefined {
  const relative = RELATIVE.exec(text)
  if (relative !== null) return nowMs - Number(relative[1]) * (UNITS_MS[relative[2] as string] as number)
  if (/^\d{10,16}$/.test(text)) return Number(text)
  if (!ISO.test(text)) return undefined
  const isZoned = !text.includes('T') || /(?:Z|[+-]\d\d:?\d\d)$/.test(text)
  const timeMs = Date.parse(isZoned ? text : `${text}Z`)
  return Number.isNaN(timeMs) ? undefined : timeMs
}
