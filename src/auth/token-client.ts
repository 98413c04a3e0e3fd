import { copyCause, describeCause } from '../errors/cause.ts'
import { SettingsError } from '../errors/errors.ts'
import { isInstance } from '../errors/guard.ts'
import type { HTTPClient } from '../http/client.ts'
import { type ExchangeResult, startExchange } from '../http/exchange.ts'
import { MAX_RESPONSE_BYTES } from '../http/response.ts'
import { redactor } from '../policy/redact.ts'
import { headerValue, judge, parseHttpDate } from '../policy/response.ts'
import { type Clock, TIMEOUT, within } from '../runtime/clock.ts'
import type { ResolvedOAuthSettings } from '../settings/resolve.ts'
import type { Signer } from '../settings/signer.ts'
import { type AssertionClaims, type LocalKey, signAssertion } from './assertion.ts'

export type TokenResult =
  | { readonly outcome: 'token'; readonly token: string; readonly lifetimeMs: number }
  /** Another request may succeed, after `waitMs` if the server sent a wait. */
  | {
      readonly outcome: 'retry'
      readonly failure: TokenFailure
      readonly waitMs: number | undefined
      readonly isLimited: boolean
    }
  /** Another request with the same settings will fail too, unless the local clock is wrong. */
  | {
      readonly outcome: 'refused'
      readonly failure: TokenFailure
      readonly dateMs: number | undefined
      readonly isClockBlamed: boolean
    }

/** Why there is no token. Contains no secret. */
export interface TokenFailure {
  readonly message: string
  readonly status?: number
  /** The code with which events fail when there are no more retries. Default: `retries_exhausted` or `deadline`. */
  readonly code?: 'auth'
  readonly cause?: Error | undefined
}

export interface TokenRequest {
  /** Never rejects. */
  readonly result: Promise<TokenResult>
  abort(): void
}

export interface TokenClientOptions {
  readonly settings: Pick<ResolvedOAuthSettings, 'clientId' | 'keyId' | 'authServer' | 'scope'>
  /** If a `Signer` fails, the token request is retried later. */
  readonly signer: Signer | LocalKey
  readonly client: HTTPClient
  /** Time limit for signing and the HTTP request together. */
  readonly timeoutMs: number
  readonly userAgent: string
  readonly clock: Clock
}

/** A longer token would exceed the header size that servers accept. */
const MAX_TOKEN_LENGTH = 8_192
/** Used when the response does not contain `expires_in`. */
const DEFAULT_LIFETIME_MS = 300_000

/** @see docs/spec.md, section 4; RFC 6749, section 4.4; RFC 7523, section 2.2 */
export class TokenClient {
  readonly #options: TokenClientOptions
  readonly #claims: AssertionClaims
  readonly #url: string

  constructor(options: TokenClientOptions) {
    const { clientId, keyId, authServer } = options.settings
    this.#options = options
    this.#claims = { clientId, keyId, audience: authServer }
    this.#url = `${authServer}/token`
  }

