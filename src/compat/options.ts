import { SettingsError } from '../errors/errors.ts'
import { describe, isRecord } from '../message/describe.ts'
import type { AnalyticsSettings } from '../settings/settings.ts'

/** The options of `analytics-node` 6. The settings of Trackpost are accepted too. */
export interface AnalyticsNodeOptions extends Omit<AnalyticsSettings, 'writeKey' | 'maxQueueSize'> {
  /** Base URL of the API. Default: `https://api.segment.io`. */
  host?: string | undefined
  /** With `false`, nothing is sent, but callbacks run. Default: `true`. */
  enable?: boolean | undefined
  /** Events queued before a batch is sent. Default: 20. */
  flushAt?: number | undefined
  /** Retries of a batch. Default: 3. */
  retryCount?: number | undefined
  /** Longest time for one request. Default: 10,000 ms. */
  timeout?: number | false | undefined
  /** Maximum bytes of a request body. Default: 460,800. */
  maxQueueSize?: number | undefined
  /** Called with the error of each batch that is lost. With it, `flush()` does not reject. Default: none. */
  errorHandler?: ((error: Error) => unknown) | undefined
  /** Has no effect, as in `analytics-node`. Set the property `flushed` of the client. */
  flushed?: boolean | undefined
}

/** The options of `@rudderstack/rudder-sdk-node` 3. The settings of Trackpost are accepted too. */
export interface RudderOptions extends AnalyticsNodeOptions {
  /** Base URL of the data plane. Default: `https://hosted.rudderlabs.com`. */
  dataPlaneUrl?: string | undefined
  /** Maximum number of events that wait. Default: 20,000. */
  maxInternalQueueSize?: number | undefined
  /** Compresses request bodies. Default: `true`. */
  gzip?: boolean | undefined
  /** Has no effect. Use the setting `logger`. */
  logLevel?: string | undefined
}

/** Older versions of RudderStack's library took the URL of the data plane as a string here: events would go to the wrong service. */
export function readOptions(given: RudderOptions | null | undefined): RudderOptions {
  if (given === undefined || given === null) return {}
  if (isRecord(given)) return given
  throw new SettingsError('options', `expected an object, such as { dataPlaneUrl }, got ${describe(given)}`)
}

const MIN_BODY_BYTES = 36_864
const MAX_BODY_BYTES = 500_000

export function toSettings(writeKey: string, given: RudderOptions, isRudder: boolean): AnalyticsSettings {
  const {
    dataPlaneUrl,
    host,
    path,
    enable,
    flushAt,
    flushInterval,
    retryCount,
    timeout,
    maxQueueSize,
    maxInternalQueueSize,
    gzip,
    logLevel: _logLevel,
    flushed: _flushed,
    errorHandler,
    axiosConfig,
    axiosInstance,
    axiosRetryConfig,
    ...rest
  } = given as RudderOptions & { readonly [name: `axios${string}`]: unknown }
  for (const [name, value] of Object.entries({ axiosConfig, axiosInstance, axiosRetryConfig })) {
    if (value != null)
      throw new SettingsError(name, 'requests are not made by axios; give an httpClient, and maxRetries')
  }
  // The value may be `false`, as in `errorHandler: isProduction && report`.
  if (errorHandler && typeof errorHandler !== 'function')
    throw new SettingsError('errorHandler', `expected a function, got ${describe(errorHandler)}`)
  const settings: AnalyticsSettings = {
    ...rest,
    writeKey,
    host: dataPlaneUrl || host || undefined,
    path: path?.replace(/\/+$/, '') || undefined,
    // As in both libraries: a `flushAt` below 1 counts as 1, and one that is not a number as the default. A `flushInterval` of
    // 0 also means the default.
    flushAt: Math.max(Number(flushAt), 1) || 20,
    flushInterval: flushInterval || undefined,
    maxRetries: rest.maxRetries ?? retryCount ?? undefined,
    httpRequestTimeout: rest.httpRequestTimeout ?? (timeout || undefined),
    maxBodyBytes:
      rest.maxBodyBytes ?? Math.min(Math.max(maxQueueSize || 460_800, MIN_BODY_BYTES), MAX_BODY_BYTES),
    disable: enable === false ? true : rest.disable,
    strict: rest.strict ?? true,
  }
  if (!isRudder) return settings
  return {
    ...settings,
    host: settings.host ?? 'https://hosted.rudderlabs.com',
    maxQueueSize: maxInternalQueueSize || 20_000,
    compress: rest.compress ?? (gzip === false ? 'none' : 'gzip'),
  }
}
