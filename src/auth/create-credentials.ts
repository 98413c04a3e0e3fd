import { FetchHTTPClient, type HTTPClient } from '../http/client.ts'
import type { Clock } from '../runtime/clock.ts'
import { warn } from '../runtime/warn.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import { basicCredentials } from './basic.ts'
import type { Credentials } from './credentials.ts'
import { OAuthCredentials } from './oauth.ts'
import { readPrivateKey } from './private-key.ts'
import { TokenClient } from './token-client.ts'

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
): Credentials {
  const { oauthSettings: oauth, httpRequestTimeout: timeoutMs, maxTotalBackoffDuration } = settings
  if (oauth === undefined) return basicCredentials(settings.writeKey)
  warnOfPlainText('host', settings.host)
  warnOfPlainText('oauthSettings.authServer', oauth.authServer)
  const own =
    typeof oauth.httpClient === 'function' ? new FetchHTTPClient(oauth.httpClient) : oauth.httpClient
  const key = readPrivateKey(oauth.clientKey)
  const tokens = new TokenClient({
    settings: { ...oauth, key },
    client: own ?? client,
    timeoutMs,
    userAgent,
    clock,
  })
  return new OAuthCredentials({
    request: (nowMs) => tokens.request(nowMs),
    serverName: new URL(oauth.authServer).host,
    maxRetries: oauth.maxRetries,
    maxWaitMs: maxTotalBackoffDuration * 1_000,
    timeoutMs,
    clock,
  })
}

/** Whoever reads a token on its way can use it. @see RFC 6750, section 5.3 */
function warnOfPlainText(setting: string, url: string): void {
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:' || /^(?:127\.\d+\.\d+\.\d+|\[::1\]|(?:.+\.)?localhost)$/.test(hostname)) return
  warn('insecure', `${setting}: tokens for ${hostname} are sent over plain http, where others can read them`)
}
