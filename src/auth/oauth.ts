import { DeliveryError, type FailureCode } from '../errors/errors.ts'
import type { HTTPClient } from '../http/client.ts'
import { backoffMs } from '../policy/response.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ResolvedOAuthSettings } from '../settings/resolve.ts'
import type { Signer } from '../settings/signer.ts'
import { localKey } from './assertion.ts'
import type { TokenCredentials, TokenOutage } from './credentials.ts'
import type { PrivateKey } from './private-key.ts'
import { ServerClock } from './server-clock.ts'
import { TokenClient, type TokenFailure, type TokenRequest, type TokenResult } from './token-client.ts'

export interface OAuthParts {
  readonly settings: ResolvedOAuthSettings
  /** `undefined` if the settings have a signer. */
  readonly key: PrivateKey | undefined
  readonly client: HTTPClient
  readonly timeoutMs: number
  readonly userAgent: string
  readonly clock: Clock
  /** Holds the state of the tokens that several clients share. */
  readonly shared: { known?: TokenState }
}

/** This module and its dependency jose are loaded only with `oauthSettings`. */
export function createOAuthCredentials({ key, shared, ...parts }: OAuthParts): OAuthCredentials {
  const { authServer, signer } = parts.settings
  const tokens = new TokenClient({ ...parts, signer: key === undefined ? (signer as Signer) : localKey(key) })
  const request = (nowMs: number): TokenRequest => tokens.request(nowMs)
  shared.known ??= createTokenState(parts.clock)
  const options = { ...parts, request, serverName: new URL(authServer).host }
  return new OAuthCredentials(options, shared.known)
}

export interface OAuthOptions {
  /** `nowMs` is the token server's time. */
  readonly request: (nowMs: number) => TokenRequest
  /** For error messages. */
  readonly serverName: string
  /** Time limit of one token request. */
  readonly timeoutMs: number
  readonly clock: Clock
}

/** A token is renewed after half of its lifetime, but after 24 hours at the latest. */
const MAX_REFRESH_MS = 86_400_000
/** A token is not used in the last 10 s of its lifetime, or the last quarter if that is less: it might expire on the way. */
const MARGIN_MS = 10_000
/** Even if tokens expire at once, at most one token is requested per second. */
const MIN_INTERVAL_MS = 1_000
/** After the token server refused a request, no token is requested for this long: the server would refuse again. */
const REFUSAL_MS = 60_000
/** A token that the API has never accepted is replaced at most this often. */
const MIN_RENEWAL_INTERVAL_MS = 30_000
/** A token that the API first accepted and then refused is replaced at most this often: a new token is likely to work. */
const MIN_WORKING_RENEWAL_INTERVAL_MS = 250
/** A token request that is this long past its time limit counts as lost: edge runtimes may freeze work in progress. */
const LOST_MS = 5_000
/**
 * The wait after a token request that failed, at most, unless the token server names a longer one. Who needs a token waits for a
 * request that is due within this time, and otherwise gets the failure of the last one. @see docs/spec.md, section 8.1
 */
const MAX_TOKEN_WAIT_MS = 8_000

const CLOSED: TokenFailure = { message: 'the client was closed' }

interface Token {
  readonly authorization: string
  /** On the monotonic clock, like `expiresAtMs`. */
  readonly renewAtMs: number
  readonly expiresAtMs: number
  /** Only a token that was used is renewed: a client that sends nothing needs no new token. */
  isUsed: boolean
  isAccepted: boolean
}

/**
 * The state of the tokens, which the clients of one `perRequest` share. It contains only data, because on Cloudflare Workers
 * promises and timers belong to one request.
 */
export interface TokenState {
  token: Token | undefined
  /** No token is requested before this time on the monotonic clock. */
  notBeforeMs: number
  failures: number
  /** Until `untilMs`, each caller that needs a token gets the result of the last token request. */
  failure: { readonly reason: DeliveryError | TokenOutage; readonly untilMs: number } | undefined
  renewedAtMs: number
  /** A clock whose time the server has accepted. */
  clock: ServerClock
}

export function createTokenState(clock: Clock): TokenState {
  return {
    token: undefined,
    notBeforeMs: Number.NEGATIVE_INFINITY,
    failures: 0,
    failure: undefined,
    renewedAtMs: Number.NEGATIVE_INFINITY,
    clock: new ServerClock(clock),
  }
}

interface Caller {
  resolve(given: string | TokenOutage): void
  reject(error: DeliveryError): void
}

/**
 * Access tokens as Bearer credentials. Tokens are requested one at a time, and renewed before they expire.
 *
 * @see docs/spec.md, section 4; RFC 6750, section 2.1
 */
