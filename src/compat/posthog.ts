import { Analytics } from '../analytics.ts'
import { SettingsError } from '../errors/errors.ts'
import { fromCaller } from '../errors/guard.ts'
import type { HTTPFetchFn } from '../http/client.ts'
import { describe, isRecord } from '../message/describe.ts'
import type { AnalyticsSettings } from '../settings/settings.ts'

/** Options of `posthog-node` 5 that have no effect here. */
const IGNORED = [
  'addTracingHeaders',
  'appHost',
  'bootstrap',
  'custom_blocked_useragents',
  'disable_capture_url_hashes',
  'disableCompression',
  'disableGeoip',
  'disableRemoteConfig',
  'disableRemoteFeatureFlags',
  'disableSurveys',
  'emailRequestMaxRetries',
  'emailRequestTimeoutMs',
  'enableExceptionAutocapture',
  'enableFullAiCapture',
  'enableLocalEvaluation',
  'evaluationContexts',
  'evaluationEnvironments',
  'exceptionRateLimiterBucketSize',
  'exceptionRateLimiterRefillRate',
  'featureFlagsLogWarnings',
  'featureFlagsPollingInterval',
  'featureFlagsRequestMaxRetries',
  'featureFlagsRequestTimeoutMs',
  'fetchRetryDelay',
  'flagDefinitionCacheProvider',
  'historicalMigration',
  'isServer',
  'logs',
  'maxCacheSize',
  'metrics',
  'migratedFrom',
  'persistence',
  'personalApiKey',
  'personProfiles',
  '__preview_capture_bot_pageviews',
  'preloadFeatureFlags',
  'privacyMode',
  'readPostHogCookie',
  'remoteConfigRequestTimeoutMs',
  'secretKey',
  'sendFeatureFlagEvent',
  'sessionExpirationTimeSeconds',
  'strictLocalEvaluation',
  'traces',
  'waitUntilDebounceMs',
  'waitUntilMaxWaitMs',
] as const

/**
 * The options of `posthog-node` 5. Those for what does not exist here, such as `disableGeoip` and `personalApiKey`, have no
 * effect; the migration guide lists them.
 */
export type PostHogOptions = PostHogEventOptions & Partial<Record<(typeof IGNORED)[number], unknown>>

/** The options of `posthog-node` 5 that have a counterpart. The settings of Trackpost are accepted too. */
export interface PostHogEventOptions extends Omit<AnalyticsSettings, 'writeKey'> {
  /** Base URL of a service with the Segment API; not that of PostHog, which has another API. Default: that of the region. */
  host?: string | undefined
  /** Events queued before a batch is sent. Default: 20. */
  flushAt?: number | undefined
  /** Milliseconds after which queued events are sent. Default: 5,000. */
  flushInterval?: number | undefined
  /** Maximum number of events in a batch. Default: 2,500; see `maxEventsInBatch`. */
  maxBatchSize?: number | undefined
  /** Maximum number of events that wait. Default: 10,000. */
  maxQueueSize?: number | undefined
  /** Retries of an event. Default: 3, as without this option; see `maxRetries`. */
  fetchRetryCount?: number | undefined
  /** Longest time for one request, in milliseconds. Default: 10,000. */
  requestTimeout?: number | undefined
  /** With `true`, nothing is sent. Default: `false`. */
  disabled?: boolean | undefined
  /** Sends the requests. Default: `httpClient`. */
  fetch?: HTTPFetchFn | undefined
}

/** The argument of {@link PostHog.capture}. */
export interface EventMessage {
  /** Id of the user. Without it, the event fails with `invalid`: there are no generated ids. */
  distinctId?: string | undefined
  /** Name of the event. `$pageview` becomes a page view, and `$screen` a screen view. */
  event: string
  /** Any properties. */
  // biome-ignore lint/suspicious/noExplicitAny: as in posthog-node
  properties?: Record<string | number, any> | undefined
  /** Sent as `context.groups`. */
  groups?: Record<string, string | number> | undefined
  /** When it happened. Default: now. */
  timestamp?: Date | undefined
  /** Sent as `messageId`, the key for deduplication. Default: a random id. */
  uuid?: string | undefined
  /** Has no effect: there are no feature flags. */
  // biome-ignore lint/suspicious/noExplicitAny: as in posthog-node
  sendFeatureFlags?: any
  /** Has no effect: the service looks up places. */
  disableGeoip?: boolean | undefined
}

