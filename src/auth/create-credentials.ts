import { FetchHTTPClient, type HTTPClient } from '../http/client.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Warn } from '../runtime/warn.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import { basicAuthorization } from './basic.ts'
import type { Credentials } from './credentials.ts'
import { LazyCredentials } from './lazy-credentials.ts'
import { readPrivateKey } from './private-key.ts'

/**
 * The credentials that the settings ask for: tokens where there are `oauthSettings`, else the write key.
 *
 * @param client Makes token requests too, unless the OAuth settings have one of their own.
 */
export function createCredentials(
  settings: ResolvedSettings,
  client: HTTPClient,
  userAgent: string,
  clock: Clock,
  warn: Warn,
): Credentials {
  const { oauthSettings: oauth, httpRequestTimeout: timeoutMs, maxTotalBackoffDuration } = settings
  if (oauth === undefined) return basicAuthorization(settings.writeKey)
  warnOfPlainText('host', settings.host, warn)
  warnOfPlainText('oauthSettings.authServer', oauth.authServer, warn)
  // Here, and not with the first token: a bad key is a bad setting, and throws from the constructor.
  const key = oauth.signer === undefined ? readPrivateKey(oauth.clientKey) : undefined
  return new LazyCredentials(async () => {
    const { createOAuthCredentials } = await import(
      /* webpackMode: "eager" */ './create-oauth-credentials.ts'
    )
    const own =
      typeof oauth.httpClient === 'function' ? new FetchHTTPClient(oauth.httpClient) : oauth.httpClient
    return createOAuthCredentials({
      settings: oauth,
      key,
      client: own ?? client,
      timeoutMs,
      maxWaitMs: maxTotalBackoffDuration * 1_000,
      userAgent,
      clock,
      warn,
    })
  })
}

/** Anyone who reads a token on its way can use it. @see RFC 6750, section 5.3 */
function warnOfPlainText(setting: string, url: string, warn: Warn): void {
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:' || /^(?:127\.\d+\.\d+\.\d+|\[::1\]|(?:.+\.)?localhost)$/.test(hostname)) return
  warn('insecure', `${setting}: tokens for ${hostname} are sent over plain http, where others can read them`)
}