  /** @param nowMs The token server's time in milliseconds since the epoch. */
  request(nowMs: number): TokenRequest {
    const { signer, timeoutMs, clock } = this.#options
    const startedAtMs = clock.monotonic()
    const signing = within(signAssertion(signer, this.#claims, nowMs), timeoutMs, clock, 'the signer')
    let abort = (): void => signing.cancel(new Error('the client was closed'))
    const run = async (): Promise<TokenResult> => {
      let assertion: string
      try {
        assertion = await signing.result
      } catch (error) {
        return this.#readSigningError(error)
      }
      const leftMs = Math.max(1, Math.ceil(timeoutMs - (clock.monotonic() - startedAtMs)))
      const exchange = this.#exchange(assertion, leftMs)
      abort = exchange.abort
      return exchange.result
    }
    // An unexpected error, for instance from a clock that a test has mocked. The next request may succeed.
    const result = run().catch((error) => retry({ message: `it failed (${nameOf(error)})` }))
    return { result, abort: () => abort() }
  }

  #readSigningError(error: unknown): TokenResult {
    const { signer, settings } = this.#options
    if (isInstance(error, SettingsError)) return refused({ message: error.message })
    if ('sign' in signer) {
      const redact = redactor([settings.clientId, settings.keyId])
      const message = `the assertion could not be signed: ${printable(redact(describeCause(error)))}`
      return retry({ message, code: 'auth', cause: copyCause(error, redact) })
    }
    // Only the name of the error is used: its message may quote the key.
    const name = nameOf(error)
    const message = `the assertion could not be signed (${name})`
    // A timeout does not mean a bad key: a frozen or busy process may reach the time limit before it has signed.
    return name === TIMEOUT ? retry({ message, code: 'auth' }) : refused({ message })
  }

  #exchange(assertion: string, timeoutMs: number): TokenRequest {
    const { settings, client, userAgent, clock } = this.#options
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
      scope: settings.scope,
    }).toString()
    const headers = {
      'Content-Type': 'application/x-www-form-urlencoded',
      Accept: 'application/json',
      'Accept-Encoding': 'identity',
      'User-Agent': userAgent,
    }
    const request = { url: this.#url, headers, body, timeoutMs }
    const wanted = { keptBytes: MAX_RESPONSE_BYTES, bodyTimeoutMs: timeoutMs }
    const exchange = startExchange(client, { ...request, ...wanted }, clock)
    const redact = redactor([...assertion.split('.'), settings.clientId, settings.keyId])
    return {
      result: exchange.result.then((result) => this.#read(result, redact)),
      abort: exchange.abort,
    }
  }

  #read(response: ExchangeResult, redact: (text: string) => string): TokenResult {
    if (response.status === undefined) {
      const message = redact(describeCause(response.cause))
      return retry({ message, cause: copyCause(response.cause, redact) })
    }
    const { status, statusText, headers } = response
    const nowMs = this.#options.clock.now()
    const body = readObject(response.body)
    const message = printable(redact(`[${status}] ${statusText}`))
    const { action, waitMs } = judge(response, false, nowMs)
    switch (action) {
      case 'delivered':
        return readToken(body) ?? retry({ message: `${message} without a usable access token`, status })
      case 'retry':
        return retry({ message, status }, waitMs)
      case 'limited':
        return retry({ message, status }, waitMs, true)
    }
    const error = printable(redact([body['error'], body['error_description']].filter(isText).join(': ')))
    const date = headerValue(headers, 'date')
    return refused(
      { message: error === '' ? message : `${message}: ${error}`, status },
      date === undefined ? undefined : parseHttpDate(date),
      /\b(?:exp|iat|nbf|expired|expiry|time|timestamp|clock|future|yet valid|too old)\b/i.test(error),
    )
  }
}

function retry(failure: TokenFailure, waitMs?: number, isLimited = false): TokenResult {
  return { outcome: 'retry', failure, waitMs, isLimited }
}

function refused(failure: TokenFailure, dateMs?: number, isClockBlamed = false): TokenResult {
  return { outcome: 'refused', failure, dateMs, isClockBlamed }
}

function readObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function readToken(body: Record<string, unknown>): TokenResult | undefined {
  const { access_token: token, token_type: type, expires_in: expiresIn } = body
  // Only visible ASCII characters are allowed in the header (RFC 6750, section 2.1).
  if (!isText(token) || token.length > MAX_TOKEN_LENGTH || !/^[\x21-\x7e]+$/.test(token)) return undefined
  if (type !== undefined && type !== null && !(isText(type) && /^bearer$/i.test(type))) return undefined
  return { outcome: 'token', token, lifetimeMs: readLifetimeMs(expiresIn) }
}

/** Reads `expires_in`, in seconds. RFC 6749 requires a number; some servers send a string. */
function readLifetimeMs(expiresIn: unknown): number {
  const seconds = isText(expiresIn) && /^-?\d{1,15}$/.test(expiresIn) ? Number(expiresIn) : expiresIn
  return typeof seconds === 'number' && Number.isFinite(seconds) ? seconds * 1_000 : DEFAULT_LIFETIME_MS
}

function nameOf(error: unknown): string {
  return isInstance(error, Error) ? error.name : typeof error
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function printable(text: string): string {
  return text
    .slice(0, 300)
    .replace(/[^\x20-\x7e]/g, ' ')
    .trimEnd()
}