/** The argument of {@link PostHog.identify}. */
export interface IdentifyMessage {
  /** Id of the user. */
  distinctId: string
  /** Facts about the user, or `{ $set, $set_once, $anon_distinct_id }`. */
  // biome-ignore lint/suspicious/noExplicitAny: as in posthog-node
  properties?: Record<string | number, any> | undefined
  /** Has no effect: the service looks up places. */
  disableGeoip?: boolean | undefined
}

/** The argument of {@link PostHog.alias}. */
export interface AliasMessage {
  /** Id of the user. */
  distinctId: string
  /** The other id of the user. */
  alias: string
  /** Has no effect: the service looks up places. */
  disableGeoip?: boolean | undefined
}

/** The argument of {@link PostHog.groupIdentify}. */
export interface GroupIdentifyMessage {
  /** Kind of the group, sent as `context.groupType`. */
  groupType: string
  /** Id of the group. */
  groupKey: string
  /** Facts about the group. */
  // biome-ignore lint/suspicious/noExplicitAny: as in posthog-node
  properties?: Record<string | number, any> | undefined
  /** Id of a user. Default: an anonymous id made from the group, as in PostHog. */
  distinctId?: string | undefined
  /** Has no effect: the service looks up places. */
  disableGeoip?: boolean | undefined
}

/**
 * A client with the API of `posthog-node` 5 for events: they are sent to a service with the Segment API. As with that library,
 * an invalid event is not thrown, but reported to `on('error')`. The migration guide in the documentation lists what differs,
 * and what stays with `posthog-node`.
 *
 * @example
 * import { PostHog } from 'trackpost/compat'
 * const posthog = new PostHog('WRITE_KEY', { host: 'https://collector.example.com' })
 * posthog.capture({ distinctId: 'ada', event: 'Signed Up', properties: { plan: 'pro' } })
 * await posthog.shutdown()
 */
export class PostHog {
  /** The `Analytics` client that sends the events: `stats`, `on`, `register` and all other features of Trackpost. */
  readonly client: Analytics

  /**
   * Makes a client.
   *
   * @param writeKey The write key of the service, not the key of a PostHog project.
   * @throws SettingsError when the key is missing, an option is invalid, `host` is PostHog's, or an option that holds back
   * events (`before_send`, `defaultOptIn: false`) has no counterpart.
   */
  constructor(writeKey: string, options: PostHogOptions = {}) {
    const settings = toSettings(writeKey, options)
    try {
      this.client = new Analytics(settings)
    } catch (error) {
      // The stack of the error starts at the line that called this constructor.
      throw fromCaller(error, new.target)
    }
  }

  /** Records an event. */
  capture(message: EventMessage): void {
    this.#capture(message)
  }

