export type { Clock } from './clock.ts'
export type { ConfigInput as CollectorConfig } from './config/config.ts'
export { ConfigError } from './config/config-error.ts'
export { FaultError, type FaultOptions, type FaultRule, type FaultState } from './faults/rules.ts'
export type { Collector } from './handle.ts'
export type { ServerLimits } from './http/server.ts'
export type { Stats } from './live/stats.ts'
export { type WaitOptions, WaitTimeoutError } from './live/waiters.ts'
export type { CollectorOptions } from './options.ts'
export type { TrackingPlanFile } from './plan/plan.ts'
export {
  type DestinationOutcome,
  type EventRecord,
  type EventSummary,
  KINDS,
  type Kind,
  type Message,
  type PreviewEntry,
  REASONS,
  type Reason,
} from './record.ts'
export type { EventFilter, EventQuery } from './search/filter.ts'
export { SearchSyntaxError } from './search/syntax.ts'
export { startCollector } from './start.ts'
