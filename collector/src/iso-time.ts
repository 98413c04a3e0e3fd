let lastSecond = Number.NaN
/** `2026-05-17T09:30:00.` */
let lastText = ''

/**
 * A time as ISO-8601, in the form of `toISOString`. A call of `toISOString` takes a microsecond, as long as parsing a small
 * event, so the text of the last second is reused: most times in a row are in the same second.
 *
 * @param timeMs Milliseconds since the epoch.
 * @throws RangeError when a `Date` cannot represent it.
 */
export function isoTime(timeMs: number): string {
  const second = Math.floor(timeMs / 1000)
  const ms = timeMs - second * 1000
  if (second === lastSecond && Number.isInteger(ms)) return `${lastText}${String(ms).padStart(3, '0')}Z`
  const text = new Date(timeMs).toISOString()
  lastSecond = second
  lastText = text.slice(0, -4)
  return text
}