export class OAuthCredentials implements TokenCredentials {
  readonly #options: OAuthOptions
  #known: TokenState
  readonly #clock: ServerClock
  #request: (TokenRequest & { readonly startedAtMs: number }) | undefined
  /** The token requests of {@link tryOnce}. */
  readonly #trials = new Set<TokenRequest>()
  #callers: Caller[] = []
  #cancelTimer = (): void => {}
  #isClosed = false

  constructor(options: OAuthOptions, known = createTokenState(options.clock)) {
    this.#options = options
    this.#known = known
    this.#clock = known.clock.fork()
  }

  authorization(): string | Promise<string | TokenOutage> {
    const nowMs = this.#options.clock.monotonic()
    const token = this.#known.token
    if (token !== undefined && nowMs < token.expiresAtMs) {
      token.isUsed = true
      if (nowMs >= token.renewAtMs) this.#fetch()
      return token.authorization
    }
    if (this.#isClosed) return Promise.reject(this.#error('auth', CLOSED))
    const { failure, notBeforeMs } = this.#known
    if (failure !== undefined && nowMs < failure.untilMs) {
      const { reason } = failure
      // What is left of the wait that the token server has named.
      const rest = 'action' in reason ? { ...reason, waitMs: notBeforeMs - nowMs } : reason
      return new Promise((resolve, reject) => tell({ resolve, reject }, rest))
    }
    // Each caller gets its own promise: on Cloudflare Workers, a promise belongs to the request that made it.
    const promise = new Promise<string | TokenOutage>((resolve, reject) =>
      this.#callers.push({ resolve, reject }),
    )
    promise.catch(() => {})
    this.#fetch()
    return promise
  }

  async tryOnce(): Promise<string> {
    const token = this.#known.token
    if (token !== undefined && this.#options.clock.monotonic() < token.expiresAtMs) return token.authorization
    if (this.#isClosed) throw this.#error('auth', CLOSED)
    // A copy: `correct` on the original might revert a correction that the server has yet to confirm.
    const clock = this.#clock.fork()
    let result = await this.#try(clock.nowMs())
    const isClockToBlame = result.outcome === 'refused' && clock.correct(result.dateMs, result.isClockBlamed)
    if (isClockToBlame) result = await this.#try(clock.nowMs())
    if (this.#isClosed) throw this.#error('auth', CLOSED)
    if (result.outcome === 'token') return `Bearer ${result.token}`
    throw this.#error('auth', result.failure)
  }

  onAccepted(authorization: string): void {
    if (this.#known.token?.authorization === authorization) this.#known.token.isAccepted = true
  }

  onUnauthorized(authorization: string): boolean {
    const token = this.#known.token
    // A newer token has arrived, or is being fetched.
    if (token?.authorization !== authorization) return true
    const nowMs = this.#options.clock.monotonic()
    // The token is new and was never accepted: another token would be refused too.
    if (!token.isAccepted && nowMs < this.#known.renewedAtMs + MIN_RENEWAL_INTERVAL_MS) return false
    const fromMs = this.#known.renewedAtMs + MIN_WORKING_RENEWAL_INTERVAL_MS
    this.#known.token = undefined
    this.#known.renewedAtMs = Math.max(nowMs, fromMs)
    this.#known.notBeforeMs = Math.max(this.#known.notBeforeMs, fromMs)
    return true
  }

  abort(): void {
    this.#cancelTimer()
    this.#request?.abort()
    for (const trial of this.#trials) trial.abort()
    this.#request = undefined
    this.#giveUp(this.#error('auth', CLOSED))
  }

  close(): void {
    this.#isClosed = true
    // Another client may go on with the shared state.
    this.#known = createTokenState(this.#options.clock)
    this.abort()
  }

  async #try(nowMs: number): Promise<TokenResult> {
    const trial = this.#options.request(nowMs)
    this.#trials.add(trial)
    const result = await trial.result
    this.#trials.delete(trial)
    return result
  }

  /**
   * Requests a token, now or as soon as allowed. While a token request is under way, this only sets a timer, in case that
   * request is lost.
   */
  #fetch(): void {
    const { clock, request, timeoutMs } = this.#options
    const nowMs = clock.monotonic()
    const { token } = this.#known
    // Another client has fetched a token in the meantime.
    if (this.#callers.length > 0 && token !== undefined && nowMs < token.expiresAtMs) {
      return this.#serve(token)
    }
    const lostAtMs = (this.#request?.startedAtMs ?? Number.NEGATIVE_INFINITY) + timeoutMs + LOST_MS
    const fromMs = Math.max(lostAtMs, this.#known.notBeforeMs)
    // The timer is set again each time, because the runtime may have frozen the earlier timer.
    if (nowMs < fromMs) return this.#fetchAt(fromMs)
    this.#cancelTimer()
    const started = { ...request(this.#clock.nowMs()), startedAtMs: nowMs }
    this.#request = started
    void started.result.then((result) => {
      // This request was aborted or counted as lost: its result must not replace a newer one.
      if (this.#request !== started) return
      this.#request = undefined
      this.#conclude(result, started.startedAtMs)
    })
  }

  #fetchAt(atMs: number): void {
    const { clock } = this.#options
    this.#cancelTimer()
    this.#cancelTimer = clock.setTimer(
      () => {
        const { token } = this.#known
        const isInUse = token?.isUsed === true && clock.monotonic() < token.expiresAtMs
        if (this.#callers.length > 0 || isInUse) this.#fetch()
      },
      Math.max(0, Math.ceil(atMs - clock.monotonic())),
    )
  }

  #conclude(result: TokenResult, startedAtMs: number): void {
    if (result.outcome === 'token') return this.#accept(result.token, result.lifetimeMs, startedAtMs)
    const { clock } = this.#options
    const nowMs = clock.monotonic()
    if (result.outcome === 'refused') {
      if (this.#clock.correct(result.dateMs, result.isClockBlamed)) return this.#fetch()
      this.#known.notBeforeMs = nowMs + REFUSAL_MS
      return this.#fail(this.#error('auth', result.failure), this.#known.notBeforeMs)
    }
    const known = this.#known
    // Requests that failed side by side count as one failure.
    if (known.failures === 0 || startedAtMs >= known.notBeforeMs) known.failures++
    const waitMs = Math.max(result.waitMs ?? 0, backoffMs(known.failures, clock.random(), MAX_TOKEN_WAIT_MS))
    known.notBeforeMs = Math.max(known.notBeforeMs, nowMs + waitMs)
    // First, because another client may have fetched a token in the meantime.
    this.#fetch()
    this.#fail(this.#outage(result), known.notBeforeMs - MAX_TOKEN_WAIT_MS)
  }

  #accept(value: string, lifetimeMs: number, startedAtMs: number): void {
    // The lifetime is counted from the start of the request, because the token may have been issued at any time after it.
    const renewAtMs = startedAtMs + Math.max(MIN_INTERVAL_MS, Math.min(lifetimeMs / 2, MAX_REFRESH_MS))
    const token: Token = {
      authorization: `Bearer ${value}`,
      renewAtMs,
      expiresAtMs: startedAtMs + lifetimeMs - Math.min(lifetimeMs / 4, MARGIN_MS),
      isUsed: this.#callers.length > 0,
      isAccepted: false,
    }
    this.#clock.confirm()
    this.#known.clock = this.#clock.fork()
    this.#known.failures = 0
    this.#known.failure = undefined
    // A token that has already expired is given only to the callers that wait now.
    this.#known.token = lifetimeMs > 0 ? token : undefined
    this.#known.notBeforeMs =
      lifetimeMs > MIN_INTERVAL_MS ? Number.NEGATIVE_INFINITY : startedAtMs + MIN_INTERVAL_MS
    this.#serve(token)
    if (this.#known.token !== undefined) this.#fetchAt(renewAtMs)
  }

  #serve(token: Token): void {
    for (const { resolve } of this.#callers.splice(0)) resolve(token.authorization)
  }

  /** There is no token before this time. */
  #fail(reason: DeliveryError | TokenOutage, untilMs: number): void {
    this.#known.failure = { reason, untilMs }
    this.#giveUp(reason)
  }

  #giveUp(reason: DeliveryError | TokenOutage): void {
    for (const caller of this.#callers.splice(0)) tell(caller, reason)
  }

  #outage({ failure, waitMs, isLimited }: TokenResult & { outcome: 'retry' }): TokenOutage {
    return {
      action: isLimited ? 'limited' : 'retry',
      waitMs,
      status: undefined,
      text: '',
      isConnectionLost: false,
      isUnreachable: true,
      toError: (code) => this.#error(failure.code ?? code, failure),
    }
  }

  #error(code: FailureCode, { message, status, cause }: TokenFailure): DeliveryError {
    return new DeliveryError(code, `no access token from ${this.#options.serverName}: ${message}`, {
      ...(status !== undefined && { status }),
      cause,
    })
  }
}

function tell({ resolve, reject }: Caller, reason: DeliveryError | TokenOutage): void {
  if ('action' in reason) resolve(reason)
  else reject(reason)
}
