import type { AttemptResult } from '../batch-sender.ts'
import type { DestinationConfig } from '../config/schema.ts'
import type { ClaimedDelivery } from '../store/ports.ts'
import { connectionReason } from './reason.ts'

// The 4xx status codes after which a retry may help. After any other, the next response would be the same.
const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

/** Does not follow redirects: messages go only to the URL of the configuration. */
export async function postMessage(
  destination: Extract<DestinationConfig, { type: 'webhook' }>,
  delivery: ClaimedDelivery,
  signal: AbortSignal,
): Promise<AttemptResult> {
  try {
    const response = await fetch(destination.url, {
      method: 'POST',
      headers: {
        ...destination.headers,
        'content-type': 'application/json',
        // The same in every attempt, so that the receiver can recognise repeats.
        'idempotency-key': delivery.key,
        'x-trackpost-attempt': String(delivery.attempts + 1),
      },
      body: delivery.body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(destination.timeout)]),
    })
    await response.body?.cancel()
    if (response.ok) return { result: 'delivered' }
    const canRetry = response.status >= 500 || RETRIED_STATUSES.has(response.status)
    return { result: canRetry ? 'retry' : 'failed', reason: `answered ${response.status}` }
  } catch (cause) {
    return { result: 'retry', reason: connectionReason(cause) }
  }
}
