import { copyCause, describeCause } from '../errors/cause.ts'
import { DeliveryError, type FailureCode } from '../errors/errors.ts'
import type { ExchangeResult, ResponseHead } from '../http/exchange.ts'
import { type Action, headerValue, isHtml } from '../policy/response.ts'

const TOO_LARGE = 'the service, or a proxy on the way, takes no event of this size; make it smaller'
const EMPTY_TOO_LARGE =
  'the service, or a proxy on the way, refuses even a body without events; check host and path'

/** Makes the error of a failure. The code is only known later, when an event fails. */
export type ToError = (code: FailureCode) => DeliveryError

export interface SendResult {
  /** `resend`: the service does not accept the encoded body; the next attempt sends it unencoded. */
  readonly action: Action | 'resend'
  /** The wait that the service asks for; `undefined` if it does not ask. */
  readonly waitMs: number | undefined
  /** The status of the response; `undefined` without one. */
  readonly status: number | undefined
  /** The status and the body of the response. Only to compare responses: the body may quote credentials of the request. */
  readonly text: string
  /** Whether the connection broke before there was a response. */
  readonly isConnectionLost: boolean
  /** Whether there was no connection, so that the events cannot be the reason. */
  readonly isUnreachable: boolean
  readonly toError: ToError
}

/**
 * Makes the error with which events fail. Its message is the status, as in `[503] Service Unavailable`, or the message of the
 * HTTP client's error. For some failures, a hint follows.
 *
 * @param redact Removes credentials: error messages of HTTP clients and response bodies may quote the request.
 */
export function toDeliveryError(
  code: FailureCode,
  result: ExchangeResult,
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

/** Describes the failure of a request without events. */
export function explainEmpty(result: ExchangeResult, url: string, redact: (text: string) => string): string {
  const { message } = toDeliveryError('rejected', result, url, redact)
  return result.status === 413 ? message.replace(TOO_LARGE, EMPTY_TOO_LARGE) : message
}

function explain(response: ResponseHead, url: string, redact: (text: string) => string): string {
  const { status, headers } = response
  if (status >= 300 && status < 400) return explainRedirect(headerValue(headers, 'location'), url, redact)
  if (status === 401) return 'the credentials were refused; check writeKey, oauthSettings and region'
  if (status === 404) return `there is no tracking API at ${url}; check host and path`
  if (status === 405) return `${url} takes no POST; check host and path`
  // Before the check for HTML, because proxies send a web page with a 413.
  if (status === 413) return TOO_LARGE
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
/** Matches an error line of OpenSSL: thread, code, library, function, reason, file. */
const OPENSSL_LINE = /[0-9A-F]+:error:[0-9A-F]+:([^:]*):[^:]*:([^:]*):\S*/i

function explainCause(message: string, url: string): string {
  if (!url.startsWith('https:') || !NOT_TLS.test(message)) return message
  const { host, port } = new URL(url)
  const hint = `port ${port || 443} of ${host} does not speak TLS; check the scheme and the port of host`
  return `${message.replace(OPENSSL_LINE, '$1: $2').trim()}: ${hint}`
}
