import type { HTTPHeaders } from '../http/client.ts'

/** The longest wait that a response can ask for, in milliseconds. @see docs/spec.md, section 8 */
export const MAX_WAIT_MS = 300_000
const FIRST_BACKOFF_MS = 1_000
const MAX_BACKOFF_MS = 60_000
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
 * The wait after a 429: from `Retry-After`, otherwise from one of the headers that tell when the rate limit is reset.
 * `undefined` when the response has no such header, or its time has passed.
 */
export function rateLimitMs(read: ReadHeader, nowMs: number): number | undefined {
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
 * The decision about a response.
 *
 * - `delivered`: the service has accepted every event of the request
 * - `retry`: the service fails; the events are sent again
 * - `limited`: the service limits the rate, and all requests wait. Does not count as a failure
 * - `split`: the events are too large together; fewer are sent in one request
 * - `bisect`: one of the events is bad, or all are; halves are sent to find out
 * - `renew`: the access token was refused; the events are sent again once, with a new token
 * - `auth`, `address`: the service refuses the credentials or the address; the events are not the cause
 * - `rejected`: the service refuses the events finally
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

export interface Verdict {
  readonly action: Action
  /** For `delivered`, `retry` and `limited`; `undefined` when the response does not ask for a wait. */
  readonly waitMs: number | undefined
}

/**
 * Decides what a response means for the events of its request.
 *
 * @param nowMs Since the epoch, for dates in headers.
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
  // A status outside of the range of HTTP means a broken response; the next response may be valid.
  return status >= 400 && status < 500 ? 'rejected' : 'retry'
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
 * The wait after `failures` failures in a row (at least 1): 0.5 to 1 s, then 1 to 2 s, ..., finally 30 to 60 s. It is random,
 * so that clients that failed together do not come back together.
 *
 * @param random A number in [0, 1).
 * @param maxMs The longest wait, in place of 60 s.
 * @see docs/spec.md, section 8
 */
export function backoffMs(failures: number, random: number, maxMs = MAX_BACKOFF_MS): number {
  // The exponent is limited too, because 2 ** 1024 is `Infinity`.
  const boundMs = Math.min(maxMs, FIRST_BACKOFF_MS * 2 ** Math.min(failures - 1, 30))
  return boundMs / 2 + (random * boundMs) / 2
}
