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
  /** The records that match, oldest first; all of them when there is no filter. */
  events(query?: EventQuery): EventRecord[]
  /** The newest record that matches; undefined when there is none. */
  findLast(filter?: EventFilter): EventRecord | undefined
  /** How many records match. */
  count(filter?: EventFilter): number
  stats(): Stats
  /** Forgets all records and the memory of messageIds. It is done when the call returns; the promise says whether it could be. */
  clear(): Promise<void>
  /**
   * Has the next requests to `/v1` and `/token` get a fault in place of the usual response; several calls make a script.
   *
   * @example collector.respondNext({ status: 503, headers: { 'retry-after': '1' }, times: 2 })
   * @throws FaultError when a value cannot be used.
   */
  respondNext(fault: FaultOptions): FaultRule
  /** The faults that are set, the rate of failures, and how many requests got one so far. */
  faults(): FaultState
  /** Removes all faults, `failRate` too. */
  clearFaults(): void
  /**
   * Makes all tokens given out so far invalid, also those that other processes on the same store or log gave out: here from the call on, there
   * within a second after the promise resolves. It rejects when the store cannot be written to.
   */
  revokeTokens(): Promise<void>
  /**
   * Says that the end is near: `/readyz` turns 503 and connections end with their next response, so that clients and load balancers
   * go elsewhere. Requests are taken as before until `close()`.
   */
  drain(): void
  /** Finishes requests in flight, commits what they brought, and lets go of port and file. */
  close(): Promise<void>
}
