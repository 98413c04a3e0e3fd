export type { Clock } from './clock.ts'
export type { ConfigInput as CollectorConfig } from './config/config.ts'
export { ConfigError } from './config/config-error.ts'
export { isSwitchedOn } from './destinations/select.ts'
export { FaultError, type FaultOptions, type FaultRule, type FaultState } from './faults/rules.ts'
export type { Feed, FeedParts } from './feed.ts'
export { createFront, type Front, type FrontOptions } from './front.ts'
export type { Collector } from './handle.ts'
export type { ServerLimits } from './http/server.ts'
export type { Stats } from './live/stats.ts'
export { type WaitOptions, WaitTimeoutError } from './live/waiters.ts'
export type { NewEvent, PlannedDelivery, SentDifference } from './new-event.ts'
export type { Counted } from './ops/counts.ts'
export type { CollectorOptions } from './options.ts'
export type { TrackingPlanFile } from './plan/plan.ts'
export {
  type DestinationOutcome,
  type EventRecord,
  type EventStatus,
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
