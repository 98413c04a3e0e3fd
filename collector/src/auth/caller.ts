import type { Config } from '../config/schema.ts'
import { readCredentials } from './credentials.ts'
import type { Source, Sources } from './sources.ts'
import type { TokenServer } from './tokens.ts'

/** Who sent a request, or why and how it is refused. */
export type Caller =
  | { outcome: 'source'; source: Source }
  /** The request gets status 200, but its events are recorded as not accepted. */
  | { outcome: 'unknown'; reason: 'no_write_key' | 'unknown_write_key' }
  | {
      outcome: 'unauthorized'
      challenge: string
      reason: 'bad_credentials' | 'malformed_credentials' | 'expired_token'
    }

const REALM = 'realm="trackpost-collector"'
const BASIC_CHALLENGE = `Basic ${REALM}`
const INVALID_TOKEN = `Bearer ${REALM}, error="invalid_token", error_description="The access token is invalid or expired"`

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

  /** Identifies a caller whose header alone decides. Undefined for other callers, whose body has a part of the credentials. */
  identifyByHeader(authorization: string | undefined): Caller | undefined {
    if (authorization === undefined || /^bearer\b/i.test(authorization)) return undefined
    return this.identify(authorization, undefined)
  }

  identify(authorization: string | undefined, bodyKey: unknown): Caller {
    const credentials = readCredentials(authorization, bodyKey)
    if (credentials.scheme === 'malformed')
      return { outcome: 'unauthorized', challenge: BASIC_CHALLENGE, reason: 'malformed_credentials' }
    if (credentials.scheme === 'bearer') {
      const state = this.#tokens?.verify(credentials.token) ?? 'invalid'
      const reason = state === 'expired' ? 'expired_token' : 'bad_credentials'
      if (state !== 'valid') return { outcome: 'unauthorized', challenge: INVALID_TOKEN, reason }
    }
    const { writeKey } = credentials
    const source = writeKey === undefined ? undefined : this.#sources.find(writeKey)
    if (source !== undefined) return { outcome: 'source', source }
    if (this.#rejectsUnknownKeys)
      return { outcome: 'unauthorized', challenge: BASIC_CHALLENGE, reason: 'bad_credentials' }
    return { outcome: 'unknown', reason: writeKey === undefined ? 'no_write_key' : 'unknown_write_key' }
  }

  /**
   * Returns the name of the source that a request claims to be from. The claim is not verified, so the name is only used for
   * records and for injected faults.
   */
  sourceName(authorization: string | undefined, bodyKey: unknown): string | null {
    const { writeKey: key } = readCredentials(authorization, bodyKey)
    return key === undefined ? null : (this.#sources.find(key)?.name ?? null)
  }
}
