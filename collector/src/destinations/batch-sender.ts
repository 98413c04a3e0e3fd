import type { ClaimedDelivery } from '../store/ports.ts'
import type { AttemptResult } from './webhook.ts'

/** Carries events to a destination that takes many at a time. */
export interface BatchSender {
  /** Most events of a batch. */
  readonly limit: number
  /** Within this time a batch has come to its end, milliseconds. */
  readonly longestMs: number
  /** The least time between the ends of batches that were not full, milliseconds: who waits a little has more to send at once. */
  readonly intervalMs: number
  /** Longest wait before a batch that failed is tried again, milliseconds; doubles from there to a minute. */
  readonly firstDelayMs: number
  /** Gets the destination ready before there is anything to send. Never rejects: what is wrong shows at the first batch. */
  prepare(signal: AbortSignal): Promise<void>
  /** Attempts to deliver; resolves with what became of each event, in order. Never rejects. */
  send(batch: readonly ClaimedDelivery[], signal: AbortSignal): Promise<AttemptResult[]>
  close(): Promise<void>
}
