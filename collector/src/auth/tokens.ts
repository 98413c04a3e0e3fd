import { randomUUID } from 'node:crypto'
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import type { TokenMemory } from '../store/ports.ts'
import { type Application, AssertionChecker, readApplications } from './assertions.ts'
import type { TokenKeys } from './key-set.ts'
import { Keyring } from './keyring.ts'
import { TokenError } from './token-error.ts'

export interface IssuedToken {
  access_token: string
  expires_in: number
  token_type: 'Bearer'
  scope: string
}

export interface TokenOwner {
  clientId: string
  scopes: readonly string[]
  /** Names of the sources to which the owner may write; undefined for all. */
  sources: readonly string[] | undefined
}

const GRANT_TYPE = 'client_credentials'
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const TOKEN_ALGORITHM = 'HS256'
/**
 * `iss` and `aud` of all tokens. They do not depend on the address of a process, because processes that share a signing key
 * accept each other's tokens.
 */
const TOKEN_ISSUER = 'trackpost-collector'
/** The clock of the process that issued a token may be ahead by this much. */
const PROCESS_CLOCKS_SECONDS = 60
const MAX_CACHED_TOKENS = 1000
const KEY_ID = /^[0-9a-f-]{36}$/

/**
 * The algorithms are fixed. The `kid` of an assertion selects a key of the configuration; the `kid` of a token selects a key of
 * the store or log. Nothing in an assertion or a token can refer to a key elsewhere. All processes with the same store or log
 * sign tokens with the same key.
 *
 * @see RFC 7523, section 3; RFC 8725
 */
export class TokenServer {
  readonly #applications: ReadonlyMap<string, Application>
  readonly #assertions: AssertionChecker
  readonly #lifetimeSeconds: number
  readonly #clock: Clock
  readonly #keyring: Keyring
  readonly #verified = new Map<string, { owner: TokenOwner; expiresAtMs: number }>()
  /** The keys with which the tokens in `#verified` were verified. */
  #verifiedWith: TokenKeys | undefined

  /** @throws ConfigError when a public key cannot be used. */
  constructor(
    { oauth, publicUrl }: { oauth: NonNullable<Config['oauth']>; publicUrl?: string | undefined },
    clock: Clock,
    { assertions, tokenKeys }: TokenMemory,
  ) {
    this.#applications = readApplications(oauth.applications)
    const audiences = { publicUrl, more: oauth.audiences }
    this.#assertions = new AssertionChecker(this.#applications, audiences, clock, assertions)
    this.#lifetimeSeconds = oauth.tokenLifetime
    this.#clock = clock
    this.#keyring = new Keyring(tokenKeys, clock)
  }

  setAddress(url: string): void {
    this.#assertions.setAddress(url)
  }

