import type { HTTPHeaders } from './client.ts'

/** The longest wait that a response can ask for, in milliseconds. @see docs/spec.md, section 8 */
export const MAX_WAIT_MS = 300_000
const FIRST_BACKOFF_MS = 1_000
const MAX_BACKOFF_MS = 60_000
const MAX_AWAITED_BACKOFF_MS = 8_000
/** Longer times in headers are not read, to protect the parser. */
const MAX_HEADER_LENGTH = 1_024

const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'
const CLOCK = '(\\d\\d):(\\d\\d):(\\d\\d)'
/** The form of a date that RFC 9110, section 5.6.7 asks for; the two obsolete forms are not read. */
const IMF_FIXDATE = new RegExp(`^[A-Z][a-z]{2}, (\\d\\d) ([A-Z][a-z]{2}) (\\d{4}) ${CLOCK} GMT$`)

/** Reads one response header by its lower-case name. */
export type ReadHeader = (name: string) => string | undefined

/**
 * Reads a header as text. Returns `undefined` when it is absent or is neither text, a number nor a list, and when the headers
 * of a custom HTTP client throw.
 *
 * @param name The name in lower case.
 */
export function headerValue(headers: HTTPHeaders | undefined, name: string): string | undefined {
  if (headers === undefined || headers === null) return undefined
  try {
    if (typeof headers.get === 'function') return textOf(headers.get(name))
    const value = (headers as Record<string, unknown>)[name]
    if (value !== undefined) return textOf(value)
    for (const key of Object.keys(headers)) {
      if (key.length === name.length && key.toLowerCase() === name)
        return textOf((headers as Record<string, unknown>)[key])
    }
  } catch {
    // The header counts as absent.
  }
  return undefined
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  return Array.isArray(value) ? value.join(', ') : undefined
}

/** Whether the body of a response is a web page, which no service with this API sends. */
export function isHtml(headers: HTTPHeaders | undefined): boolean {
  return /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(headerValue(headers, 'content-type') ?? '')
}

/**
 * The wait that `Retry-After` asks for, at most {@link MAX_WAIT_MS}; of several values, the longest. A date is compared with
 * the `Date` header of the same response, so that a wrong server clock has no effect. A date in the past gives 0, a malformed
 * value gives `undefined`.
 *
 * @param nowMs Since the epoch.
 * @see RFC 9110, section 10.2.3
 */
export function retryAfterMs(read: ReadHeader, nowMs: number): number | undefined {
  const value = read('retry-after')
  if (value === undefined || value.length > MAX_HEADER_LENGTH) return undefined
  let longestMs: number | undefined
  for (const item of splitList(value)) {
    const seconds = readSeconds(item)
    const dateMs = seconds === undefined ? parseHttpDate(item) : undefined
    const waitMs =
      seconds !== undefined
        ? seconds * 1_000
        : dateMs !== undefined
          ? dateMs - serverNowMs(read, nowMs)
          : undefined
    if (waitMs !== undefined) longestMs = Math.max(longestMs ?? 0, waitMs)
  }
  return longestMs === undefined ? undefined : Math.min(longestMs, MAX_WAIT_MS)
}

/**
 * The wait that a response states: `Retry-After`, otherwise one of the headers that tell when the rate limit is reset.
 * `undefined` when it states none, or its time has passed.
 */
export function statedMs(read: ReadHeader, nowMs: number): number | undefined {
  const waitMs = retryAfterMs(read, nowMs) ?? resetMs(read, nowMs)
  return waitMs !== undefined && waitMs > 0 ? waitMs : undefined
}

/** Reads `X-RateLimit-Reset`, `RateLimit-Reset`, or the parameter `t` of `RateLimit`: seconds, or a time since the epoch. */
function resetMs(read: ReadHeader, nowMs: number): number | undefined {
  const value =
    read('x-ratelimit-reset') ??
    read('ratelimit-reset') ??
    /;\s*t=(\d{1,15})/.exec(read('ratelimit') ?? '')?.[1]
  const number = value === undefined ? undefined : readSeconds(value.trim())
  if (number === undefined) return undefined
  // Below 10^9: seconds from now. Below 10^12: seconds since the epoch. Otherwise: milliseconds since the epoch.
  let waitMs = number * 1_000
  if (number >= 1e12) waitMs = number - serverNowMs(read, nowMs)
  else if (number >= 1e9) waitMs = number * 1_000 - serverNowMs(read, nowMs)
  return Math.min(Math.max(waitMs, 0), MAX_WAIT_MS)
}

function readSeconds(text: string): number | undefined {
  return /^\d{1,20}$/.test(text) ? Number(text) : undefined
}

/** Splits at commas, but not at the comma after the name of a day in a date. */
function splitList(value: string): string[] {
  return value
    .split(/(?<!\b[A-Z][a-z]{2,8}),/)
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

function serverNowMs(read: ReadHeader, nowMs: number): number {
  const date = read('date')
  return (date === undefined || date.length > MAX_HEADER_LENGTH ? undefined : parseHttpDate(date)) ?? nowMs
}

/** Parses an HTTP-date to milliseconds since the epoch. */
export function parseHttpDate(text: string): number | undefined {
  const match = IMF_FIXDATE.exec(text)
  if (match === null) return undefined
  const [day, , year, hours, minutes, seconds] = match.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const month = MONTHS.indexOf(match[2] as string) / 3
  if (!Number.isInteger(month) || month < 0) return undefined
  // `Date.UTC` would turn hour 24 into the next day, and so on. Second 60 is a leap second.
  if (hours > 23 || minutes > 59 || seconds > 60 || day < 1 || day > 31) return undefined
  return Date.UTC(year, month, day, hours, minutes, seconds)
}

/**
 * A wait that a response has asked for, up to a fifth longer (at most 10 s), so that many clients that got the same response do
 * not come back in the same second.
 *
 * @param random A number in [0, 1).
 * @see docs/spec.md, section 8
 */
export function spreadMs(waitMs: number, random: number): number {
  return waitMs + Math.min(waitMs / 5, 10_000) * random
}

/**
 * The longest wait after a number of waits in a row (at least 1): 1 s, 2 s, 4 s, ... 60 s; while somebody waits, at most 8 s.
 *
 * @see docs/spec.md, section 8
 */
export function backoffMs(waits: number, isSomebodyWaiting: boolean): number {
  // The exponent is limited too, because 2 ** 1024 is `Infinity`.
  const longestMs = isSomebodyWaiting ? MAX_AWAITED_BACKOFF_MS : MAX_BACKOFF_MS
  return Math.min(longestMs, FIRST_BACKOFF_MS * 2 ** Math.min(waits - 1, 30))
}

/**
 * The part of the backoff that is waited, from its upper half, so that clients that failed together do not come back together.
 *
 * @param random A number in [0, 1).
 */
export function drawOf(random: number): number {
  return 0.5 + random / 2
}
