import type { PublicSettings } from '../events.ts'
import type { ResolvedSettings } from './resolve.ts'

/** The settings that `initialize` listeners see: nothing that may be a secret, and no functions. */
export function publicSettings(settings: ResolvedSettings): PublicSettings {
  const { writeKey, headers, logger, httpClient, oauthSettings, scope, spool, waitUntil, ...shown } = settings
  const { isMaxRetriesGiven, maxRequestEvents, disable, ...rest } = shown
  return typeof disable === 'boolean' ? { ...rest, disable } : rest
}
