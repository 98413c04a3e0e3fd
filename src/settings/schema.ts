import type { AnalyticsSettings, OAuthSettings } from './settings.ts'

/** `min` and `max` are inclusive. */
export type Rule =
  | {
      readonly type: 'integer'
      readonly default: number
      readonly min: number
      readonly max: number
      readonly unit: string
    }
  | { readonly type: 'choice'; readonly default: string; readonly choices: readonly string[] }
  | { readonly type: 'boolean' | 'boolean or function'; readonly default: boolean }
  | { readonly type: 'string'; readonly default: string | undefined }
  | { readonly type: 'function' | 'client' | 'object'; readonly default: undefined }

/** Of a timer. */
const MAX_DELAY_MS = 2_147_483_647
const MAX_DELAY_S = 2_147_483

/** The default `undefined` means that the setting is required, has no default, or depends on the region. */
export const SETTINGS = {
  writeKey: { type: 'string', default: undefined },
  region: { type: 'choice', default: 'default', choices: ['default', 'eu'] },
  host: { type: 'string', default: undefined },
  path: { type: 'string', default: '/v1/batch' },
  maxRetries: { type: 'integer', default: 3, min: 0, max: 1_000, unit: 'retries' },
  flushAt: { type: 'integer', default: 15, min: 1, max: 1_000_000, unit: 'events' },
  maxEventsInBatch: { type: 'integer', default: 2_500, min: 1, max: 1_000_000, unit: 'events' },
  flushInterval: { type: 'integer', default: 10_000, min: 0, max: MAX_DELAY_MS, unit: 'ms' },
  httpRequestTimeout: { type: 'integer', default: 10_000, min: 1, max: MAX_DELAY_MS, unit: 'ms' },
  disable: { type: 'boolean or function', default: false },
  headers: { type: 'object', default: undefined },
  compress: { type: 'choice', default: 'none', choices: ['none', 'gzip'] },
  logger: { type: 'object', default: undefined },
  httpClient: { type: 'client', default: undefined },
  oauthSettings: { type: 'object', default: undefined },
  maxQueueSize: { type: 'integer', default: 100_000, min: 1, max: 100_000_000, unit: 'events' },
  maxQueueBytes: {
    type: 'integer',
    default: 33_554_432,
    min: 1_024,
    max: 17_179_869_184,
    unit: 'bytes',
  },
  maxMessageBytes: { type: 'integer', default: 32_768, min: 1_024, max: 16_777_216, unit: 'bytes' },
  maxBodyBytes: { type: 'integer', default: 500_000, min: 8_192, max: 268_435_456, unit: 'bytes' },
  maxConcurrentRequests: { type: 'integer', default: 4, min: 1, max: 1_000, unit: 'requests' },
  maxTotalBackoffDuration: { type: 'integer', default: 43_200, min: 1, max: MAX_DELAY_S, unit: 's' },
  maxRateLimitDuration: { type: 'integer', default: 43_200, min: 1, max: MAX_DELAY_S, unit: 's' },
  strict: { type: 'boolean', default: false },
  scope: { type: 'function', default: undefined },
  spool: { type: 'object', default: undefined },
  waitUntil: { type: 'function', default: undefined },
  exitTimeout: { type: 'integer', default: 5_000, min: 0, max: MAX_DELAY_MS, unit: 'ms' },
} as const satisfies { readonly [Name in keyof AnalyticsSettings]-?: Rule }

export const OAUTH_SETTINGS = {
  clientId: { type: 'string', default: undefined },
  clientKey: { type: 'string', default: undefined },
  signer: { type: 'object', default: undefined },
  keyId: { type: 'string', default: undefined },
  authServer: { type: 'string', default: undefined },
  scope: { type: 'string', default: 'tracking_api:write' },
  maxRetries: {
    type: 'integer',
    default: Number.POSITIVE_INFINITY,
    min: 0,
    max: 1_000,
    unit: 'retries',
  },
  httpClient: { type: 'client', default: undefined },
} as const satisfies { readonly [Name in keyof OAuthSettings]-?: Rule }

export type NamesOf<Type extends Rule['type']> = {
  [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends { readonly type: Type } ? Name : never
}[keyof typeof SETTINGS]

/** @see docs/spec.md, section 3 */
export const REGIONS = {
  default: { host: 'https://api.segment.io', authServer: 'https://oauth2.segment.io' },
  eu: { host: 'https://events.eu1.segmentapis.com', authServer: 'https://oauth2.eu1.segmentapis.com' },
} as const
