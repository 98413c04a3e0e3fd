import type { Config } from './schema.ts'

/**
 * Written out, because the validation library takes time to load, and tests start hundreds of collectors without a config file.
 */
export const DEFAULT_CONFIG: Config = {
  rejectUnknownKeys: false,
  strictContentType: false,
  hostNames: [],
  trustedProxies: [],
  destinations: [],
}
