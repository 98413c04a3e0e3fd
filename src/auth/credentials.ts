import { describeCause } from '../errors/cause.ts'
import { DeliveryError, type FailureCode } from '../errors/errors.ts'
import type { HTTPClient } from '../http/client.ts'
import { FetchHTTPClient } from '../http/fetch-client.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { TokenState } from './oauth.ts'
import { readPrivateKey } from './private-key.ts'

/** A fixed `Authorization` header, or tokens. */
export type Credentials = string | TokenCredentials

/** The token server fails, or limits the rate: handled as if the request that needs the token had failed so. */
export interface TokenOutage {
  readonly action: 'retry' | 'limited'
  /** The wait that the token server asks for. */
  readonly waitMs: number | undefined
  readonly status: undefined
  readonly text: ''
  readonly isConnectionLost: false
  readonly isUnreachable: true
  readonly toError: (code: FailureCode) => DeliveryError
}

export interface TokenCredentials {
  /**
   * The `Authorization` header, or a promise of it if a token has to be fetched first. The promise rejects with a
   * `DeliveryError` if the token server refuses to issue one. Never throws.
   */
  authorization(): string | Promise<string | TokenOutage>
  /**
   * Like `authorization`, for `verify()`: a token request is not retried, except once with a corrected clock, and its result
   * does not affect events.
   */
  tryOnce(): string | Promise<string>
  onAccepted(authorization: string): void
  /**
   * The service refused this `Authorization` header with 401 or 511.
   *
   * @returns Whether the next call of {@link TokenCredentials.authorization} will return another value.
   */
  onUnauthorized(authorization: string): boolean
  /** Aborts the token requests under way, and rejects the promises of `authorization`. */
  abort(): void
  /** Like `abort`, and also forgets the token. Afterwards, `authorization` always rejects. */
  close(): void
}

/**
 * @param client For token requests, unless the OAuth settings have an `httpClient` of their own.
 * @param shared Holds the state of the tokens that several clients share.
 */
export function createCredentials(
  settings: ResolvedSettings,
  client: HTTPClient,
  userAgent: string,
  clock: Clock,
  shared: { known?: TokenState } = {},
): string | TokenCredentials {
  const { oauthSettings: oauth, httpRequestTimeout: timeoutMs } = settings
  // The write key is the user name of Basic credentials; the password is empty (docs/spec.md, section 3; RFC 7617).
  if (oauth === undefined) return `Basic ${btoa(`${settings.writeKey}:`)}`
  // The key is read now and not with the first token, so that the constructor throws for a bad key.
  const key = oauth.signer === undefined ? readPrivateKey(oauth.clientKey) : undefined
  const own =
    typeof oauth.httpClient === 'function' ? new FetchHTTPClient(oauth.httpClient) : oauth.httpClient
  const parts = {
    settings: oauth,
    key,
    client: own ?? client,
    timeoutMs,
    userAgent,
    clock,
    shared,
  }
  return new LazyCredentials(async () => {
    const { createOAuthCredentials } = await import(/* webpackMode: "eager" */ './oauth.ts')
    return createOAuthCredentials(parts)
  })
}

/** OAuth credentials whose code is loaded in the background. */
export class LazyCredentials implements TokenCredentials {
  readonly #load: () => Promise<TokenCredentials>
  #loading: Promise<TokenCredentials> | undefined
  #loaded: TokenCredentials | undefined
  /** One function for each caller that waits for the code. It rejects the caller's promise. */
  #waiting = new Set<(error: DeliveryError) => void>()
  #isClosed = false

  constructor(load: () => Promise<TokenCredentials>) {
    this.#load = load
    // Loads the code now and not with the first event: by then, the process might have run out of file descriptors, so that the
    // import would fail, and Node.js never repeats a failed import of an ES module.
    this.#start().catch(() => {})
  }

  authorization(): string | Promise<string | TokenOutage> {
    if (this.#loaded !== undefined) return this.#loaded.authorization()
    if (this.#isClosed) return Promise.reject(closedError())
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject)
      this.#start().then(
        (credentials) => {
          // If `abort` has rejected the promise in the meantime, no token may be requested.
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

  /** The present load, or another one after a load that has failed. */
  #start(): Promise<TokenCredentials> {
    this.#loading ??= this.#create().catch((error) => {
      this.#loading = undefined
      throw new DeliveryError('auth', `the code for OAuth could not be loaded: ${describeCause(error)}`, {
        cause: error,
      })
    })
    return this.#loading
  }

  async #create(): Promise<TokenCredentials> {
    this.#loaded = await this.#load()
    if (this.#isClosed) this.#loaded.close()
    return this.#loaded
  }
}

function closedError(): DeliveryError {
  return new DeliveryError('auth', 'no access token: the client was closed')
}
