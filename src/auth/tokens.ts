import { encode } from 'jose/base64url'
import { CompactSign } from 'jose/jws/compact/sign'
import { importPKCS8 } from 'jose/key/import'
import { copyCause, describeCause } from '../errors/cause.ts'
import { DeliveryError, SettingsError } from '../errors/errors.ts'
import type { HTTPClient } from '../http/client.ts'
import { type Abort, answerWithin, exchange, type Answer as Response } from '../http/exchange.ts'
import { redactor } from '../http/redact.ts'
import { MAX_RESPONSE_BYTES } from '../http/response.ts'
import { wordOf } from '../http/verdict.ts'
import { headerValue, parseHttpDate, statedMs } from '../http/waits.ts'
import { type Clock, TIMEOUT, within } from '../runtime/clock.ts'
import { platform } from '../runtime/platform.node.ts'
import { checkBits } from '../settings/private-key.ts'
import type { ResolvedOAuthSettings } from '../settings/resolve.ts'
import type { Signer } from '../settings/signer.ts'
// Types only: this file is a bundle of its own, and the two would import each other.
import type { Authorization, Token, TokenFailure, TokenState } from './authorization.ts'

export interface TokensOptions {
  readonly settings: ResolvedOAuthSettings
  readonly client: HTTPClient
  /** For signing and the HTTP request together. */
  readonly timeoutMs: number
  readonly userAgent: string
  readonly clock: Clock
  readonly known: TokenState
}

/** In a minute. */
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
/** A smaller difference may come from a slow network. Assertions are backdated by as much, for a server whose clock is slow. */
const TOLERANCE_MS = 5_000
/** Without `expires_in`. */
const DEFAULT_LIFETIME_MS = 300_000
/** The service accepts at most 60 s. */
const ASSERTION_S = 60

/** `dateMs` is the time of the server that has refused the request. */
type Answer = Token | { readonly failure: TokenFailure; readonly dateMs?: number | undefined }

/** @see docs/spec.md, section 4; RFC 6749, section 4.4; RFC 6750, section 2.1; RFC 7523, section 2.2 */
export class Tokens implements Authorization {
  readonly #options: TokensOptions
  readonly #signer: Signer | LocalKey
  #known: TokenState
  /** A token is being fetched, by one or two requests. */
  #fetching: Promise<string | TokenFailure> | undefined
  /** Ends what the fetch waits for. */
  #cancel: (reason: Error) => void = () => {}
  #isClosed = false

  constructor(options: TokensOptions) {
    const { settings, known } = options
    this.#options = options
    this.#known = known
    this.#signer = settings.key === undefined ? (settings.signer as Signer) : localKey(settings.key)
  }

