import { createPublicKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  jwtVerify,
  type ProtectedHeaderParameters,
  SignJWT,
} from 'jose'
import type { Clock } from '../clock.ts'
import { ConfigError } from '../config/config-error.ts'
import type { ApplicationConfig, Config } from '../config/schema.ts'
import type { AssertionMemory } from '../store/ports.ts'
import { TokenError } from './token-error.ts'

/** An issued token, as the answer spells it. */
export interface IssuedToken {
  access_token: string
  expires_in: number
  token_type: 'Bearer'
  scope: string
}

/** Who a valid bearer token belongs to. */
export interface TokenOwner {
  clientId: string
  scopes: readonly string[]
  /** Names of the sources it may write to; undefined = all. */
  sources: readonly string[] | undefined
}

const GRANT_TYPE = 'client_credentials'
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const ASSERTION_ALGORITHM = 'RS256'
const TOKEN_ALGORITHM = 'ES256'
/** What tokens are for; their `aud`. */
const TOKEN_AUDIENCE = 'trackpost-collector'
/** Longest life of an assertion and the tolerance for the client's clock, as the specification has it, section 4. */
const ASSERTION_LIFETIME_SECONDS = 60
const CLOCK_TOLERANCE_SECONDS = 5
const MAX_JTI_CHARACTERS = 256
const MIN_RSA_BITS = 2048
const MAX_CACHED_TOKENS = 1000

interface Application extends Omit<ApplicationConfig, 'keys'> {
  keys: ReadonlyMap<string, KeyObject>
}

/**
 * The token server: exchanges client assertions for bearer tokens and checks those.
 *
 * The algorithms are fixed, keys come from the configuration by `kid`, and nothing in a token can name
 * another key or address. Tokens are signed with a key that lives as long as the collector: after a restart
 * clients get a 401 and ask for a new one, as they must be able to.
 *
 * @see RFC 7523, section 3; RFC 8725
 */
export class TokenServer {
  readonly #applications: ReadonlyMap<string, Application>
  readonly #lifetimeSeconds: number
  readonly #extraAudiences: readonly string[]
  readonly #clock: Clock
  readonly #assertions: AssertionMemory
  #issuer = ''
  #key = newTokenKey()
  readonly #revokedKeys = new Set<string>()
  readonly #verified = new Map<string, { owner: TokenOwner; expiresAtMs: number }>()

