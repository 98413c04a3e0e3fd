import type { ResolvedSettings } from './resolve.ts'

/** The settings in force, without secrets and functions. Each is described at `AnalyticsSettings`. */
export interface PublicSettings {
  /** Region that decides the defaults of `host` and of the token server. */
  readonly region: 'default' | 'eu'
  /** Base URL of the API. */
  readonly host: string
  /** Path of the API below `host`. */
  readonly path: string
  /** Retries of a batch after its first attempt. */
  readonly maxRetries: number
  /** Events queued before a batch is sent. */
  readonly flushAt: number
  /** Milliseconds after which queued events are sent. */
  readonly flushInterval: number
  /** Longest time for one request, in milliseconds. */
  readonly httpRequestTimeout: number
  /** Whether no requests are sent; left out where a function decides. */
  readonly disable?: boolean
  /** How request bodies are compressed. */
  readonly compress: 'none' | 'gzip'
  /** Most events that may wait. */
  readonly maxQueueSize: number
  /** Most bytes that may wait. */
  readonly maxQueueBytes: number
  /** Which event fails when the queue is full. */
  readonly overflow: 'drop-newest' | 'drop-oldest'
  /** Most bytes of one message. */
  readonly maxMessageBytes: number
  /** Most bytes of one request body. */
  readonly maxBodyBytes: number
  /** Most requests in flight. */
  readonly maxConcurrentRequests: number
  /** Longest time a batch is retried, in seconds. */
  readonly maxTotalBackoffDuration: number
  /** Longest time a batch waits for a rate limit to end, in seconds. */
  readonly maxRateLimitDuration: number
  /** Whether invalid calls throw. */
  readonly strict: boolean
  /** How long a process with nothing else to do stays alive to deliver, in milliseconds. */
  readonly exitTimeout: number
}

/** The settings that `initialize` listeners see: nothing that may be a secret, and no functions. */
export function publicSettings(settings: ResolvedSettings): PublicSettings {
  const { writeKey, headers, logger, httpClient, oauthSettings, scope, spool, waitUntil, ...shown } = settings
  const { isMaxRetriesGiven, maxRequestEvents, disable, ...rest } = shown
  return typeof disable === 'boolean' ? { ...rest, disable } : rest
}
