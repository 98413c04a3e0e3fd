import { copyCause, describeCause } from '../errors/cause.ts'
import { DeliveryError, SettingsError } from '../errors/errors.ts'
import { isInstance } from '../errors/guard.ts'
import type { HTTPClient } from '../http/client.ts'
import { type Abort, answerWithin, exchange, type Answer as Response } from '../http/exchange.ts'
import { redactor } from '../http/redact.ts'
import { MAX_RESPONSE_BYTES } from '../http/response.ts'
import { wordOf } from '../http/verdict.ts'
import { headerValue, parseHttpDate, statedMs } from '../http/waits.ts'
import { type Clock, TIMEOUT, within } from '../runtime/clock.ts'
import type { ResolvedOAuthSettings } from '../settings/resolve.ts'
import type { Signer } from '../settings/signer.ts'
import { type LocalKey, localKey, signAssertion } from './assertion.ts'
import type { Authorization, Token, TokenFailure, TokenState } from './authorization.ts'
import type { PrivateKey } from './private-key.ts'

export interface TokensOptions {
  readonly settings: ResolvedOAuthSettings
  /** `undefined` if the settings have a signer. */
  readonly key: PrivateKey | undefined
  readonly client: HTTPClient
  /** Time limit for signing and the HTTP request together. */
  readonly timeoutMs: number
  readonly userAgent: string
  readonly clock: Clock
  readonly known: TokenState
}

/** At most so many token requests begin in a minute. */
const MAX_REQUESTS = 15
const MINUTE_MS = 60_000
/** After a token has come, the next one is requested this much later: a minute has 15 of them, even if tokens expire at once. */
const INTERVAL_MS = MINUTE_MS / MAX_REQUESTS
/** Who may not request a token asks again after this time: another client may have one by then. */
const MAX_PACE_MS = 1_000
/** A token is not used in the last 10 s of its lifetime, or the last quarter if that is less: it might expire on the way. */
const MARGIN_MS = 10_000
/** If tokens are refused that were never accepted, one is replaced at most this often: another would be refused too. */
const RENEWAL_MS = 30_000
/** A smaller difference between the clocks may come from a slow network. Assertions are backdated by as much. */
const TOLERANCE_MS = 5_000
/** A longer token would exceed the header size that servers accept. */
const MAX_TOKEN_LENGTH = 8_192
/** Used when the response does not contain `expires_in`. */
const DEFAULT_LIFETIME_MS = 300_000

/** What a token request came to. `dateMs` is the server's time, if it has refused the request. */
type Answer = Token | { readonly failure: TokenFailure; readonly dateMs?: number | undefined }

/** One fetch of a token, of one or two requests. */
interface Fetch {
  isAborted: boolean
  cancel(reason: Error): void
}

/**
 * Fetches a token when somebody needs one, and keeps it until it expires. This module and its dependency jose are loaded only
 * with `oauthSettings`.
 *
 * @see docs/spec.md, section 4; RFC 6749, section 4.4; RFC 6750, section 2.1; RFC 7523, section 2.2
 */
export class Tokens implements Authorization {
  readonly #options: TokensOptions
  readonly #signer: Signer | LocalKey
  readonly #serverName: string
  #known: TokenState
  #fetch: (Fetch & { readonly result: Promise<string | TokenFailure> }) | undefined
  #isClosed = false

  constructor(options: TokensOptions) {
    const { key, settings, known } = options
    this.#options = options
    this.#known = known
    this.#signer = key === undefined ? (settings.signer as Signer) : localKey(key)
    this.#serverName = new URL(settings.authServer).host
  }

