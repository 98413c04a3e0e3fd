import { SettingsError } from '../errors/errors.ts'
import type { ByteHTTPClient, HTTPResponse } from '../http/client.ts'
import { describe, isRecord } from '../message/describe.ts'
import type { AnalyticsSettings } from '../settings/settings.ts'

/** The members of an axios instance that are used. */
export interface AxiosLike {
  /** Posts a body. Resolves with every status, because the `config` contains a `validateStatus` that accepts all. */
  // biome-ignore lint/suspicious/noExplicitAny: axios declares its own types, and axios is not a dependency of this package
  post(url: string, body?: any, config?: any): Promise<any>
}

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
  /** Longest time for one request: milliseconds, or a string such as `'10s'`. Default: 10,000 ms. */
  timeout?: number | string | false | undefined
  /** Maximum bytes of a request body. Default: 460,800. */
  maxQueueSize?: number | undefined
  /** Called with the error of each batch that is lost. With it, `flush()` does not reject. Default: none. */
  errorHandler?: ((error: Error) => unknown) | undefined
  /**
   * An axios instance that makes the requests, with its interceptors, agents and proxies, but without its retries. Default:
   * none.
   */
  axiosInstance?: AxiosLike | undefined
  /** Only `retries` is used: it is the default of `retryCount`. Default: none. */
  axiosRetryConfig?: { retries?: number; [name: string]: unknown } | undefined
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

/**
 * Older versions of RudderStack's library took the URL of the data plane as a string here. If the URL were ignored, events
 * would be sent to the wrong service.
 *
 * @throws SettingsError unless `given` is an object, `null` or `undefined`.
 */
export function readOptions(given: RudderOptions | null | undefined): RudderOptions {
  if (given === undefined || given === null) return {}
  if (isRecord(given)) return given
  throw new SettingsError('options', `expected an object, such as { dataPlaneUrl }, got ${describe(given)}`)
}

const MIN_BODY_BYTES = 36_864
const MAX_BODY_BYTES = 500_000

/** @throws SettingsError for `axiosConfig`, and for an invalid `errorHandler`, `axiosInstance` or `timeout`. */
export function toSettings(writeKey: string, given: RudderOptions, isRudder: boolean): AnalyticsSettings {
  const {
    dataPlaneUrl,
    host,
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
    axiosInstance,
    axiosRetryConfig,
    ...rest
  } = given
  if ((rest as { axiosConfig?: unknown }).axiosConfig != null) {
    throw new SettingsError(
      'axiosConfig',
      'write axiosInstance: axios.create(axiosConfig), or give an httpClient',
    )
  }
  // The value may be `false`, as in `errorHandler: isProduction && report`.
  if (errorHandler && typeof errorHandler !== 'function')
    throw new SettingsError('errorHandler', `expected a function, got ${describe(errorHandler)}`)
  const settings: AnalyticsSettings = {
    ...rest,
    writeKey,
    host: dataPlaneUrl || host,
    // As in both libraries: a `flushAt` below 1 counts as 1, and one that is not a number as the default. A `flushInterval` of
    // 0 also means the default.
    flushAt: Math.max(Number(flushAt), 1) || 20,
    flushInterval: flushInterval || undefined,
    maxRetries: rest.maxRetries ?? retryCount ?? axiosRetryConfig?.retries,
    httpRequestTimeout: rest.httpRequestTimeout ?? toMs(timeout),
    maxBodyBytes: rest.maxBodyBytes ?? clampBody(maxQueueSize || 1_024 * 450),
    disable: enable === false ? true : rest.disable,
    strict: rest.strict ?? true,
    httpClient: rest.httpClient ?? (axiosInstance == null ? undefined : axiosClient(axiosInstance)),
  }
  if (!isRudder) return settings
  return {
    ...settings,
    host: settings.host ?? 'https://hosted.rudderlabs.com',
    maxQueueSize: maxInternalQueueSize || 20_000,
    compress: rest.compress ?? (gzip === false ? 'none' : 'gzip'),
  }
}

function clampBody(bytes: number): number {
  return Math.min(Math.max(bytes, MIN_BODY_BYTES), MAX_BODY_BYTES)
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Returns the timeout in milliseconds. Reads the format of the package `ms`, up to hours: `'500'`, `'10s'`, `'2 minutes'`. */
function toMs(timeout: number | string | false | undefined): number | undefined {
  if (typeof timeout === 'number') return timeout || undefined
  if (typeof timeout !== 'string') return undefined
  const [, digits, word = 'ms'] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]+)?\s*$/i.exec(timeout) ?? []
  const name = word.toLowerCase()
  const unit =
    UNITS[name === 'ms' || name.startsWith('mil') || name.startsWith('msec') ? 'ms' : name.charAt(0)]
  if (digits !== undefined && unit !== undefined) return Math.round(Number(digits) * unit)
  throw new SettingsError('timeout', "expected milliseconds, or a text such as '10s'")
}

/** The client itself handles redirects, statuses and retries, so axios must not. */
function axiosClient(axios: AxiosLike): ByteHTTPClient {
  if (typeof axios.post !== 'function')
    throw new SettingsError(
      'axiosInstance',
      `expected an instance of axios, got ${describe(axios)} without post()`,
    )
  const asItIs = (data: unknown): unknown => data
  return {
    takesBytes: (isCompressed = false) => isCompressed,
    makeRequest: async ({ url, body, headers, httpRequestTimeout, signal }): Promise<HTTPResponse> => {
      const response = await axios.post(url, body, {
        headers,
        timeout: httpRequestTimeout,
        signal,
        maxRedirects: 0,
        responseType: 'text',
        validateStatus: () => true,
        transformRequest: [asItIs],
        transformResponse: [asItIs],
        // Turns off axios-retry, which the instance may use.
        'axios-retry': { retries: 0 },
      })
      const { status, statusText, headers: responseHeaders, data } = response
      return { status, statusText, headers: responseHeaders, text: async () => String(data ?? '') }
    },
  }
}
