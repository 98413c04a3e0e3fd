import type { Config } from './schema.ts'

/**
 * The config where none is given.
 *
 * Written out, so that a collector without a config, as tests start it by the hundred, need not load the library that checks one.
 */
export const DEFAULT_CONFIG: Config = {
  region: 'default',
  retryAfter: 'seconds',
  rejectUnknownKeys: false,
  strictContentType: false,
  hostNames: [],
  trustedProxies: [],
  failedLoginsPerMinute: 300,
  destinations: [],
  durability: 'process',
}
