import type { Config } from '../config/schema.ts'
import { type Credentials, readCredentials } from './credentials.ts'
import type { Source, Sources } from './sources.ts'
import type { TokenServer } from './tokens.ts'

export type CredentialProblem = 'bad_credentials' | 'malformed_credentials' | 'expired_token'

/** Who sent a request, or why and how it is refused. */
export type Caller =
  | { outcome: 'source'; source: Source }
  /** The request gets status 200, but its events are recorded as not accepted. */
  | { outcome: 'unknown'; reason: 'no_write_key' | 'unknown_write_key' }
  | { outcome: 'unauthorized'; challenge: string; reason: CredentialProblem }
  | { outcome: 'forbidden'; challenge: string; reason: 'source_not_allowed' }

const REALM = 'realm="trackpost-collector"'
const BASIC_CHALLENGE = `Basic ${REALM}`
const INVALID_TOKEN = `Bearer ${REALM}, error="invalid_token", error_description="The access token is invalid or expired"`
const NEEDED_SCOPE = 'tracking_api:write'
const NOT_ALLOWED = `Bearer ${REALM}, error="insufficient_scope", scope="${NEEDED_SCOPE}"`

/** Authenticates callers by the three schemes of the specification, section 3. */
export class Authenticator {
  readonly #sources: Sources
  readonly #tokens: TokenServer | undefined
  readonly #rejectsUnknownKeys: boolean

  constructor(config: Pick<Config, 'rejectUnknownKeys'>, sources: Sources, tokens: TokenServer | undefined) {
    this.#sources = sources
    this.#tokens = tokens
    this.#rejectsUnknownKeys = config.rejectUnknownKeys
  }

  async identify(authorization: string | undefined, bodyKey: unknown): Promise<Caller> {
    return this.#check(readCredentials(authorization, bodyKey))
  }

  /** Identifies a caller whose header alone decides. Undefined for other callers, whose body has a part of the credentials. */
  async identifyByHeader(authorization: string | undefined): Promise<Caller | undefined> {
    if (authorization === undefined || /^bearer\b/i.test(authorization)) return undefined
    return this.identify(authorization, undefined)
  }

  /**
   * Returns the name of the source that a request claims to be from. The claim is not verified, so the name is only used for
   * records and for injected faults.
   */
  sourceName(authorization: string | undefined, bodyKey: unknown): string | null {
    const credentials = readCredentials(authorization, bodyKey)
    const key = 'writeKey' in credentials ? credentials.writeKey : undefined
    return key === undefined ? null : (this.#sources.find(key)?.name ?? null)
  }

  async #check(credentials: Credentials): Promise<Caller> {
    switch (credentials.scheme) {
      case 'malformed':
        return { outcome: 'unauthorized', challenge: BASIC_CHALLENGE, reason: 'malformed_credentials' }
      case 'none':
        return this.#unknown('no_write_key')
      case 'key':
        return this.#sourceOf(credentials.writeKey)
      case 'bearer':
        return this.#checkBearer(credentials.token, credentials.writeKey)
    }
  }

  #sourceOf(writeKey: string): Caller {
    const source = this.#sources.find(writeKey)
    return source === undefined ? this.#unknown('unknown_write_key') : { outcome: 'source', source }
  }

  #unknown(reason: 'no_write_key' | 'unknown_write_key'): Caller {
    if (!this.#rejectsUnknownKeys) return { outcome: 'unknown', reason }
    return { outcome: 'unauthorized', challenge: BASIC_CHALLENGE, reason: 'bad_credentials' }
  }

  async #checkBearer(token: string, writeKey: string | undefined): Promise<Caller> {
    const owner = (await this.#tokens?.verify(token)) ?? 'invalid'
    if (owner === 'invalid' || owner === 'expired') {
      const reason = owner === 'expired' ? 'expired_token' : 'bad_credentials'
      return { outcome: 'unauthorized', challenge: INVALID_TOKEN, reason }
    }
    const refused: Caller = { outcome: 'forbidden', challenge: NOT_ALLOWED, reason: 'source_not_allowed' }
    if (!owner.scopes.includes(NEEDED_SCOPE)) return refused
    if (writeKey === undefined) return { outcome: 'unknown', reason: 'no_write_key' }
    const caller = this.#sourceOf(writeKey)
    const isAllowed = caller.outcome !== 'source' || (owner.sources?.includes(caller.source.name) ?? true)
    return isAllowed ? caller : refused
  }
}