  /**
   * Records an event and sends it at once.
   *
   * @returns Resolves when the event has its outcome. As in `posthog-node`, a loss does not reject it: see `on`.
   */
  captureImmediate(message: EventMessage): Promise<void> {
    return new Promise((resolve) => this.#capture(message, () => resolve()))
  }

  /** Records who a user is. `$set` is unwrapped, and `$anon_distinct_id` becomes the `anonymousId`. */
  identify(message: IdentifyMessage): void {
    this.#identify(message)
  }

  /** Does the same as `identify`, and sends it at once. Settles as {@link captureImmediate}. */
  identifyImmediate(message: IdentifyMessage): Promise<void> {
    return new Promise((resolve) => this.#identify(message, () => resolve()))
  }

  /** Ties another id to a user. */
  alias(message: AliasMessage): void {
    this.#alias(message)
  }

  /** Does the same as `alias`, and sends it at once. Settles as {@link captureImmediate}. */
  aliasImmediate(message: AliasMessage): Promise<void> {
    return new Promise((resolve) => this.#alias(message, () => resolve()))
  }

  /** Records facts about a group. */
  groupIdentify(message: GroupIdentifyMessage): void {
    this.#groupIdentify(message)
  }

  /** Does the same as `groupIdentify`, and sends it at once. Settles as {@link captureImmediate}. */
  groupIdentifyImmediate(message: GroupIdentifyMessage): Promise<void> {
    return new Promise((resolve) => this.#groupIdentify(message, () => resolve()))
  }

  /**
   * Calls `listener` with each error: one for every lost event. Without a listener, the first loss of each reason is a process
   * warning.
   *
   * @returns A function that removes the listener.
   */
  on(event: 'error', listener: (error: Error) => void): () => void {
    const onLoss = ({ reason }: { reason: Error }): void => listener(reason)
    this.client.on(event, onLoss)
    return () => void this.client.off(event, onLoss)
  }

  /** Sends all waiting events, and resolves when every event accepted before this call has its outcome. */
  async flush(): Promise<void> {
    await this.client.flush()
  }

  /** Accepts no more events, sends those that wait, and ends the others after `shutdownTimeoutMs`. Default: 30,000. */
  async shutdown(shutdownTimeoutMs = 30_000): Promise<void> {
    await this.client.closeAndFlush({ timeout: shutdownTimeoutMs })
  }

  #capture(message: EventMessage, callback?: () => void): void {
    const { distinctId, event, properties, groups, timestamp, uuid } = message
    const common = {
      userId: distinctId as string,
      ...(properties !== undefined && { properties }),
      ...(timestamp !== undefined && { timestamp }),
      ...(uuid !== undefined && { messageId: uuid }),
      ...(groups !== undefined && { context: { groups } }),
    }
    const nameOf = (property: string): { name?: string } => {
      const name: unknown = properties?.[property]
      return typeof name === 'string' ? { name } : {}
    }
    if (event === '$pageview') this.client.page({ ...common, ...nameOf('$title') }, callback)
    else if (event === '$screen') this.client.screen({ ...common, ...nameOf('$screen_name') }, callback)
    else this.client.track({ ...common, event }, callback)
  }

  #identify({ distinctId, properties = {} }: IdentifyMessage, callback?: () => void): void {
    const { $set, $set_once, $anon_distinct_id, ...rest } = properties
    const message = {
      userId: distinctId,
      ...($anon_distinct_id !== undefined && { anonymousId: $anon_distinct_id }),
      traits: $set ?? rest,
      // A trait would overwrite the first value, so the service has to decide.
      ...($set_once !== undefined && { context: { $set_once } }),
    }
    this.client.identify(message, callback)
  }

  #alias({ distinctId, alias }: AliasMessage, callback?: () => void): void {
    this.client.alias({ userId: distinctId, previousId: alias }, callback)
  }

  #groupIdentify(
    { groupType, groupKey, properties = {}, distinctId }: GroupIdentifyMessage,
    callback?: () => void,
  ): void {
    const message = {
      ...(distinctId ? { userId: distinctId } : { anonymousId: `$${groupType}_${groupKey}` }),
      groupId: groupKey,
      traits: properties,
      context: { groupType },
    }
    this.client.group(message, callback)
  }
}

function toSettings(writeKey: string, options: PostHogOptions): AnalyticsSettings {
  if (!isRecord(options as unknown))
    throw new SettingsError('options', `expected an object, got ${describe(options)}`)
  const { maxBatchSize, fetchRetryCount, requestTimeout, disabled, fetch, ...rest } = options
  const { before_send, defaultOptIn, ...settings } = rest as typeof rest & Record<string, unknown>
  if (before_send != null) {
    throw new SettingsError('before_send', 'register a plugin of type before with client.register() instead')
  }
  if (defaultOptIn === false) {
    // If it were ignored, events would be sent without consent.
    throw new SettingsError(
      'defaultOptIn',
      'there is no optIn(); let disable be a function, () => !hasConsent',
    )
  }
  if (/(?:^|[./])posthog\.com(?=[:/]|$)/i.test(String(settings.host))) {
    throw new SettingsError('host', 'expected a service with the Segment API; PostHog has another API')
  }
  for (const name of IGNORED) delete settings[name]
  return {
    flushAt: 20,
    flushInterval: 5_000,
    maxQueueSize: 10_000,
    ...defined({
      ...settings,
      maxEventsInBatch: settings.maxEventsInBatch ?? maxBatchSize,
      maxRetries: settings.maxRetries ?? fetchRetryCount,
      httpRequestTimeout: settings.httpRequestTimeout ?? requestTimeout,
      disable: settings.disable ?? disabled,
      httpClient: settings.httpClient ?? fetch,
    }),
    writeKey,
  }
}

function defined<Value extends object>(value: Value): Partial<Value> {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as Partial<Value>
}
