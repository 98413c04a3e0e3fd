let lastSecond = Number.NaN
/** The beginning of the last result: `2026-05-17T09:30:00.` */
let lastText = ''

/**
 * Formats a time like `toISOString`, which takes a microsecond (parsing a small event takes no longer). Most consecutive times
 * are in the same second, so the text of the last second is reused.
 *
 * @param timeMs Milliseconds since the Unix epoch.
 * @throws RangeError when a `Date` cannot represent the time.
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