  /** @throws TokenError when the request is refused; an error of the store when the store is unavailable. */
  async issue(form: URLSearchParams): Promise<IssuedToken> {
    const only = (name: string) => {
      const values = form.getAll(name)
      if (values.length !== 1 || values[0] === '') {
        throw new TokenError(400, 'invalid_request', `${name} must be given once`)
      }
      return values[0] as string
    }
    if (only('grant_type') !== GRANT_TYPE) {
      throw new TokenError(400, 'unsupported_grant_type', `grant_type must be ${GRANT_TYPE}`)
    }
    if (only('client_assertion_type') !== ASSERTION_TYPE) {
      throw new TokenError(400, 'invalid_request', `client_assertion_type must be ${ASSERTION_TYPE}`)
    }
    // Reads the signing key first: if that fails, the client can use the same assertion again.
    const { id, secret } = await this.#keyring.current()
    const application = await this.#assertions.check(only('client_assertion'))
    const scopes = (form.get('scope') ?? application.scopes.join(' '))
      .split(' ')
      .filter((scope) => scope !== '')
    if (scopes.length === 0 || !scopes.every((scope) => application.scopes.includes(scope))) {
      throw new TokenError(
        400,
        'invalid_scope',
        `the application may ask for: ${application.scopes.join(' ')}`,
      )
    }
    const nowSeconds = Math.floor(this.#clock.now() / 1000)
    const token = await new SignJWT({ scope: scopes.join(' ') })
      .setProtectedHeader({ alg: TOKEN_ALGORITHM, kid: id, typ: 'at+jwt' })
      .setIssuer(TOKEN_ISSUER)
      .setAudience(TOKEN_ISSUER)
      .setSubject(application.clientId)
      .setIssuedAt(nowSeconds)
      .setNotBefore(nowSeconds - PROCESS_CLOCKS_SECONDS)
      .setExpirationTime(nowSeconds + this.#lifetimeSeconds)
      .setJti(randomUUID())
      .sign(secret)
    return {
      access_token: token,
      expires_in: this.#lifetimeSeconds,
      token_type: 'Bearer',
      scope: scopes.join(' '),
    }
  }

  /**
   * Returns the owner of a bearer token; `expired` if the token has expired or its key was revoked.
   *
   * @param mayRead Whether the keys are read again for a key that is not known.
   * @throws an error of the store when the keys cannot be read.
   */
  async verify(token: string, mayRead = true): Promise<TokenOwner | 'expired' | 'invalid'> {
    const askedAtMs = this.#clock.monotonic()
    let keys = await this.#keyring.current()
    const nowMs = this.#clock.now()
    const cached = keys === this.#verifiedWith ? this.#verified.get(token) : undefined
    if (cached !== undefined && cached.expiresAtMs > nowMs) return cached.owner
    const keyId = keyIdOf(token)
    if (keyId === undefined) return 'invalid'
    if (mayRead && keys.id !== keyId && !keys.revoked.has(keyId)) {
      // Another process may have created the key since the keys were last read.
      keys = await this.#keyring.readSince(askedAtMs)
    }
    // The signature is not verified. The response only reveals that this collector once had the key.
    if (keys.revoked.has(keyId)) return 'expired'
    return keys.id === keyId ? this.#verifyWith(keys, token, nowMs) : 'invalid'
  }

  async #verifyWith(
    keys: TokenKeys,
    token: string,
    nowMs: number,
  ): Promise<TokenOwner | 'expired' | 'invalid'> {
    let payload: JWTPayload
    try {
      const verified = await jwtVerify(token, keys.secret, {
        algorithms: [TOKEN_ALGORITHM],
        typ: 'at+jwt',
        issuer: TOKEN_ISSUER,
        audience: TOKEN_ISSUER,
        currentDate: new Date(nowMs),
        requiredClaims: ['iss', 'sub', 'aud', 'iat', 'nbf', 'exp', 'jti'],
      })
      payload = verified.payload
    } catch (cause) {
      return cause instanceof errors.JWTExpired ? 'expired' : 'invalid'
    }
    const application = this.#applications.get(payload.sub ?? '')
    if (application === undefined) return 'invalid'
    const owner: TokenOwner = {
      clientId: application.clientId,
      scopes: typeof payload['scope'] === 'string' ? payload['scope'].split(' ') : [],
      sources: application.sources,
    }
    if (keys !== this.#verifiedWith || this.#verified.size >= MAX_CACHED_TOKENS) this.#verified.clear()
    this.#verifiedWith = keys
    this.#verified.set(token, { owner, expiresAtMs: (payload.exp ?? 0) * 1000 })
    return owner
  }

  revokeTokens(): Promise<void> {
    return this.#keyring.revoke()
  }
}

/** Returns undefined unless the key id of the token has the form of the collector's key ids. */
function keyIdOf(token: string): string | undefined {
  try {
    const { kid } = decodeProtectedHeader(token)
    return typeof kid === 'string' && KEY_ID.test(kid) ? kid : undefined
  } catch {
    return undefined
  }
}
