import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import type { TokenKey, TokenMemory } from '../store/token-memory.ts'
import { type Application, AssertionChecker, readApplications } from './assertions.ts'
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
/** `iss` and `aud` of all tokens. */
const TOKEN_ISSUER = 'trackpost-collector'
const SECRET_BYTES = 32
/** While a revoked key is remembered, its tokens are reported as expired; later, as invalid. */
const MAX_REVOKED = 100
const MAX_CACHED_TOKENS = 1000
const KEY_ID = /^[0-9a-f-]{36}$/

/**
 * The algorithms are fixed. The `kid` of an assertion selects a key of the configuration; all tokens are signed with the one key in
 * the store. Nothing in an assertion or a token can refer to a key elsewhere.
 *
 * @see RFC 7523, section 3; RFC 8725
 */
export class TokenServer {
  readonly #applications: ReadonlyMap<string, Application>
  readonly #assertions: AssertionChecker
  readonly #lifetimeSeconds: number
  readonly #clock: Clock
  readonly #memory: TokenMemory
  #key: TokenKey | undefined
  readonly #verified = new Map<string, { owner: TokenOwner; expiresAtMs: number }>()

  /** @throws ConfigError when a public key cannot be used. */
  constructor(
    { oauth, publicUrl }: { oauth: NonNullable<Config['oauth']>; publicUrl?: string | undefined },
    clock: Clock,
    memory: TokenMemory,
  ) {
    this.#applications = readApplications(oauth.applications)
    const audiences = { publicUrl, more: oauth.audiences }
    this.#assertions = new AssertionChecker(this.#applications, audiences, clock, memory)
    this.#lifetimeSeconds = oauth.tokenLifetime
    this.#clock = clock
    this.#memory = memory
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
    const { id, secret } = this.#currentKey()
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
      .setNotBefore(nowSeconds)
      .setExpirationTime(nowSeconds + this.#lifetimeSeconds)
      .setJti(randomUUID())
      .sign(createSecretKey(secret, 'base64'))
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
   * @throws an error of the store when the key cannot be read.
   */
  async verify(token: string): Promise<TokenOwner | 'expired' | 'invalid'> {
    const nowMs = this.#clock.now()
    const cached = this.#verified.get(token)
    if (cached !== undefined && cached.expiresAtMs > nowMs) return cached.owner
    const key = this.#currentKey()
    const keyId = keyIdOf(token)
    // The signature is not verified. The response only reveals that this collector once had the key.
    if (keyId !== undefined && key.revoked.includes(keyId)) return 'expired'
    return keyId === key.id ? this.#verifyWith(key, token, nowMs) : 'invalid'
  }

  #currentKey(): TokenKey {
    this.#key ??= this.#memory.readKey() ?? this.#replaceKey([])
    return this.#key
  }

  #replaceKey(revoked: string[]): TokenKey {
    const key = { id: randomUUID(), secret: randomBytes(SECRET_BYTES).toString('base64'), revoked }
    this.#memory.writeKey(key)
    return key
  }

  async #verifyWith(
    key: TokenKey,
    token: string,
    nowMs: number,
  ): Promise<TokenOwner | 'expired' | 'invalid'> {
    let payload: JWTPayload
    try {
      const verified = await jwtVerify(token, createSecretKey(key.secret, 'base64'), {
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
    if (this.#verified.size >= MAX_CACHED_TOKENS) this.#verified.clear()
    // Revoked while it was verified.
    if (key !== this.#key) return 'expired'
    this.#verified.set(token, { owner, expiresAtMs: (payload.exp ?? 0) * 1000 })
    return owner
  }

  /** @throws an error of the store when the new key cannot be written. */
  revokeTokens(): void {
    const { id, revoked } = this.#currentKey()
    this.#key = this.#replaceKey([...revoked, id].slice(-MAX_REVOKED))
    this.#verified.clear()
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
