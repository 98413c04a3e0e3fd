import { describeCause } from '../errors/cause.ts'
import { DeliveryError } from '../errors/errors.ts'
import type { HTTPClient } from '../http/client.ts'
import { FetchHTTPClient } from '../http/fetch-client.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'

/**
 * A token request that failed counts as if the request that needs the token had been answered so.
 * @see docs/spec.md, section 8
 */
export interface TokenFailure {
  readonly word: 'failed' | 'limited' | 'settings'
  readonly error: DeliveryError
  /** The wait that the token server has asked for, or until a token may be requested again. */
  readonly waitMs: number | undefined
}

/** Access tokens as `Authorization` headers. Has no timers: who needs a token asks. No promise rejects. */
export interface Authorization {
  /** The header, at once if there is a valid token. All who ask while a token is being fetched get the same promise. */
  authorization(): string | TokenFailure | Promise<string | TokenFailure>
  /** The API answered 401 or 511 to this header. Returns whether to send again with a new one. */
  renew(authorization: string): boolean
  accepted(authorization: string): void
  /** Ends a token request in flight, as failed. Afterwards, no token is requested any more. */
  close(): void
}

/** Times are on the monotonic clock. */
export interface Token {
  readonly authorization: string
  /** When its request began. */
  readonly startedMs: number
  readonly expiresMs: number
  isAccepted: boolean
}

/** Plain data, because on Cloudflare Workers, promises and timers belong to one request. */
export interface TokenState {
  token: Token | undefined
  /** Of the last token requests. */
  readonly startedMs: number[]
  /** No token is requested before this time on the monotonic clock. */
  notBeforeMs: number
  /** Whether a refused token was replaced, and none was accepted since. */
  isRenewed: boolean
  /** What to add to the local time to get that of the token server. */
  skewMs: number
}

/**
 * @param client For token requests, unless the OAuth settings have an `httpClient` of their own.
 * @returns A header that never changes, or access tokens.
 */
export function createAuthorization(
  settings: ResolvedSettings,
  client: HTTPClient,
  userAgent: string,
  clock: Clock,
  shared: { known?: TokenState } = {},
): string | Authorization {
  const { oauthSettings: oauth, httpRequestTimeout: timeoutMs } = settings
  // The write key and a colon, also if the key has one itself (docs/spec.md, section 3; RFC 7617).
  if (oauth === undefined) return `Basic ${btoa(`${settings.writeKey}:`)}`
  const { httpClient = client } = oauth
  shared.known ??= {
    token: undefined,
    startedMs: [],
    notBeforeMs: Number.NEGATIVE_INFINITY,
    isRenewed: false,
    skewMs: 0,
  }
  const parts = {
    settings: oauth,
    client: typeof httpClient === 'function' ? new FetchHTTPClient(httpClient) : httpClient,
    timeoutMs,
    userAgent,
    clock,
    known: shared.known,
  }
  return new LazyAuthorization(async () => {
    const { Tokens } = await import(/* webpackMode: "eager" */ './tokens.ts')
    return new Tokens(parts)
  })
}

/** Access tokens whose code, with jose, is loaded in the background. */
export class LazyAuthorization implements Authorization {
  readonly #load: () => Promise<Authorization>
  #loading: Promise<Authorization> | undefined
  #loaded: Authorization | undefined
  #isClosed = false

  constructor(load: () => Promise<Authorization>) {
    this.#load = load
    // Now and not with the first event: by then, the process might have run out of file descriptors, so that the import would
    // fail, and Node.js never repeats a failed import of an ES module.
    this.#start().catch(() => {})
  }

  authorization(): string | TokenFailure | Promise<string | TokenFailure> {
    return this.#loaded?.authorization() ?? this.#start().then((loaded) => loaded.authorization(), toFailure)
  }

  renew(authorization: string): boolean {
    return this.#loaded?.renew(authorization) ?? false
  }

  accepted(authorization: string): void {
    this.#loaded?.accepted(authorization)
  }

  close(): void {
    this.#isClosed = true
    this.#loaded?.close()
  }

  #start(): Promise<Authorization> {
    this.#loading ??= this.#load().then(
      (loaded) => {
        this.#loaded = loaded
        if (this.#isClosed) loaded.close()
        return loaded
      },
      (cause) => {
        this.#loading = undefined
        throw cause
      },
    )
    return this.#loading
  }
}

function toFailure(cause: unknown): TokenFailure {
  const text = `the code for OAuth could not be loaded: ${describeCause(cause)}`
  return { word: 'failed', error: new DeliveryError('auth', text, { cause }), waitMs: undefined }
}
