import { SettingsError } from '../errors/errors.ts'
import { platform } from '../runtime/platform.node.ts'

/** Where a client may be used: on Cloudflare Workers only in the incoming request in which it was made. */
export interface Owner {
  /** Whether the code that runs now belongs to the request of the client. */
  readonly isMine: () => boolean
  isClosed: boolean
}

export const ELSEWHERE =
  'on Cloudflare Workers, a client belongs to the request in which it was made: ' +
  "call perRequest(settings) of 'trackpost/workers' once, and what it returns, analyticsOf(ctx), in each handler"

/** @throws SettingsError on Cloudflare Workers outside of all requests, at module scope. */
export function claimOwner(): Owner {
  const isMine = platform.claimRequest()
  if (isMine === undefined) throw new SettingsError('settings', ELSEWHERE)
  return { isMine, isClosed: false }
}
