import type { HTTPHeaders } from '../http/client.ts'

/** No response makes the client wait longer than this. @see docs/spec.md, section 8 */
export const MAX_WAIT_MS = 300_000
const FIRST_BACKOFF_MS = 1_000
const MAX_BACKOFF_MS = 60_000
/** Longer header values are no list of times but an attack on the parser. */
const MAX_HEADER_LENGTH = 1_024

const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'
const CLOCK = '(\\d\\d):(\\d\\d):(\\d\\d)'
/** The three forms of RFC 9110, section 5.6.7; all of them are GMT, whether they say so or not. */
const IMF_FIXDATE = new RegExp(`^[A-Z][a-z]{2}, (\\d\\d) ([A-Z][a-z]{2}) (\\d{4}) ${CLOCK} GMT$`)
const RFC_850 = new RegExp(`^[A-Z][a-z]{5,8}, (\\d\\d)-([A-Z][a-z]{2})-(\\d\\d) ${CLOCK} GMT$`)
const ASCTIME = new RegExp(`^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \\d]\\d) ${CLOCK} (\\d{4})$`)

/** Reads one response header by its lower-case name. */
export type ReadHeader = (name: string) => string | undefined

/**
 * The value of one response header, whatever shape the headers have; `undefined` when absent, when not text,
 * and when the headers of a custom client throw.
 *
 * @param name In lower case.
 */
export function headerValue(headers: HTTPHeaders | undefined, name: string): string | undefined {
  if (headers === undefined || headers === null) return undefined
  try {
    if (typeof headers.get === 'function') return textOf(headers.get(name))
    for (const key of Object.keys(headers)) {
      if (key.length === name.length && key.toLowerCase() === name)
        return textOf((headers as Record<string, unknown>)[key])
    }
  } catch {
    // As if it were absent: the status alone decides.
  }
  return undefined
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  return Array.isArray(value) ? value.join(', ') : undefined
}

/** Whether the body of a response is a web page: no service that speaks this API sends one. */
export function isHtml(headers: HTTPHeaders | undefined): boolean {
  return /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(headerValue(headers, 'content-type') ?? '')
}

/**
 * Milliseconds to wait from `Retry-After`: delay-seconds or any legal HTTP-date, the longest of several.
 * A date is measured from the response's own `Date`, so that a server with a wrong clock is understood; a past
 * one gives 0. Anything malformed gives `undefined`. Never more than 300,000.
 *
 * @param nowMs Current time, milliseconds since the epoch.
 * @see RFC 9110, section 10.2.3
 */
