/**
 * What to do about a response.
 *
 * - `delivered`: every event of the batch arrived
 * - `retry`: a counted retry
 * - `limited`: everything waits; a counted retry only when the response does not say for how long
 * - `split`: halve the batch and send again: it is too large
 * - `refuse`: the batch, or one event of it, is bad: halve it and send again to find out
 * - `renew`: get a new token and send again, once
 * - `rejected`, `auth`: final
 */
export type Action = 'delivered' | 'retry' | 'limited' | 'split' | 'refuse' | 'renew' | 'rejected' | 'auth'

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
      return 'refuse'
    case 429:
      return 'limited'
    case 408:
    case 410:
    case 425:
    case 460:
      return 'retry'
    case 501:
    case 505:
      return 'rejected'
  }
  if (status >= 200 && status < 300) return 'delivered'
  // Not an HTTP status: the response is broken, and the next one may not be.
  if (status < 200 || status >= 600) return 'retry'
  return status >= 500 ? 'retry' : 'rejected'
}
