import { describeCause } from '../errors/cause.ts'
import { DeliveryError } from '../errors/errors.ts'
import type { HTTPClient } from '../http/client.ts'
import { FetchHTTPClient } from '../http/fetch-client.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Warn } from '../runtime/warn.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import { readPrivateKey } from './private-key.ts'

/** How the client authenticates: with a value of the `Authorization` header that never changes, or with tokens. */
export type Credentials = string | TokenCredentials

/** Tokens that are fetched, expire and are renewed. */
export interface TokenCredentials {
  /**
   * The value of the `Authorization` header. A promise only while it has to be fetched first. The promise rejects with
   * a `DeliveryError` when there will be none. This never throws.
   */
  authorization(): string | Promise<string>
  /**
   * The same for a trial: of one request for a token at most, which is not repeated and changes nothing for the events.
   * Rejects with a `DeliveryError` when it fails.
   */
  tryOnce(): string | Promise<string>
  /** The service accepted this value. */
  onAccepted(authorization: string): void
  /**
   * The service refused this value with 401 or 511.
   *
   * @returns Whether the next {@link TokenCredentials.authorization} will be another one.
   */
  onUnauthorized(authorization: string): boolean
  /** Stops what is under way; what waits for a value fails. */
  abort(): void
  /** Like `abort`, and drops the held token; no credentials afterwards. */
  close(): void
}

/** Tokens for several, none of which may wait for what another has begun. */
export interface SharedCredentials extends TokenCredentials {
  /** Others with the same tokens, whose requests and waits are their own. */
  fork(): SharedCredentials
}

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
): string | SharedCredentials {
  const { oauthSettings: oauth, httpRequestTimeout: timeoutMs, maxTotalBackoffDuration } = settings
  // The user name of Basic credentials, with an empty password: docs/spec.md, section 3; RFC 7617.
  if (oauth === undefined) return `Basic ${btoa(`${settings.writeKey}:`)}`
  warnOfPlainText('host', settings.host, warn)
  warnOfPlainText('oauthSettings.authServer', oauth.authServer, warn)
  // Here, and not with the first token: a bad key is a bad setting, and throws from the constructor.
  const key = oauth.signer === undefined ? readPrivateKey(oauth.clientKey) : undefined
  const own =
    typeof oauth.httpClient === 'function' ? new FetchHTTPClient(oauth.httpClient) : oauth.httpClient
  const maxWaitMs = maxTotalBackoffDuration * 1_000
  const parts = { settings: oauth, key, client: own ?? client, timeoutMs, maxWaitMs, userAgent, clock, warn }
  return new LazyCredentials(async () => {
    const { createOAuthCredentials } = await import(/* webpackMode: "eager" */ './oauth.ts')
    return () => createOAuthCredentials(parts)
  })
}

/** Anyone who reads a token on its way can use it. @see RFC 6750, section 5.3 */
function warnOfPlainText(setting: string, url: string, warn: Warn): void {
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:' || /^(?:127\.\d+\.\d+\.\d+|\[::1\]|(?:.+\.)?localhost)$/.test(hostname)) return
  warn('insecure', `${setting}: tokens for ${hostname} are sent over plain http, where others can read them`)
}

/** Tokens whose code is loaded beside them. */
export class LazyCredentials implements SharedCredentials {
  readonly #load: () => Promise<() => SharedCredentials>
  #loaded: SharedCredentials | undefined
  /** Rejects what waits for the code. */
  #waiting = new Set<(error: DeliveryError) => void>()
  #isClosed = false

  /** @param load Loads the code; what it resolves with makes the credentials. */
  constructor(load: () => Promise<() => SharedCredentials>) {
    this.#load = load
    // Not with the first event: at a moment without a free file descriptor it could not be read, and Node.js remembers
    // failed imports of ES modules.
    this.#start().catch(() => {})
  }

  authorization(): string | Promise<string> {
    if (this.#loaded !== undefined) return this.#loaded.authorization()
    if (this.#isClosed) return Promise.reject(closedError())
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject)
      this.#start().then(
        (credentials) => {
          // Given up meanwhile: no token must be asked for.
          if (!this.#waiting.delete(reject)) return
          resolve(credentials.authorization())
        },
        (error) => {
          this.#waiting.delete(reject)
          reject(error)
        },
      )
    })
  }

  async tryOnce(): Promise<string> {
    if (this.#isClosed) throw closedError()
    return (await this.#start()).tryOnce()
  }

  onAccepted(authorization: string): void {
    this.#loaded?.onAccepted(authorization)
  }

  onUnauthorized(authorization: string): boolean {
    return this.#loaded?.onUnauthorized(authorization) ?? false
  }

  fork(): SharedCredentials {
    return new LazyCredentials(async () => {
      const shared = await this.#start()
      return () => shared.fork()
    })
  }

  abort(): void {
    this.#loaded?.abort()
    for (const reject of this.#waiting) reject(closedError())
    this.#waiting.clear()
  }

  close(): void {
    this.#isClosed = true
    this.#loaded?.close()
    this.abort()
  }

  /**
   * Each caller asks for the code itself: on Cloudflare Workers, a promise that was made in a request never settles once that
   * request is over, and whoever waits for it waits for ever.
   */
  async #start(): Promise<SharedCredentials> {
    let create: () => SharedCredentials
    try {
      create = await this.#load()
    } catch (error) {
      // Another caller has it by now.
      if (this.#loaded !== undefined) return this.#loaded
      throw new DeliveryError('auth', `the code for OAuth could not be loaded: ${describeCause(error)}`, {
        cause: error,
      })
    }
    if (this.#loaded === undefined) {
      this.#loaded = create()
      if (this.#isClosed) this.#loaded.close()
    }
    return this.#loaded
  }
}

function closedError(): DeliveryError {
  return new DeliveryError('auth', 'no access token: the client was closed')
}
