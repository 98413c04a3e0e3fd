import type { FaultOptions, FaultRule, FaultState } from './faults/rules.ts'
import type { Stats } from './live/stats.ts'
import type { WaitOptions } from './live/waiters.ts'
import type { EventRecord } from './record.ts'
import type { EventFilter, EventQuery } from './search/filter.ts'

/** A running collector. */
export interface Collector extends AsyncDisposable {
  /** Base URL without a slash at the end. Use it as the `host` of a client. */
  readonly url: string
  readonly port: number
  /** Resolves with the matching records once there are `count` of them. Rejects with `WaitTimeoutError`. */
  waitFor(options: WaitOptions): Promise<EventRecord[]>
  /** Returns the matching records; without a filter, all records. The oldest is first, unless `order` says otherwise. */
  events(query?: EventQuery): EventRecord[]
  /** Returns the newest matching record; undefined if there is none. */
  findLast(filter?: EventFilter): EventRecord | undefined
  /** Returns the number of matching records. */
  count(filter?: EventFilter): number
  stats(): Stats
  /** Deletes all records before the call returns. Rejects if the deletion fails. */
  clear(): Promise<void>
  /**
   * Injects a fault into the next requests to `/v1` and `/token`. Several calls make a sequence.
   *
   * @example collector.respondNext({ status: 503, headers: { 'retry-after': '1' }, times: 2 })
   * @throws FaultError when a value cannot be used.
   */
  respondNext(fault: FaultOptions): FaultRule
  /** Returns the active faults, and the number of requests that have got a fault so far. */
  faults(): FaultState
  /** Removes all faults. */
  clearFaults(): void
  /** Revokes all tokens. */
  revokeTokens(): Promise<void>
  /** Finishes the requests in flight, commits their events, and closes the port and the store. */
  close(): Promise<void>
}
