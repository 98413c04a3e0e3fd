import type { ClaimedDelivery } from './store/ports.ts'

export type AttemptResult =
  | { result: 'delivered' }
  | { result: 'retry'; reason: string }
  | { result: 'failed'; reason: string }

/** A destination that takes events in batches. */
export interface BatchSender {
  /** Maximum number of events in a batch. */
  readonly limit: number
  /** Time limit for a batch. */
  readonly longestMs: number
  /** Shortest wait after a batch that was not full: the wait makes the next batch larger. */
  readonly intervalMs: number
  /** Longest wait after the first failure of a batch. Doubles with each further failure, up to a minute. */
  readonly firstDelayMs: number
  /** Prepares the destination before there are events. Never rejects: the first batch reports the problem. */
  prepare(signal: AbortSignal): Promise<void>
  /** Resolves with the result of each event, in order. Never rejects. */
  send(batch: readonly ClaimedDelivery[], signal: AbortSignal): Promise<AttemptResult[]>
  close(): Promise<void>
}
