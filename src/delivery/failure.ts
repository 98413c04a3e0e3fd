import { copyCause, describeCause } from '../errors/cause.ts'
import { DeliveryError, type FailureCode } from '../errors/errors.ts'
import { headerValue } from '../http/client.ts'
import type { Answer } from '../http/exchange.ts'

/**
 * The error for an answer that ends a batch. An HTTP failure reads `[503] Service Unavailable`; a redirect
 * names where it led, host only; without an answer, it is what the HTTP client said.
 *
 * @param url Where the request went, to resolve a relative `Location`.
 * @param redact Takes secrets out of a text: HTTP clients quote requests in their messages.
 */
export function answerError(
  code: FailureCode,
  answer: Answer,
  url: string,
  redact: (text: string) => string,
): DeliveryError {
  if (answer.status === undefined) {
    const message = redact(describeCause(answer.cause))
    return new DeliveryError(code, message, { cause: copyCause(answer.cause, redact) })
  }
  const { status, statusText } = answer
  const target =
    status >= 300 && status < 400 ? redirectTarget(headerValue(answer.headers, 'location'), url) : ''
  return new DeliveryError(code, redact(`[${status}] ${statusText}`.trimEnd()) + target, { status })
}

function redirectTarget(location: string | undefined, url: string): string {
  if (location === undefined) return ''
  try {
    const target = new URL(location, url)
    return `: the redirect to ${target.host || target.protocol} was not followed`
  } catch {
    return ': the redirect to an invalid address was not followed'
  }
}
