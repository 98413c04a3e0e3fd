/**
 * The interfaces that a store, a log and a destination implement, with what each implementation needs. `trackpost-cluster` is
 * written with this module alone, and with `sql` for its store.
 */
export type { AttemptResult, BatchSender } from './batch-sender.ts'
export { type Clock, sleep } from './clock.ts'
export { ConfigError } from './config/config-error.ts'
export { connectionReason } from './destinations/reason.ts'
export type { ClickHouseConfig, Drivers, LogParts, StoreParts } from './drivers.ts'
export { exactDigits, parseExact, parseInexact, stringifyExact } from './json/exact-json.ts'
export { limited } from './limited.ts'
export type {
  DeadLetter,
  DeadLetters,
  EventWriter,
  LogWorker,
  LogWorkerParts,
  SharedLog,
} from './log/ports.ts'
export type { LogLag, PartHealth } from './part-health.ts'
export { decoded } from './percent-decoding.ts'
export type { TrackingPlan } from './plan/plan.ts'
export { type EventSummary, TEXT_NAMES } from './record.ts'
export { AddressError, shownAddress } from './store/address.ts'
export type {
  EventReader,
  QueryName,
  QueryParameters,
  QueryResult,
  TimeRange,
} from './store/event-reader.ts'
export type { EventStore, LocalRecords, StoreListener, Total, Totals } from './store/event-store.ts'
export * from './store/ports.ts'
export { markUnavailable, NewerStoreError, StoreUnavailableError } from './store/unavailable.ts'
export { holdFor, systemClock } from './system-clock.ts'
