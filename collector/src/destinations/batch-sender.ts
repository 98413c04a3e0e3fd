import type { ClaimedDelivery } from '../store/ports.ts'
import type { AttemptResult } from './webhook.ts'

/** Sends events to a destination that accepts many events at a time. */
export interface BatchSender {
  /** Maximum number of events in a batch. */
  readonly limit: number
  /** Time limit for a batch, in milliseconds. */
  readonly longestMs: number
  /** Shortest wait after a batch that was not full, in milliseconds: the wait makes the next batch larger. */
  readonly intervalMs: number
  /** Longest wait before a failed batch is tried again, in milliseconds. Doubles with each failure, up to a minute. */
  readonly firstDelayMs: number
  /** Prepares the destination before there are events. Never rejects: the first batch reports the problem. */
  prepare(signal: AbortSignal): Promise<void>
  /** Tries to deliver a batch. Resolves with the result of each event, in order. Never rejects. */
  send(batch: readonly ClaimedDelivery[], signal: AbortSignal): Promise<AttemptResult[]>
  close(): Promise<void>
}