  authorization(): string | TokenFailure | Promise<string | TokenFailure> {
    const valid = this.#valid()
    if (valid !== undefined) return valid
    if (this.#isClosed) return this.#closed()
    if (this.#fetch !== undefined) return this.#fetch.result
    const waitMs = this.#paceMs()
    if (waitMs > 0) {
      const message = `at most ${MAX_REQUESTS} tokens are requested in a minute`
      return this.#failure('limited', message, { waitMs: Math.min(waitMs, MAX_PACE_MS) })
    }
    const fetch: Fetch = { isAborted: false, cancel: () => {} }
    const result = this.#run(fetch)
    this.#fetch = Object.assign(fetch, { result })
    return result
  }

  renew(authorization: string): boolean {
    const known = this.#known
    const { token } = known
    // There is a newer token, or it is being fetched.
    if (token?.authorization !== authorization) return true
    const isNew = this.#options.clock.monotonic() < token.startedMs + RENEWAL_MS
    if (!token.isAccepted && known.isRenewed && isNew) return false
    known.isRenewed = !token.isAccepted
    known.token = undefined
    if (!token.isAccepted) known.notBeforeMs = Number.NEGATIVE_INFINITY
    return true
  }

  accepted(authorization: string): void {
    const { token } = this.#known
    if (token?.authorization !== authorization) return
    token.isAccepted = true
    this.#known.isRenewed = false
  }

  async tryOnce(): Promise<string> {
    const given = await this.authorization()
    if (typeof given === 'string') return given
    throw given.error
  }

  abort(): void {
    const fetch = this.#fetch
    if (fetch === undefined) return
    this.#fetch = undefined
    fetch.isAborted = true
    fetch.cancel(new Error('the client was closed'))
  }

  close(): void {
    this.#isClosed = true
    // Another client may go on with the shared state.
    this.#known = { ...this.#known, token: undefined }
    this.abort()
  }

  #valid(): string | undefined {
    const { token } = this.#known
    return token !== undefined && this.#options.clock.monotonic() < token.expiresMs
      ? token.authorization
      : undefined
  }

  /** How long no token may be requested, in milliseconds. */
  #paceMs(): number {
    const { startedMs, notBeforeMs } = this.#known
    const [first = 0] = startedMs
    const fromMs = startedMs.length < MAX_REQUESTS ? notBeforeMs : Math.max(notBeforeMs, first + MINUTE_MS)
    return fromMs - this.#options.clock.monotonic()
  }

