import type { ClaimedDelivery } from '../store/ports.ts'
import type { AttemptResult } from './webhook.ts'

/** Sends events in batches to a destination that accepts many at a time. */
export interface BatchSender {
  /** Maximum number of events in a batch. */
  readonly limit: number
  /** Time limit of a batch, milliseconds. */
  readonly longestMs: number
  /**
   * Shortest time between the end of a batch that was not full and the next batch, milliseconds: a short wait makes larger
   * batches.
   */
  readonly intervalMs: number
  /** Longest wait before a failed batch is tried again, milliseconds; doubles with each failure, up to a minute. */
  readonly firstDelayMs: number
  /** Prepares the destination before there are events. Never rejects: problems show with the first batch. */
  prepare(signal: AbortSignal): Promise<void>
  /** Attempts to deliver; resolves with the result of each event, in order. Never rejects. */
  send(batch: readonly ClaimedDelivery[], signal: AbortSignal): Promise<AttemptResult[]>
  close(): Promise<void>
}