  /**
   * @throws ConfigError when a public key cannot be used.
   */
  constructor(oauth: NonNullable<Config['oauth']>, clock: Clock, assertions: AssertionMemory) {
    this.#applications = new Map(
      oauth.applications.map((one) => [one.clientId, { ...one, keys: readKeys(one) } satisfies Application]),
    )
    this.#lifetimeSeconds = oauth.tokenLifetime
    this.#extraAudiences = oauth.audiences
    this.#clock = clock
    this.#assertions = assertions
  }

  /** Told once the address is known: it is what assertions must be made out to. */
  setIssuer(url: string): void {
    this.#issuer = url
  }

  /**
   * Answers a token request.
   *
   * @throws TokenError when it is refused.
   */
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
    const application = await this.#verifyAssertion(only('client_assertion'))
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
      .setProtectedHeader({ alg: TOKEN_ALGORITHM, kid: this.#key.id, typ: 'at+jwt' })
      .setIssuer(this.#issuer)
      .setAudience(TOKEN_AUDIENCE)
      .setSubject(application.clientId)
      .setIssuedAt(nowSeconds)
      .setNotBefore(nowSeconds)
      .setExpirationTime(nowSeconds + this.#lifetimeSeconds)
      .setJti(randomUUID())
      .sign(this.#key.privateKey)
    return {
      access_token: token,
      expires_in: this.#lifetimeSeconds,
      token_type: 'Bearer',
      scope: scopes.join(' '),
    }
  }

  async #verifyAssertion(assertion: string): Promise<Application> {
    let header: ProtectedHeaderParameters
    let claims: JWTPayload
    try {
      header = decodeProtectedHeader(assertion)
      claims = decodeJwt(assertion)
    } catch {
      throw new TokenError(400, 'invalid_request', 'client_assertion is not a signed JWT')
    }
    const application = typeof claims.iss === 'string' ? this.#applications.get(claims.iss) : undefined
    const key = typeof header.kid === 'string' ? application?.keys.get(header.kid) : undefined
    if (application === undefined || key === undefined) {
      // One answer for both: which of the two is wrong is nobody's business.
      throw new TokenError(401, 'invalid_client', 'no application has this issuer and key id')
    }
    const nowMs = this.#clock.now()
    try {
      const verified = await jwtVerify(assertion, key, {
        algorithms: [ASSERTION_ALGORITHM],
        issuer: application.clientId,
        subject: application.clientId,
        audience: this.#audiences(),
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(nowMs),
        requiredClaims: ['iss', 'sub', 'aud', 'iat', 'exp', 'jti'],
      })
      claims = verified.payload
    } catch (cause) {
      throw new TokenError(401, 'invalid_client', describe(cause))
    }
    const { iat = 0, exp = 0, jti = '' } = claims
    if (exp - iat > ASSERTION_LIFETIME_SECONDS) {
      throw new TokenError(
        401,
        'invalid_client',
        `the assertion lives longer than ${ASSERTION_LIFETIME_SECONDS} s`,
      )
    }
    if (iat > nowMs / 1000 + CLOCK_TOLERANCE_SECONDS) {
      throw new TokenError(401, 'invalid_client', 'the assertion is not yet valid: iat is in the future')
    }
    if (typeof jti !== 'string' || jti === '' || jti.length > MAX_JTI_CHARACTERS) {
      throw new TokenError(401, 'invalid_client', 'jti is not a string of 1 to 256 characters')
    }
    const expiresAtMs = (exp + CLOCK_TOLERANCE_SECONDS) * 1000
    // Last, and in one step: of two that come at the same time, one finds the other's note.
    if (!(await this.#assertions.use(`${application.clientId} ${jti}`, expiresAtMs, nowMs))) {
      throw new TokenError(401, 'invalid_client', 'the assertion was used before')
    }
    return application
  }

  #audiences(): string[] {
    const own = new URL(this.#issuer)
    const names = new Set([own.origin])
    // A loopback address has more than one name; all of them are this server.
    if (['127.0.0.1', 'localhost', '[::1]'].includes(own.hostname)) {
      for (const name of ['127.0.0.1', 'localhost', '[::1]']) names.add(`http://${name}:${own.port}`)
    }
    return [
      ...[...names].flatMap((origin) => [origin, `${origin}/`, `${origin}/token`]),
      ...this.#extraAudiences,
    ]
  }

  /** Whom a bearer token belongs to, or whether it has been valid once. */
  async verify(token: string): Promise<TokenOwner | 'expired' | 'invalid'> {
    const nowMs = this.#clock.now()
    const cached = this.#verified.get(token)
    if (cached !== undefined && cached.expiresAtMs > nowMs) return cached.owner
    try {
      const { kid } = decodeProtectedHeader(token)
      // No signature is checked with it any more: that it was a key once is all that is said.
      if (this.#revokedKeys.has(kid ?? '')) return 'expired'
      if (kid !== this.#key.id) return 'invalid'
      const { payload } = await jwtVerify(token, this.#key.publicKey, {
        algorithms: [TOKEN_ALGORITHM],
        typ: 'at+jwt',
        issuer: this.#issuer,
        audience: TOKEN_AUDIENCE,
        currentDate: new Date(nowMs),
        requiredClaims: ['iss', 'sub', 'aud', 'iat', 'nbf', 'exp', 'jti'],
      })
      const application = this.#applications.get(payload.sub ?? '')
      if (application === undefined) return 'invalid'
      const owner: TokenOwner = {
        clientId: application.clientId,
        scopes: typeof payload['scope'] === 'string' ? payload['scope'].split(' ') : [],
        sources: application.sources,
      }
      if (this.#verified.size >= MAX_CACHED_TOKENS) this.#verified.clear()
      this.#verified.set(token, { owner, expiresAtMs: (payload.exp ?? 0) * 1000 })
      return owner
    } catch (cause) {
      return cause instanceof errors.JWTExpired ? 'expired' : 'invalid'
    }
  }

  /** Makes every token that was given out invalid, at once. */
  revokeTokens(): void {
    this.#revokedKeys.add(this.#key.id)
    this.#key = newTokenKey()
    this.#verified.clear()
  }
}

function newTokenKey(): { id: string; privateKey: KeyObject; publicKey: KeyObject } {
  return { id: randomUUID(), ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) }
}

function readKeys(application: ApplicationConfig): Map<string, KeyObject> {
  const keys = new Map<string, KeyObject>()
  for (const { keyId, publicKey, publicKeyFile } of application.keys) {
    const where = `oauth: key ${JSON.stringify(keyId)} of ${JSON.stringify(application.clientId)}`
    let key: KeyObject
    try {
      key = createPublicKey(publicKey ?? readFileSync(publicKeyFile ?? '', 'utf8'))
    } catch {
      throw new ConfigError(`${where}: not a public key in PEM${publicKeyFile ? ` (${publicKeyFile})` : ''}`)
    }
    if (key.asymmetricKeyType !== 'rsa' || (key.asymmetricKeyDetails?.modulusLength ?? 0) < MIN_RSA_BITS) {
      throw new ConfigError(`${where}: expected an RSA key of at least ${MIN_RSA_BITS} bits`)
    }
    keys.set(keyId, key)
  }
  return keys
}

/** One sentence on what is wrong with an assertion; clients tell clock trouble by "expired" and "not yet valid". */
function describe(cause: unknown): string {
  if (cause instanceof errors.JWTExpired) return 'the assertion has expired'
  if (cause instanceof errors.JWTClaimValidationFailed) {
    if (cause.claim === 'nbf') return 'the assertion is not yet valid'
    return `the claim ${cause.claim} is ${cause.reason === 'missing' ? 'missing' : 'not as expected'}`
  }
  if (cause instanceof errors.JOSEAlgNotAllowed) return `the algorithm must be ${ASSERTION_ALGORITHM}`
  return 'the signature does not fit'
}
