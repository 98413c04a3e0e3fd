import type { FaultOptions, FaultRule, FaultState } from './faults/rules.ts'
import type { Stats } from './live/stats.ts'
import type { WaitOptions } from './live/waiters.ts'
import type { EventRecord } from './record.ts'
import type { EventFilter, EventQuery } from './search/filter.ts'

/** A running collector. */
export interface Collector extends AsyncDisposable {
  /** Base address, without a slash at the end: the `host` of a client. */
  readonly url: string
  readonly port: number
  /** Resolves with the matching records as soon as there are `count`; rejects with `WaitTimeoutError`. */
  waitFor(options: WaitOptions): Promise<EventRecord[]>
  /** The records that match, oldest first unless `order` says otherwise; all of them when there is no filter. */
  events(query?: EventQuery): EventRecord[]
  /** The newest record that matches; undefined when there is none. */
  findLast(filter?: EventFilter): EventRecord | undefined
  /** How many records match. */
  count(filter?: EventFilter): number
  stats(): Stats
  /**
   * Deletes all records and known messageIds; in SQLite, before the call returns. The promise rejects if they could not be
   * deleted.
   */
  clear(): Promise<void>
  /**
   * Gives the next requests to `/v1` and `/token` a fault instead of the usual response. Several calls make a sequence.
   *
   * @example collector.respondNext({ status: 503, headers: { 'retry-after': '1' }, times: 2 })
   * @throws FaultError when a value cannot be used.
   */
  respondNext(fault: FaultOptions): FaultRule
  /** The active faults, the fail rate, and how many requests have got a fault so far. */
  faults(): FaultState
  /** Removes all faults, `failRate` too. */
  clearFaults(): void
  /**
   * Revokes all tokens, also those that other processes on the same store or log have issued: in this process at once, in the
   * others within a second after the promise resolves. Rejects when the store cannot be written to.
   */
  revokeTokens(): Promise<void>
  /**
   * Announces the end: `/readyz` responds with 503 and connections close after their next response, so that clients and load
   * balancers use another collector. Requests are accepted as before until `close()`.
   */
  drain(): void
  /** Finishes the requests in flight, commits their events, and closes the port and the store. */
  close(): Promise<void>
}