  async #run(fetch: Fetch): Promise<string | TokenFailure> {
    const known = this.#known
    const { clock } = this.#options
    let { skewMs } = known
    let answer = await this.#request(fetch, skewMs)
    const otherMs = 'dateMs' in answer && answer.dateMs !== undefined ? answer.dateMs - clock.now() : skewMs
    // The assertion was refused, and the clocks differ: once more with the server's time.
    if (Math.abs(otherMs - skewMs) > TOLERANCE_MS && !fetch.isAborted && this.#paceMs() <= 0) {
      skewMs = otherMs
      answer = await this.#request(fetch, skewMs)
    }
    if (fetch.isAborted) return this.#closed()
    this.#fetch = undefined
    // Another client may have got a token meanwhile.
    if ('failure' in answer) return this.#valid() ?? answer.failure
    const { startedMs, authorization } = answer
    known.skewMs = skewMs
    if (startedMs >= (known.token?.startedMs ?? startedMs)) {
      // If it has expired already, it is given only to those who wait now.
      known.token = answer
      known.notBeforeMs = startedMs + INTERVAL_MS
    }
    return authorization
  }

  /** Never rejects. */
  async #request(fetch: Fetch, skewMs: number): Promise<Answer> {
    try {
      const { settings, timeoutMs, clock, known } = this.#options
      const startedMs = clock.monotonic()
      known.startedMs.push(startedMs)
      if (known.startedMs.length > MAX_REQUESTS) known.startedMs.shift()
      const { clientId, keyId, authServer: audience } = settings
      const nowMs = clock.now() + skewMs
      const assertion = signAssertion(this.#signer, { clientId, keyId, audience }, nowMs)
      const signing = within(assertion, timeoutMs, clock, 'the signer')
      fetch.cancel = signing.cancel
      const signed = await signing.result.catch((error) => this.#readSigningError(error))
      if (typeof signed !== 'string') return { failure: signed }
      if (fetch.isAborted) return { failure: this.#closed() }
      const leftMs = Math.max(1, Math.ceil(timeoutMs - (clock.monotonic() - startedMs)))
      const response = await answerWithin(
        (done) => {
          fetch.cancel = this.#exchange(signed, leftMs, done)
          return fetch.cancel
        },
        leftMs,
        clock,
      )
      return this.#read(response, startedMs, [...signed.split('.'), clientId, keyId])
    } catch (error) {
      // For instance from a clock that a test has mocked. The next request may succeed.
      return { failure: this.#failure('failed', `it failed (${nameOf(error)})`) }
    }
  }

  #readSigningError(error: unknown): TokenFailure {
    if (isInstance(error, SettingsError)) return this.#failure('settings', error.message)
    const message = 'the assertion could not be signed'
    if ('sign' in this.#signer) {
      const { clientId, keyId } = this.#options.settings
      const redact = redactor([clientId, keyId])
      const cause = copyCause(error, redact)
      const text = `${message}: ${printable(redact(describeCause(error)))}`
      return this.#failure('failed', text, { code: 'auth', cause })
    }
    // Only the name of the error is used: its message may quote the key.
    const name = nameOf(error)
    // A timeout does not mean a bad key: a frozen or busy process may reach the time limit before it has signed.
    return this.#failure(name === TIMEOUT ? 'failed' : 'settings', `${message} (${name})`, { code: 'auth' })
  }

  #exchange(assertion: string, timeoutMs: number, done: (response: Response) => void): Abort {
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
    const request = { url: `${settings.authServer}/token`, headers, body, timeoutMs }
    return exchange(
      client,
      { ...request, keptBytes: MAX_RESPONSE_BYTES, bodyMs: timeoutMs, closesConnection: false },
      clock,
      done,
    )
  }

  #read(response: Response, startedMs: number, secrets: readonly string[]): Answer {
    const redact = redactor(secrets)
    if (response.status === undefined) {
      const cause = copyCause(response.cause, redact)
      return { failure: this.#failure('failed', redact(describeCause(response.cause)), { cause }) }
    }
    const { status, headers } = response
    const body = readObject(response.body)
    const message = printable(redact(`[${status}] ${response.statusText}`))
    const waitMs = statedMs((name) => headerValue(headers, name), this.#options.clock.now())
    switch (wordOf(status)) {
      case 'delivered': {
        const token = readToken(body, startedMs)
        return (
          token ?? {
            failure: this.#failure('failed', `${message} without a usable access token`, { status }),
          }
        )
      }
      case 'failed':
        return { failure: this.#failure('failed', message, { status, waitMs }) }
      case 'limited':
        return { failure: this.#failure('limited', message, { status, waitMs }) }
    }
    // Another request with the same settings would be refused too.
    const error = printable(redact([body['error'], body['error_description']].filter(isText).join(': ')))
    const text = error === '' ? message : `${message}: ${error}`
    const dateMs = parseHttpDate(headerValue(headers, 'date') ?? '')
    return { failure: this.#failure('settings', text, { status }), dateMs }
  }

  #closed(): TokenFailure {
    return this.#failure('failed', 'the client was closed', { code: 'auth' })
  }

  #failure(
    word: TokenFailure['word'],
    message: string,
    facts: { status?: number; waitMs?: number | undefined; code?: 'auth'; cause?: Error | undefined } = {},
  ): TokenFailure {
    const { status, waitMs, cause, code = word === 'settings' ? 'auth' : 'retries_exhausted' } = facts
    const error = new DeliveryError(code, `no access token from ${this.#serverName}: ${message}`, {
      ...(status !== undefined && { status }),
      cause,
    })
    return { word, error, waitMs }
  }
}

function readObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function readToken(body: Record<string, unknown>, startedMs: number): Token | undefined {
  const { access_token: token, token_type: type, expires_in: expiresIn } = body
  // Only visible ASCII characters are allowed in the header (RFC 6750, section 2.1).
  if (!isText(token) || token.length > MAX_TOKEN_LENGTH || !/^[\x21-\x7e]+$/.test(token)) return undefined
  if (type !== undefined && type !== null && !(isText(type) && /^bearer$/i.test(type))) return undefined
  // The lifetime is counted from the start of the request, because the token may have been issued at any time after it.
  const lifetimeMs = readLifetimeMs(expiresIn)
  const expiresMs = startedMs + lifetimeMs - Math.min(lifetimeMs / 4, MARGIN_MS)
  return { authorization: `Bearer ${token}`, startedMs, expiresMs, isAccepted: false }
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
