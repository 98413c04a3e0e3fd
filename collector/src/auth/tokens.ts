import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import { audiencesOf, checkAssertion, type Keys, readKeys, TokenError } from './assertions.ts'

export interface IssuedToken {
  access_token: string
  expires_in: number
  token_type: 'Bearer'
  scope: string
}

const GRANT_TYPE = 'client_credentials'
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const SCOPE = 'tracking_api:write'
/** Tokens and assertions that are remembered; then the oldest are forgotten. */
const MAX_REMEMBERED = 10_000

/** Issues access tokens: random texts, which are known until the process ends. */
export class TokenServer {
  readonly #oauth: NonNullable<Config['oauth']>
  readonly #publicUrl: string | undefined
  readonly #clock: Pick<Clock, 'now'>
  readonly #keys: Keys
  /** When each token expires, milliseconds since the epoch; 0 = it was revoked. */
  readonly #tokens = new Map<string, number>()
  readonly #used = new Map<string, number>()
  /** Of the collector. An assertion may have it as its audience. */
  address = ''

  /** @throws ConfigError when a public key cannot be used. */
  constructor(oauth: NonNullable<Config['oauth']>, publicUrl: string | undefined, clock: Pick<Clock, 'now'>) {
    this.#oauth = oauth
    this.#publicUrl = publicUrl
    this.#clock = clock
    this.#keys = readKeys(oauth.applications)
  }

  /** @throws TokenError when the request is refused. */
  async issue(form: URLSearchParams): Promise<IssuedToken> {
    const only = (name: string) => {
      const values = form.getAll(name)
      if (values.length === 1 && values[0]) return values[0]
      throw new TokenError(400, 'invalid_request', `${name} must be given once`)
    }
    if (only('grant_type') !== GRANT_TYPE)
      throw new TokenError(400, 'unsupported_grant_type', `grant_type must be ${GRANT_TYPE}`)
    if (only('client_assertion_type') !== ASSERTION_TYPE)
      throw new TokenError(400, 'invalid_request', `client_assertion_type must be ${ASSERTION_TYPE}`)
    await this.#use(only('client_assertion'))
    if ((form.get('scope')?.trim() || SCOPE) !== SCOPE)
      throw new TokenError(400, 'invalid_scope', `the application may ask for: ${SCOPE}`)
    const token = randomBytes(32).toString('base64url')
    const { tokenLifetime: lifetimeSeconds } = this.#oauth
    remember(this.#tokens, token, this.#clock.now() + lifetimeSeconds * 1000)
    return { access_token: token, expires_in: lifetimeSeconds, token_type: 'Bearer', scope: SCOPE }
  }

  verify(token: string): 'valid' | 'expired' | 'invalid' {
    const expiresAtMs = this.#tokens.get(token)
    if (expiresAtMs === undefined) return 'invalid'
    return expiresAtMs > this.#clock.now() ? 'valid' : 'expired'
  }

  async #use(assertion: string): Promise<void> {
    const audiences = audiencesOf(this.address, this.#publicUrl)
    const { use, expiresAtMs } = await checkAssertion(assertion, this.#keys, audiences, this.#clock.now())
    if (this.#used.has(use)) throw new TokenError(401, 'invalid_client', 'the assertion was used before')
    remember(this.#used, use, expiresAtMs)
  }

  revokeTokens(): void {
    for (const token of this.#tokens.keys()) this.#tokens.set(token, 0)
  }
}

function remember(all: Map<string, number>, key: string, expiresAtMs: number): void {
  const [oldest] = all.keys()
  if (all.size >= MAX_REMEMBERED && oldest !== undefined) all.delete(oldest)
  all.set(key, expiresAtMs)
}
