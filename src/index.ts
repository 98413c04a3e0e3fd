export { Analytics, Analytics as default } from './analytics.ts'
export type { ScopedTracker } from './client/trackers.ts'
export type { Verification } from './client/verify.ts'
export type { FlushSummary, Stats } from './core/counts.ts'
export type { Status } from './core/status.ts'
export type { RequestInfo, ResponseInfo } from './delivery/facts.ts'
export {
  type CancelationReason,
  ContextCancelation,
  DeliveryError,
  FAILURE_CODES,
  type FailureCode,
  SettingsError,
  TrackpostError,
} from './errors/errors.ts'
export type { Emitter } from './events/emitter.ts'
export type {
  AnalyticsEvents,
  ErrorEvent,
  FlushOptions,
  WarningEvent,
} from './events/events.ts'
export type { LastError } from './events/observer.ts'
export type {
  AbortSignalLike,
  AbortSignalOf,
  ByteHTTPClient,
  HeadersLike,
  HTTPClient,
  HTTPClientRequest,
  HTTPFetchFn,
  HTTPFetchRequest,
  HTTPHeaders,
  HTTPResponse,
} from './http/client.ts'
export { FetchHTTPClient } from './http/fetch-client.ts'
export type { Scope } from './message/scope.ts'
export type {
  Campaign,
  CommonTraits,
  EventProperties,
  ExtraContext,
  GroupTraits,
  Id,
  Integrations,
  JSONObject,
  PageContext,
  Timestamp,
  UserTraits,
} from './message/shapes.ts'
export type {
  AliasParams,
  AnyEvents,
  CommonParams,
  EventName,
  GroupParams,
  IdentifyParams,
  Identity,
  Kind,
  Message,
  PageParams,
  ScopedIdentity,
  ScreenParams,
  TrackParams,
  TypedEvent,
} from './message/types.ts'
export {
  type Callback,
  Context,
  type ContextEvent,
  type ContextInput,
  type ContextJSON,
  type FailedDelivery,
} from './pipeline/context.ts'
export type { ContextLogger, ContextStats, LogEntry, LogLevel, Metric } from './pipeline/notes.ts'
export type { Handler, HandlerResult, Plugin, PluginHost, PluginType } from './pipeline/plugin.ts'
export type { EventResult, PluginFunction } from './pipeline/registration.ts'
export type { Tracker, TrackerPromises } from './pipeline/tracker.ts'
export type { Logger } from './runtime/log.ts'
export type {
  AnalyticsSettings,
  OAuthSettings,
  PublicSettings,
} from './settings/settings.ts'
export type { Signer } from './settings/signer.ts'
