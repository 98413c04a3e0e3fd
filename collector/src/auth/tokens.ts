import { createPublicKey, type KeyObject, randomUUID } from 'node:crypto'
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
import type { AssertionMemory, TokenKeyStore } from '../store/ports.ts'
import type { TokenKeys } from './key-set.ts'
import { Keyring } from './keyring.ts'
import { TokenError } from './token-error.ts'

/** What the processes share, so that a client may turn to any of them. */
export interface TokenMemory {
  readonly assertions: AssertionMemory
  readonly tokenKeys: TokenKeyStore
}

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
/**
 * Who gives tokens out, and what they are for: `iss` and `aud`. The same at all processes, whatever their addresses: which of them
 * belong together is said by the key.
 */
const TOKEN_ISSUER = 'trackpost-collector'
/** Longest life of an assertion and the tolerance for the client's clock, as the specification has it, section 4. */
const ASSERTION_LIFETIME_SECONDS = 60
const CLOCK_TOLERANCE_SECONDS = 5
/** So far the clocks of two processes may be apart, for one to take at once what the other has signed. */
const PROCESS_CLOCKS_SECONDS = 60
const MAX_JTI_CHARACTERS = 256
const MIN_RSA_BITS = 2048
const MAX_CACHED_TOKENS = 1000
const KEY_ID = /^[0-9a-f-]{36}$/

interface Application extends Omit<ApplicationConfig, 'keys'> {
  keys: ReadonlyMap<string, KeyObject>
}

/**
 * The token server: exchanges client assertions for bearer tokens and checks those.
 *
 * The algorithms are fixed, keys come from the configuration by `kid`, and nothing in a token can name
 * another key or address. Tokens are signed with a key that all processes of one store or log have, and that lives as long
 * as the store does.
 *
 * @see RFC 7523, section 3; RFC 8725
 */
export class TokenServer {
  readonly #applications: ReadonlyMap<string, Application>
  readonly #lifetimeSeconds: number
  readonly #extraAudiences: readonly string[]
  readonly #clock: Clock
  readonly #publicUrl: string | undefined
  readonly #assertions: AssertionMemory
  readonly #keyring: Keyring
  #address = ''
  readonly #verified = new Map<string, { owner: TokenOwner; expiresAtMs: number }>()
  /** The keys that those were verified with. */
  #verifiedWith: TokenKeys | undefined

  /**
   * @throws ConfigError when a public key cannot be used.
   */
  constructor(
    { oauth, publicUrl }: { oauth: NonNullable<Config['oauth']>; publicUrl?: string | undefined },
    clock: Clock,
    { assertions, tokenKeys }: TokenMemory,
  ) {
    this.#applications = new Map(
      oauth.applications.map((one) => [one.clientId, { ...one, keys: readKeys(one) } satisfies Application]),
    )
    this.#lifetimeSeconds = oauth.tokenLifetime
    this.#extraAudiences = oauth.audiences
    this.#publicUrl = publicUrl
    this.#clock = clock
    this.#assertions = assertions
    this.#keyring = new Keyring(tokenKeys, clock)
  }

  /** Told once the address is known: assertions may be made out to it. */
  setAddress(url: string): void {
    this.#address = url
  }

  /**
   * Answers a token request.
   *
   * @throws TokenError when it is refused; what the store says when it cannot be reached.
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
    // First: an assertion that is used up for nothing is of no use to anybody.
    const { signing } = await this.#keyring.forSigning()
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
      .setProtectedHeader({ alg: TOKEN_ALGORITHM, kid: signing.id, typ: 'at+jwt' })
      .setIssuer(TOKEN_ISSUER)
      .setAudience(TOKEN_ISSUER)
      .setSubject(application.clientId)
      .setIssuedAt(nowSeconds)
      .setNotBefore(nowSeconds - PROCESS_CLOCKS_SECONDS)
      .setExpirationTime(nowSeconds + this.#lifetimeSeconds)
      .setJti(randomUUID())
      .sign(signing.privateKey)
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
    const own = new URL(this.#address)
    const names = new Set([own.origin])
    // A loopback address has more than one name; all of them are this server.
    if (['127.0.0.1', 'localhost', '[::1]'].includes(own.hostname)) {
      for (const name of ['127.0.0.1', 'localhost', '[::1]']) names.add(`http://${name}:${own.port}`)
    }
    if (this.#publicUrl !== undefined) names.add(this.#publicUrl.replace(/\/+$/, ''))
    return [...[...names].flatMap((base) => [base, `${base}/`, `${base}/token`]), ...this.#extraAudiences]
  }

  /**
   * Whom a bearer token belongs to, or whether it has been valid once.
   *
   * @throws what the store says when the keys cannot be read from it.
   */
  async verify(token: string): Promise<TokenOwner | 'expired' | 'invalid'> {
    const askedAtMs = this.#clock.monotonic()
    let keys = await this.#keyring.current()
    const nowMs = this.#clock.now()
    const cached = keys === this.#verifiedWith ? this.#verified.get(token) : undefined
    if (cached !== undefined && cached.expiresAtMs > nowMs) return cached.owner
    const keyId = keyIdOf(token)
    if (keyId === undefined) return 'invalid'
    if (!keys.checking.has(keyId) && !keys.revoked.has(keyId)) {
      // Another process may have made it a moment ago.
      keys = await this.#keyring.readSince(askedAtMs)
    }
    // No signature is checked with it any more: that it was a key once is all that is said.
    if (keys.revoked.has(keyId)) return 'expired'
    const key = keys.checking.get(keyId)
    return key === undefined ? 'invalid' : this.#verifyWith(key, keys, token, nowMs)
  }

  async #verifyWith(
    key: KeyObject,
    keys: TokenKeys,
    token: string,
    nowMs: number,
  ): Promise<TokenOwner | 'expired' | 'invalid'> {
    let payload: JWTPayload
    try {
      const verified = await jwtVerify(token, key, {
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

  /**
   * Makes every token that was given out invalid, by whichever process: here from the call on, at the others within a second after
   * the promise resolves. Rejects when the store cannot be written to.
   */
  revokeTokens(): Promise<void> {
    return this.#keyring.revoke()
  }
}

/** The id of the key that a token names; undefined when it is none of ours. */
function keyIdOf(token: string): string | undefined {
  try {
    const { kid } = decodeProtectedHeader(token)
    return typeof kid === 'string' && KEY_ID.test(kid) ? kid : undefined
  } catch {
    return undefined
  }
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
