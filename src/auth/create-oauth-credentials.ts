import type { HTTPClient } from '../http/client.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Warn } from '../runtime/warn.ts'
import type { ResolvedOAuthSettings } from '../settings/resolve.ts'
import { keySigner } from './key-signer.ts'
import { OAuthCredentials } from './oauth.ts'
import type { PrivateKey } from './private-key.ts'
import type { Signer } from './signer.ts'
import { TokenClient } from './token-client.ts'

/** What access tokens are made of. */
export interface OAuthParts {
  readonly settings: ResolvedOAuthSettings
  /** What to sign with where the settings have no signer. */
  readonly key: PrivateKey | undefined
  readonly client: HTTPClient
  readonly timeoutMs: number
  /** Longest time that an event waits for a token, in milliseconds. */
  readonly maxWaitMs: number
  readonly userAgent: string
  readonly clock: Clock
  readonly warn: Warn
}

/** Access tokens as credentials. This module and what it imports are loaded only with `oauthSettings`. */
export function createOAuthCredentials(parts: OAuthParts): OAuthCredentials {
  const { settings, key, client, timeoutMs, maxWaitMs, userAgent, clock, warn } = parts
  const isKeyElsewhere = key === undefined
  const signer = key === undefined ? (settings.signer as Signer) : keySigner(key)
  const tokens = new TokenClient({ settings, signer, isKeyElsewhere, client, timeoutMs, userAgent, clock })
  return new OAuthCredentials({
    request: (nowMs) => tokens.request(nowMs),
    serverName: new URL(settings.authServer).host,
    maxRetries: settings.maxRetries,
    maxWaitMs,
    timeoutMs,
    clock,
    warn,
  })
}
