import type { DueDelivery } from '../store/deliveries.ts'

export interface AttemptResult {
  result: 'delivered' | 'retry' | 'failed'
  /** Null if it was delivered. */
  reason: string | null
}

export const DELIVERED: AttemptResult = { result: 'delivered', reason: null }

export interface Sender {
  /** Number of deliveries that are attempted at the same time. */
  readonly limit: number
  /** Longest wait after the first failure, in milliseconds. Doubles with each further failure, up to a minute. */
  readonly firstDelayMs: number
  /** Whether a delivery that was tried this often, and failed again, is given up. */
  isGivenUp(delivery: DueDelivery, attempts: number, nowMs: number): boolean
  /** Resolves with the result of each delivery, in order. Never rejects. */
  send(deliveries: readonly DueDelivery[], signal: AbortSignal): Promise<AttemptResult[]>
}

/** Describes why a request had no response. The same cause always has the same description. */
export function connectionReason(cause: unknown): string {
  const { name, code, cause: inner } = cause as NodeJS.ErrnoException & { cause?: NodeJS.ErrnoException }
  if (name === 'TimeoutError') return 'no answer in time'
  // `fetch` refuses the ports of some other protocols, as browsers do.
  if (inner?.message === 'bad port') return 'fetch does not allow this port'
  const known = inner?.code ?? code
  return typeof known === 'string' ? known : 'the connection failed'
}