  authorization(): string | TokenFailure | Promise<string | TokenFailure> {
    const valid = this.#valid()
    if (valid !== undefined) return valid
    if (this.#isClosed) return this.#closed()
    if (this.#fetching !== undefined) return this.#fetching
    const waitMs = this.#paceMs()
    if (waitMs > 0) {
      const message = `at most ${MAX_REQUESTS} tokens are requested in a minute`
      return this.#failure('limited', message, { waitMs: Math.min(waitMs, MAX_PACE_MS) })
    }
    this.#fetching = this.#run()
    return this.#fetching
  }

  renew(authorization: string): boolean {
    const known = this.#known
    const { token } = known
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

  close(): void {
    this.#isClosed = true
    // Another client may go on with the shared state.
    this.#known = { ...this.#known, token: undefined }
    if (this.#fetching !== undefined) this.#cancel(new Error('the client was closed'))
  }

  #valid(): string | undefined {
    const { token } = this.#known
    if (token === undefined || this.#options.clock.monotonic() >= token.expiresMs) return undefined
    return token.authorization
  }

  /** Time for which no token may be requested. */
  #paceMs(): number {
    const { startedMs, notBeforeMs } = this.#known
    const [first = 0] = startedMs
    const fromMs = startedMs.length < MAX_REQUESTS ? notBeforeMs : Math.max(notBeforeMs, first + MINUTE_MS)
    return fromMs - this.#options.clock.monotonic()
  }

  async #run(): Promise<string | TokenFailure> {
    const known = this.#known
    const { clock } = this.#options
    let { skewMs } = known
    let answer = await this.#request(skewMs)
    const otherMs = 'dateMs' in answer && answer.dateMs !== undefined ? answer.dateMs - clock.now() : skewMs
    // The assertion was refused, and the clocks differ: once more with the server's time.
    if (Math.abs(otherMs - skewMs) > TOLERANCE_MS && !this.#isClosed && this.#paceMs() <= 0) {
      skewMs = otherMs
      answer = await this.#request(skewMs)
    }
    if (this.#isClosed) return this.#closed()
    this.#fetching = undefined
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
  async #request(skewMs: number): Promise<Answer> {
    try {
      const { settings, timeoutMs, clock, known } = this.#options
      const startedMs = clock.monotonic()
      known.startedMs.push(startedMs)
      if (known.startedMs.length > MAX_REQUESTS) known.startedMs.shift()
      const assertion = signAssertion(this.#signer, settings, clock.now() + skewMs)
      const signing = within(assertion, timeoutMs, clock, 'the signer')
      this.#cancel = signing.cancel
      const signed = await signing.result.catch((error) => this.#readSigningError(error))
      if (typeof signed !== 'string') return { failure: signed }
      if (this.#isClosed) return { failure: this.#closed() }
      const leftMs = Math.max(1, Math.ceil(timeoutMs - (clock.monotonic() - startedMs)))
      const secrets = [...signed.split('.'), settings.clientId, settings.keyId]
      const start = (done: (response: Response) => void): Abort => {
        this.#cancel = this.#exchange(signed, leftMs, done)
        return this.#cancel
      }
      return this.#read(await answerWithin(start, leftMs, clock), startedMs, secrets)
    } catch (error) {
      // For instance from a clock that a test has mocked. The next request may succeed.
      return { failure: this.#failure('failed', `it failed (${nameOf(error)})`) }
    }
  }

  #readSigningError(error: unknown): TokenFailure {
    if (error instanceof SettingsError) return this.#failure('settings', error.message)
    const { clientId, keyId } = this.#options.settings
    const message = 'the assertion could not be signed'
    if ('import' in this.#signer) {
      // Only the name of the error is used: its message may quote the key. A timeout does not mean a bad key, but a busy process.
      const name = nameOf(error)
      return this.#failure(name === TIMEOUT ? 'failed' : 'settings', `${message} (${name})`, { code: 'auth' })
    }
    const redact = redactor([clientId, keyId])
    const text = `${message}: ${printable(redact(describeCause(error)))}`
    return this.#failure('failed', text, { code: 'auth', cause: copyCause(error, redact) })
  }

  #exchange(client_assertion: string, timeoutMs: number, done: (response: Response) => void): Abort {
    const { settings, client, userAgent, clock } = this.#options
    const { authServer, scope } = settings
    const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
    const form = { grant_type: 'client_credentials', client_assertion_type, client_assertion, scope }
    const headers = {
      'Content-Type': 'application/x-www-form-urlencoded',
      Accept: 'application/json',
      'Accept-Encoding': 'identity',
      'User-Agent': userAgent,
    }
    const request = { url: `${authServer}/token`, headers, body: new URLSearchParams(form).toString() }
    const limits = { timeoutMs, keptBytes: MAX_RESPONSE_BYTES, bodyMs: timeoutMs }
    return exchange(client, { ...request, ...limits }, clock, done)
  }

  #read(response: Response, startedMs: number, secrets: readonly string[]): Answer {
    const redact = redactor(secrets)
    if (response.status === undefined) {
      const cause = copyCause(response.cause, redact)
      return { failure: this.#failure('failed', redact(describeCause(response.cause)), { cause }) }
    }
    const { status, headers } = response
    const body = fieldsOf(response.body)
    const message = printable(redact(`[${status}] ${response.statusText}`))
    const waitMs = statedMs((name) => headerValue(headers, name), this.#options.clock.now())
    const word = wordOf(status)
    if (word === 'delivered') {
      const failure = this.#failure('failed', `${message} without a usable access token`, { status })
      return readToken(body, startedMs) ?? { failure }
    }
    if (word === 'failed' || word === 'limited')
      return { failure: this.#failure(word, message, { status, waitMs }) }
    // Another request with the same settings would be refused too.
    const reasons = [body['error'], body['error_description']].filter((one) => typeof one === 'string')
    const text = [message, printable(redact(reasons.join(': ')))].filter((one) => one !== '').join(': ')
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
    const { host } = new URL(this.#options.settings.authServer)
    const request = { ...(status !== undefined && { status }), cause }
    const error = new DeliveryError(code, `no access token from ${host}: ${message}`, request)
    return { word, error, waitMs }
  }
}

function fieldsOf(text: string): Record<string, unknown> {
  try {
    return { ...JSON.parse(text) }
  } catch {
    return {}
  }
}

function readToken(body: Record<string, unknown>, startedMs: number): Token | undefined {
  const { access_token: token, token_type: type, expires_in: expiresIn } = body
  // Only visible ASCII characters are allowed in the header (RFC 6750, section 2.1), and servers do not accept longer ones.
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,8192}$/.test(token)) return undefined
  if (type !== undefined && type !== null && !/^bearer$/i.test(String(type))) return undefined
  // RFC 6749 requires a number; some servers send a string.
  const seconds = /^-?\d+(?:\.\d+)?$/.test(String(expiresIn)) ? Number(expiresIn) : Number.NaN
  const lifetimeMs = Number.isFinite(seconds) ? seconds * 1_000 : DEFAULT_LIFETIME_MS
  // The lifetime is counted from the start of the request, because the token may have been issued at any time after it.
  const expiresMs = startedMs + lifetimeMs - Math.min(lifetimeMs / 4, MARGIN_MS)
  return { authorization: `Bearer ${token}`, startedMs, expiresMs, isAccepted: false }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}

function printable(text: string): string {
  const shown = text.slice(0, 300).replace(/[^\x20-\x7e]/g, ' ')
  return shown.trimEnd()
}

type LocalKey = ReturnType<typeof localKey>

export function localKey(pem: string) {
  let imported: Awaited<ReturnType<typeof importPKCS8>> | undefined
  return {
    // Keeps the key and not the promise: on Cloudflare Workers, a promise that an ended request made never settles.
    async import() {
      imported ??= await importPKCS8(pem, 'RS256')
      checkBits((imported.algorithm as RsaHashedKeyAlgorithm).modulusLength)
      // jose recognises a key by `Symbol.toStringTag`, which the keys of Node.js 16 do not have.
      if (Object.prototype.toString.call(imported) === '[object Object]') {
        Object.defineProperty(imported, Symbol.toStringTag, { value: 'CryptoKey' })
      }
      return imported
    },
  }
}

/**
 * The compact form of a JWS. `nowMs` is the time of the token server.
 *
 * @see RFC 7515, section 3.1; RFC 7523, section 3
 */
export async function signAssertion(
  signer: Signer | LocalKey,
  settings: Pick<ResolvedOAuthSettings, 'clientId' | 'keyId' | 'authServer'>,
  nowMs: number,
): Promise<string> {
  const { clientId, keyId, authServer: audience } = settings
  const iat = Math.floor((nowMs - TOLERANCE_MS) / 1_000)
  // The id must be unique across all processes.
  const times = { iat, exp: iat + ASSERTION_S, jti: platform.randomId() }
  const payload = JSON.stringify({ iss: clientId, sub: clientId, aud: audience, ...times })
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
  if ('import' in signer) {
    // SignJWT would copy the claims with `structuredClone`, which needs Node.js 17.
    return new CompactSign(bytes(payload))
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: keyId })
      .sign(await signer.import())
  }
  // jose cannot do that: it needs the key, which a `Signer` does not hand out.
  const header = { alg: signer.algorithm, typ: 'JWT', kid: signer.keyId ?? keyId }
  const signed = `${encode(JSON.stringify(header))}.${encode(payload)}`
  const signature: unknown = await signer.sign(bytes(signed))
  if (ArrayBuffer.isView(signature)) return `${signed}.${encode(signature as Uint8Array)}`
  throw new TypeError('the signer did not return a Uint8Array')
}
