import { copyCause, describeCause, isConnectionLost } from '../errors/cause.ts'
import { DeliveryError, type FailureCode } from '../errors/errors.ts'
import type { Answer, ResponseHead } from './exchange.ts'
import { headerValue, isHtml, statedMs } from './waits.ts'

/**
 * What a response says.
 *
 * - `delivered`: the events are delivered
 * - `refused`: one of the events is bad, or all are
 * - `large`: the events are too large together
 * - `limited`: everything waits
 * - `settings`: the key or the address is wrong
 * - `never`: the service refuses the events finally
 * - `failed`: the service fails, or one of the events makes it fail
 *
 * @see docs/spec.md, section 8
 */
export type Word = 'delivered' | 'refused' | 'large' | 'limited' | 'settings' | 'never' | 'failed'

/** What one request came to. */
export interface Verdict {
  readonly word: Word
  /** The wait that the response states. */
  readonly waitMs: number | undefined
  /** Whether the connection broke before there was a response. */
  readonly isConnectionLost: boolean
  /** Whether it is that of a request for an access token. */
  readonly isOfToken: boolean
  /** The code with which events end for this answer. */
  readonly code: FailureCode
  /** The error for these events: always the same, because making one is costly. */
  readonly error: DeliveryError
}

/** Of every request that was accepted. Its `error` is never read. */
export const DELIVERED: Verdict = {
  word: 'delivered',
  waitMs: undefined,
  isConnectionLost: false,
  isOfToken: false,
  code: 'rejected',
  error: undefined as never,
}

/** The table of section 8. */
const WORDS: Readonly<Record<number, Word>> = {
  400: 'refused',
  422: 'refused',
  413: 'large',
  429: 'limited',
  401: 'settings',
  403: 'settings',
  511: 'settings',
  404: 'settings',
  405: 'settings',
  407: 'settings',
  501: 'settings',
  505: 'settings',
  408: 'failed',
  410: 'failed',
  425: 'failed',
  460: 'failed',
}

/** A status outside of the range of HTTP means a broken response; the next response may be valid. */
export function wordOf(status: number): Word {
  const word = WORDS[status]
  if (word !== undefined) return word
  if (status >= 200 && status < 300) return 'delivered'
  if (status >= 300 && status < 400) return 'settings'
  return status >= 400 && status < 500 ? 'never' : 'failed'
}

/** 401 and 511: what an expired access token gets; 403: what a key without the right gets. */
export function isOfCredentials(status: number | undefined): boolean {
  return status === 401 || status === 403 || status === 511
}

function codeOf(word: Word, status: number | undefined): FailureCode {
  if (word === 'settings') return isOfCredentials(status) ? 'auth' : 'rejected'
  if (word === 'large') return 'too_large'
  return word === 'refused' || word === 'never' ? 'rejected' : 'retries_exhausted'
}

export interface Circumstances {
  readonly url: string
  /** Removes credentials: error messages of HTTP clients and response bodies may quote the request. */
  readonly redact: (text: string) => string
  /** When the request was sent, since the epoch: dates in headers are compared with it. */
  readonly sentAtMs: number
}

/** Decides what an answer, or none, means for the events of its request. */
export function judge(answer: Answer, { url, redact, sentAtMs }: Circumstances): Verdict {
  const { status } = answer
  const word = status === undefined ? 'failed' : wordOf(status)
  if (word === 'delivered') return DELIVERED
  const code = codeOf(word, status)
  const waitMs =
    status === undefined ? undefined : statedMs((name) => headerValue(answer.headers, name), sentAtMs)
  let error: DeliveryError | undefined
  return {
    word,
    waitMs,
    isConnectionLost: status === undefined && isConnectionLost(answer.cause),
    isOfToken: false,
    code,
    get error() {
      error ??= toDeliveryError(code, answer, url, redact)
      return error
    },
  }
}

/**
 * The error with which events fail. Its message is the status, as in `[503] Service Unavailable`, or that of the HTTP client's
 * error; for some failures, a hint follows.
 */
export function toDeliveryError(
  code: FailureCode,
  result: Answer,
  url: string,
  redact: (text: string) => string,
): DeliveryError {
  if (result.status === undefined) {
    const message = explainCause(redact(describeCause(result.cause)), url)
    return new DeliveryError(code, message, { cause: copyCause(result.cause, redact), url })
  }
  const { status, statusText, body } = result
  const start = `[${status}] ${redact(statusText)}`.trimEnd()
  const end = explain(result, url, redact)
  const message = end === '' ? start : `${start}: ${end}`
  return new DeliveryError(code, message, { status, url, response: redact(body) })
}

function explain(response: ResponseHead, url: string, redact: (text: string) => string): string {
  const { status, headers } = response
  if (status >= 300 && status < 400) return explainRedirect(headerValue(headers, 'location'), url, redact)
  if (status === 401) return 'the credentials were refused; check writeKey, oauthSettings and region'
  if (status === 404) return `there is no tracking API at ${url}; check host and path`
  if (status === 405) return `${url} takes no POST; check host and path`
  // Before the check for HTML, because proxies send a web page with a 413.
  if (status === 413)
    return 'the service, or a proxy on the way, takes no body of this size; make the event smaller'
  if (isHtml(headers)) return `${url} responded with a web page; check host, and proxies on the way`
  return status === 403
    ? 'the credentials cannot send events here; check writeKey, oauthSettings.scope and region'
    : ''
}

function explainRedirect(
  location: string | undefined,
  url: string,
  redact: (text: string) => string,
): string {
  if (location === undefined) return ''
  try {
    const target = new URL(location, url)
    return `the redirect to ${redact(target.host || target.protocol)} was not followed`
  } catch {
    return 'the redirect to an invalid address was not followed'
  }
}

/** Matches the messages of all versions of OpenSSL for a server that does not speak TLS. */
const NOT_TLS = /wrong[ _]version[ _]number|packet[ _]length[ _]too[ _]long|http_request/i

function explainCause(message: string, url: string): string {
  if (!url.startsWith('https:') || !NOT_TLS.test(message)) return message
  const { host, port } = new URL(url)
  return `${message}: port ${port || 443} of ${host} does not speak TLS; check the scheme and the port of host`
}
