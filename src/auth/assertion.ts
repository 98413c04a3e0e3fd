import { platform } from '../runtime/platform.node.ts'
import { importPrivateKey, type PrivateKey } from './private-key.ts'

/** What an assertion says, beside the times and its id. */
export interface AssertionClaims {
  /** Issuer and subject. */
  readonly clientId: string
  readonly keyId: string
  readonly audience: string
}

/** How long an assertion is valid. The service takes 60 s at most. */
const LIFETIME_S = 60
/** It starts so much before now: servers refuse what seems to come from the future, be it by a second. */
const HEADSTART_S = 5

/**
 * Signs assertions of one client. Loads `jose` and imports the key with the first one.
 *
 * @see RFC 7523, section 3
 */
export class AssertionSigner {
  readonly #claims: AssertionClaims
  #key: PrivateKey
  #sign: Promise<(payload: Uint8Array) => Promise<string>> | undefined

  constructor(key: PrivateKey, claims: AssertionClaims) {
    this.#key = key
    this.#claims = claims
  }

  /**
   * One assertion with an id of its own.
   *
   * @param nowMs The token server's time, milliseconds since the epoch; finite.
   */
  async sign(nowMs: number): Promise<string> {
    // Kept only if it succeeds: what could not be loaded once may be there the next time.
    this.#sign ??= this.#prepare().catch((error) => {
      this.#sign = undefined
      throw error
    })
    const sign = await this.#sign
    const { clientId, audience } = this.#claims
    const iat = Math.floor(nowMs / 1_000) - HEADSTART_S
    const claims = {
      iss: clientId,
      sub: clientId,
      aud: audience,
      iat,
      exp: iat + LIFETIME_S,
      jti: randomHex(),
    }
    return sign(new TextEncoder().encode(JSON.stringify(claims)))
  }

  async #prepare(): Promise<(payload: Uint8Array) => Promise<string>> {
    if (globalThis.crypto?.subtle === undefined) await platform.installWebCrypto()
    // Not SignJWT: it needs structuredClone, which Node.js 16 does not have.
    const { CompactSign } = await import('jose/jws/compact/sign')
    const key = await importPrivateKey(this.#key)
    if (!(Symbol.toStringTag in key)) {
      // By this jose knows a CryptoKey; those of Node.js 16 do not have it.
      Object.defineProperty(key, Symbol.toStringTag, { value: 'CryptoKey', configurable: true })
    }
    this.#key = { ready: key }
    const header = { alg: 'RS256', typ: 'JWT', kid: this.#claims.keyId }
    return (payload) => new CompactSign(payload).setProtectedHeader(header).sign(key)
  }
}

/** 128 random bits: an id must not repeat, in any process. */
function randomHex(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
