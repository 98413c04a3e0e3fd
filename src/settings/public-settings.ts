import type { PublicSettings } from '../events.ts'
import type { ResolvedSettings } from './resolve.ts'

/** What `initialize` listeners see: nothing that may be a secret, and no functions. */
export function publicSettings(settings: ResolvedSettings): PublicSettings {
  const { writeKey, headers, logger, httpClient, oauthSettings, scope, spool, waitUntil, disable, ...rest } =
    settings
  return typeof disable === 'boolean' ? { ...rest, disable } : rest
}
