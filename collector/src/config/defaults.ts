import type { Config } from './schema.ts'

/**
 * The config if none is given.
 *
 * Written out, so that a collector without a config need not load the library that checks one: tests start hundreds of such
 * collectors.
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
