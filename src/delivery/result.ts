import { isConnectionLost } from '../errors/cause.ts'
import type { DeliveryError, FailureCode } from '../errors/errors.ts'
import { headerValue } from '../http/client.ts'
import type { ExchangeResult } from '../http/exchange.ts'
import { classify } from '../policy/classify.ts'
import { type ReadHeader, rateLimitMs, retryAfterMs } from '../policy/retry-after.ts'

/** What went wrong, once it is known which failure it amounts to. */
export type ToError = (code: FailureCode) => DeliveryError

/**
 * What one attempt to send a batch came to. Nothing above it reads a status or a header.
 *
 * - `delivered`: every event of the batch arrived; the service may ask for a rest
 * - `retry`: a counted retry, not before `floorMs`
 * - `limited`: everything waits for `waitMs`; a counted retry when the response did not say how long
 * - `split`: the batch was refused for its size, or for what it holds; `text` is what the service said
 * - `renew`: the credentials were refused, and there will be others
 * - `failed`: final
 */
export type SendResult =
  | { readonly status: 'delivered'; readonly restMs: number | undefined }
  | {
      readonly status: 'retry'
      readonly floorMs: number | undefined
      /** The connection broke before any response. */
      readonly isConnectionLost: boolean
      readonly toError: ToError
    }
  | { readonly status: 'limited'; readonly waitMs: number | undefined; readonly toError: ToError }
  | { readonly status: 'split'; readonly cause: 'too_large'; readonly toError: ToError }
  | {
      readonly status: 'split'
      readonly cause: 'refused'
      /** Only for comparison: may hold what the request held, credentials included. */
      readonly text: string
      readonly toError: ToError
    }
  | { readonly status: 'renew'; readonly toError: ToError }
  | { readonly status: 'failed'; readonly code: FailureCode; readonly toError: ToError }

/**
 * Reads a response, or the lack of one.
 *
 * @param isRenewable Whether other credentials can be had.
 * @param nowMs Milliseconds since the epoch, for dates in headers.
 */
export function readResult(
  result: ExchangeResult,
  isRenewable: boolean,
  nowMs: number,
  toError: ToError,
): SendResult {
  const { status } = result
  if (status === undefined) {
    return { status: 'retry', floorMs: undefined, isConnectionLost: isConnectionLost(result.cause), toError }
  }
  const read: ReadHeader = (name) => headerValue(result.headers, name)
  const action = classify(status, isRenewable)
  switch (action) {
    case 'delivered':
      return { status: 'delivered', restMs: retryAfterMs(read, nowMs) }
    case 'retry':
      return { status: 'retry', floorMs: retryAfterMs(read, nowMs), isConnectionLost: false, toError }
    case 'limited':
      return { status: 'limited', waitMs: rateLimitMs(read, nowMs), toError }
    case 'split':
      return { status: action, cause: 'too_large', toError }
    case 'refuse':
      return { status: 'split', cause: 'refused', text: `${status} ${result.body}`, toError }
    case 'renew':
      return { status: action, toError }
    default:
      return { status: 'failed', code: action, toError }
  }
}