export function retryAfterMs(read: ReadHeader, nowMs: number): number | undefined {
  const value = read('retry-after')
  if (value === undefined || value.length > MAX_HEADER_LENGTH) return undefined
  let longestMs: number | undefined
  for (const item of splitList(value)) {
    const seconds = readSeconds(item)
    const dateMs = seconds === undefined ? parseHttpDate(item, nowMs) : undefined
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
 * Milliseconds to wait after a 429: `Retry-After`, else one of the headers that tell when the limit resets.
 * `undefined` when the response does not say, or names a time that has passed.
 */
export function rateLimitMs(read: ReadHeader, nowMs: number): number | undefined {
  const waitMs = retryAfterMs(read, nowMs) ?? resetMs(read, nowMs)
  return waitMs !== undefined && waitMs > 0 ? waitMs : undefined
}

/** `X-RateLimit-Reset`, `RateLimit-Reset`, or the `t` parameter of `RateLimit`: seconds, or a moment since the epoch. */
function resetMs(read: ReadHeader, nowMs: number): number | undefined {
  const value =
    read('x-ratelimit-reset') ??
    read('ratelimit-reset') ??
    /;\s*t=(\d{1,15})/.exec(read('ratelimit') ?? '')?.[1]
  const number = value === undefined ? undefined : readSeconds(value.trim())
  if (number === undefined) return undefined
  // Below 10^9 it counts seconds from now; below 10^12, seconds since the epoch; above, milliseconds.
  let waitMs = number * 1_000
  if (number >= 1e12) waitMs = number - serverNowMs(read, nowMs)
  else if (number >= 1e9) waitMs = number * 1_000 - serverNowMs(read, nowMs)
  return Math.min(Math.max(waitMs, 0), MAX_WAIT_MS)
}

function readSeconds(text: string): number | undefined {
  return /^\d{1,20}$/.test(text) ? Number(text) : undefined
}

/** Splits at commas, but not at the one behind a date's day name. */
function splitList(value: string): string[] {
  return value
    .split(/(?<!\b[A-Z][a-z]{2,8}),/)
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

function serverNowMs(read: ReadHeader, nowMs: number): number {
  const date = read('date')
  return (
    (date === undefined || date.length > MAX_HEADER_LENGTH ? undefined : parseHttpDate(date, nowMs)) ?? nowMs
  )
}

/** Milliseconds since the epoch of an HTTP-date, or `undefined`. Two-digit years follow RFC 9110. */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  const imf = IMF_FIXDATE.exec(text)
  if (imf) return utcMs(imf[3], imf[2], imf[1], imf.slice(4))
  const asctime = ASCTIME.exec(text)
  if (asctime) return utcMs(asctime[6], asctime[1], asctime[2], asctime.slice(3))
  const rfc850 = RFC_850.exec(text)
  if (!rfc850) return undefined
  const thisYear = new Date(nowMs).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + Number(rfc850[3])
  // More than 50 years ahead means the past century.
  return utcMs(String(year > thisYear + 50 ? year - 100 : year), rfc850[2], rfc850[1], rfc850.slice(4))
}

function utcMs(year = '', monthName = '', day = '', clock: string[] = []): number | undefined {
  const month = MONTHS.indexOf(monthName) / 3
  if (!Number.isInteger(month) || month < 0) return undefined
  const [hours = 0, minutes = 0, seconds = 0] = clock.map(Number)
  // Date.UTC would turn hour 24 into the next day, and so on. 60 is a leap second.
  if (hours > 23 || minutes > 59 || seconds > 60 || Number(day) < 1 || Number(day) > 31) return undefined
  return Date.UTC(Number(year), month, Number(day), hours, minutes, seconds)
}

/**
 * The decision about a response.
 *
 * - `delivered`: every event of the request arrived
 * - `retry`: the service fails; the events are sent again
 * - `limited`: everything waits; a failure only when the response does not say for how long
 * - `split`: send half of the events: they are too large together
 * - `bisect`: one of the events is bad, or all are: send half of them to find out
 * - `renew`: get a new token and send again, once
 * - `auth`, `address`: the credentials or the address are refused, which says nothing about the events
 * - `rejected`: final
 */
export type Action =
  | 'delivered'
  | 'retry'
  | 'limited'
  | 'split'
  | 'bisect'
  | 'renew'
  | 'auth'
  | 'address'
  | 'rejected'

/** The decision about a response, and how long it asks to wait, in milliseconds. */
export interface Verdict {
  readonly action: Action
  /** For `delivered`, `retry` and `limited`; `undefined` when the response does not say. */
  readonly waitMs: number | undefined
}

/**
 * The one place that decides what a response means.
 *
 * @param renewable Whether the credentials can be renewed.
 * @param nowMs Milliseconds since the epoch, for dates in headers.
 */
export function judge(
  { status, headers }: { readonly status: number; readonly headers: HTTPHeaders | undefined },
  renewable: boolean,
  nowMs: number,
): Verdict {
  const read: ReadHeader = (name) => headerValue(headers, name)
  const action = classify(status, renewable)
  if (action === 'limited') return { action, waitMs: rateLimitMs(read, nowMs) }
  const maySay = action === 'delivered' || action === 'retry'
  return { action, waitMs: maySay ? retryAfterMs(read, nowMs) : undefined }
}

/**
 * The status policy of the client.
 *
 * @param renewable Whether the credentials can be renewed: a token can, a write key cannot.
 * @see docs/spec.md, section 8
 */
export function classify(status: number, renewable: boolean): Action {
  switch (status) {
    case 401:
    case 511:
      return renewable ? 'renew' : 'auth'
    case 403:
      return 'auth'
    case 413:
      return 'split'
    case 400:
    case 422:
      return 'bisect'
    case 429:
      return 'limited'
    case 408:
    case 410:
    case 425:
    case 460:
      return 'retry'
    case 404:
    case 405:
    case 407:
    case 501:
    case 505:
      return 'address'
  }
  if (status >= 200 && status < 300) return 'delivered'
  if (status >= 300 && status < 400) return 'address'
  // A status outside of HTTP means a broken response; the next one may be valid.
  return status >= 400 && status < 500 ? 'rejected' : 'retry'
}

/**
 * Milliseconds to wait after `failures` failures in a row (1 and up): 1 s doubling to 60 s, drawn from the
 * upper half, so 0.5-1 s, 1-2 s, ... 30-60 s. Jittered at the cap too: clients that failed together must
 * not come back together.
 *
 * @param random A number in [0, 1).
 * @see docs/spec.md, section 8
 */
export function backoffMs(failures: number, random: number): number {
  // Clamp the exponent, not only the result: 2 ** 1024 is Infinity.
  const boundMs = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(failures - 1, 30))
  return boundMs / 2 + (random * boundMs) / 2
}
