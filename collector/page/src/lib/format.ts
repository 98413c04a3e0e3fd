const wholeNumber = new Intl.NumberFormat('en')
const shortNumber = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const smallNumber = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })
const longDay = new Intl.DateTimeFormat('en-GB', {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
})
const shortDate = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const timeOfDay = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
})
const FULL_TIME = {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  // Includes the time zone, since a time that is copied into a ticket may be read in another zone.
  timeZoneName: 'short',
} as const
const fullTime = new Intl.DateTimeFormat('en-GB', FULL_TIME)
const exactTime = new Intl.DateTimeFormat('en-GB', { ...FULL_TIME, fractionalSecondDigits: 3 })

/** Formats `12,345`. */
export function count(value: number): string {
  return wholeNumber.format(value)
}

/** Formats `123,456`, and from a million on `1.2M`, for places with little room. */
export function shortCount(value: number): string {
  return value < 1_000_000 ? wholeNumber.format(value) : shortNumber.format(value)
}

/** Formats `3 events` or `1 event`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

/** Formats a rate per second: below 100 with two significant digits, otherwise as a whole number. */
export function rate(perSecond: number): string {
  return perSecond >= 100 ? count(Math.round(perSecond)) : smallNumber.format(perSecond)
}

/** Formats `51%`. A share is `0%` or `100%` only if it is exact: otherwise it is `<1%` or `>99%`. */
export function share(part: number, whole: number): string {
  if (whole === 0 || part === 0) return '0%'
  const percent = (100 * part) / whole
  if (percent < 1) return '<1%'
  if (percent > 99 && part < whole) return '>99%'
  return `${Math.round(percent)}%`
}

/** Formats `512 B` or `1.5 KB`. */
export function bytes(value: number): string {
  if (value < 1000) return `${value} B`
  if (value < 1_000_000) return `${(value / 1000).toFixed(1)} KB`
  return `${(value / 1_000_000).toFixed(1)} MB`
}

/** Formats `0.4 ms`, `12 ms`, `3.2 s`, `5 min`, `3 h`, `2 days`. */
export function duration(ms: number): string {
  const size = Math.abs(ms)
  const sign = ms < 0 ? '−' : ''
  if (size < 10) return `${sign}${smallNumber.format(size)} ms`
  if (size < 1000) return `${sign}${Math.round(size)} ms`
  if (size < 60_000) return `${sign}${(size / 1000).toFixed(size < 10_000 ? 1 : 0)} s`
  if (size < 3_600_000) return `${sign}${Math.round(size / 60_000)} min`
  if (size < 86_400_000) return `${sign}${smallNumber.format(size / 3_600_000)} h`
  return `${sign}${plural(Math.round(size / 86_400_000), 'day')}`
}

/** Formats `14:05:12.034` in the time zone of the browser. */
export function clock(iso: string): string {
  return timeOfDay.format(new Date(iso))
}

/** For the axis of a chart: the day if the chart covers more than two days, otherwise the time. */
export function tickOf(at: string, bucketMs: number, lengthMs: number): string {
  if (lengthMs > 2 * 86_400_000) return shortDate.format(new Date(at))
  return clock(at).slice(0, bucketMs < 60_000 ? 8 : 5)
}

/** In the time zone of the browser. Equal keys mean the same day, but keys cannot be sorted. */
export function dayKey(iso: string): string {
  return new Date(iso).toDateString()
}

/** Formats `Today`, `Yesterday`, or the date with its weekday. */
export function dayName(iso: string, nowMs: number): string {
  const key = dayKey(iso)
  if (key === dayKey(new Date(nowMs).toISOString())) return 'Today'
  if (key === dayKey(new Date(nowMs - 86_400_000).toISOString())) return 'Yesterday'
  return longDay.format(new Date(iso))
}

/** Formats a date and time in the time zone of the browser: `21 Nov 2026, 14:05:12 CET`. */
export function dateAndTime(iso: string): string {
  return Number.isNaN(Date.parse(iso)) ? iso : fullTime.format(new Date(iso))
}

/** Formats a date and time with milliseconds: `21 Nov 2026, 14:05:12.034 CET`. */
export function exactDateAndTime(iso: string): string {
  return Number.isNaN(Date.parse(iso)) ? iso : exactTime.format(new Date(iso))
}

/** With an upper-case first letter, as a sentence begins. */
export function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

/** The JSON of a value, cut off at its limit. */
export function shortJson(value: unknown, limit: number): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > limit ? `${text.slice(0, limit)}…` : text
}

/** Formats `just now` or `5 min ago`. */
export function ago(iso: string, nowMs: number): string {
  const seconds = Math.floor((nowMs - Date.parse(iso)) / 1000)
  if (seconds < 2) return 'just now'
  return seconds < 60 ? `${seconds} s ago` : `${duration(seconds * 1000)} ago`
}
