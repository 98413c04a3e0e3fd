import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import type { Store, TokenKey } from '../store/store.ts'
import { type Application, audiencesOf, checkAssertion, readApplications, TokenError } from './assertions.ts'

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
const KEY_ID = /^[0-9a-f-]{36}$/

/**
 * The algorithms are fixed. The `kid` of an assertion selects a key of the configuration; all tokens are signed with the one key in
 * the store. Nothing in an assertion or a token can refer to a key elsewhere.
 *
 * @see RFC 7523, section 3; RFC 8725
 */
export class TokenServer {
  readonly #applications: ReadonlyMap<string, Application>
  readonly #oauth: NonNullable<Config['oauth']>
  readonly #publicUrl: string | undefined
  readonly #clock: Clock
  readonly #store: Pick<Store, 'readKey' | 'writeKey' | 'useAssertion'>
  #key: TokenKey | undefined
  /** Of the collector. An assertion may have it as its audience. */
  address = ''

  /** @throws ConfigError when a public key cannot be used. */
  constructor(
    { oauth, publicUrl }: { oauth: NonNullable<Config['oauth']>; publicUrl?: string | undefined },
    clock: Clock,
    store: Pick<Store, 'readKey' | 'writeKey' | 'useAssertion'>,
  ) {
    this.#applications = readApplications(oauth.applications)
    this.#oauth = oauth
    this.#publicUrl = publicUrl
    this.#clock = clock
    this.#store = store
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
    const application = await this.#applicationOf(only('client_assertion'))
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
    const { tokenLifetime: lifetimeSeconds } = this.#oauth
    const token = await new SignJWT({ scope: scopes.join(' ') })
      .setProtectedHeader({ alg: TOKEN_ALGORITHM, kid: id, typ: 'at+jwt' })
      .setIssuer(TOKEN_ISSUER)
      .setAudience(TOKEN_ISSUER)
      .setSubject(application.clientId)
      .setIssuedAt(nowSeconds)
      .setNotBefore(nowSeconds)
      .setExpirationTime(nowSeconds + lifetimeSeconds)
      .setJti(randomUUID())
      .sign(createSecretKey(secret, 'base64'))
    return {
      access_token: token,
      expires_in: lifetimeSeconds,
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
    const key = this.#currentKey()
    // The signature of another key is not verified: it was made by a revoked key, or by another collector.
    if (keyIdOf(token) !== key.id) return keyIdOf(token) === undefined ? 'invalid' : 'expired'
    let payload: JWTPayload
    try {
      const verified = await jwtVerify(token, createSecretKey(key.secret, 'base64'), {
        algorithms: [TOKEN_ALGORITHM],
        typ: 'at+jwt',
        issuer: TOKEN_ISSUER,
        audience: TOKEN_ISSUER,
        currentDate: new Date(this.#clock.now()),
        requiredClaims: ['iss', 'sub', 'aud', 'iat', 'nbf', 'exp', 'jti'],
      })
      payload = verified.payload
    } catch (cause) {
      return cause instanceof errors.JWTExpired ? 'expired' : 'invalid'
    }
    // Revoked while it was verified.
    if (key !== this.#key) return 'expired'
    const application = this.#applications.get(payload.sub ?? '')
    if (application === undefined) return 'invalid'
    return {
      clientId: application.clientId,
      scopes: typeof payload['scope'] === 'string' ? payload['scope'].split(' ') : [],
      sources: application.sources,
    }
  }

  /** The application that signed the assertion, which cannot be used again. */
  async #applicationOf(assertion: string): Promise<Application> {
    const audiences = [...audiencesOf(this.address, this.#publicUrl), ...this.#oauth.audiences]
    const nowMs = this.#clock.now()
    const { application, use, expiresAtMs } = await checkAssertion(
      assertion,
      this.#applications,
      audiences,
      nowMs,
    )
    // Checked last. The check is atomic: of two requests with the same assertion, only one succeeds.
    if (this.#store.useAssertion(use, expiresAtMs, nowMs)) return application
    throw new TokenError(401, 'invalid_client', 'the assertion was used before')
  }

  #currentKey(): TokenKey {
    this.#key ??= this.#store.readKey() ?? this.#replaceKey()
    return this.#key
  }

  #replaceKey(): TokenKey {
    const key = { id: randomUUID(), secret: randomBytes(SECRET_BYTES).toString('base64') }
    this.#store.writeKey(key)
    return key
  }

  /** @throws an error of the store when the new key cannot be written. */
  revokeTokens(): void {
    this.#key = this.#replaceKey()
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
