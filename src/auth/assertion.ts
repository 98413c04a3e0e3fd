import { platform } from '../runtime/platform.node.ts'
import type { Signer } from './signer.ts'

/** What an assertion says, apart from its times and its id. */
export interface AssertionClaims {
  /** Issuer and subject. */
  readonly clientId: string
  /** The id of the key, unless the signer names one. */
  readonly keyId: string
  readonly audience: string
}

/** How long an assertion is valid. The service accepts at most 60 s. */
const LIFETIME_S = 60
/** `iat` is backdated by this much: servers reject assertions from the future. */
const BACKDATED_S = 5

/**
 * One signed assertion with an id of its own, as a JWS in compact form.
 *
 * @param nowMs The token server's time, milliseconds since the epoch; finite.
 * @see RFC 7515, section 3.1; RFC 7523, section 3
 */
export async function signAssertion(signer: Signer, claims: AssertionClaims, nowMs: number): Promise<string> {
  const { clientId, audience } = claims
  const iat = Math.floor(nowMs / 1_000) - BACKDATED_S
  const header = { alg: signer.algorithm, typ: 'JWT', kid: signer.keyId ?? claims.keyId }
  const payload = {
    iss: clientId,
    sub: clientId,
    aud: audience,
    iat,
    exp: iat + LIFETIME_S,
    jti: randomHex(),
  }
  const signed = `${encodeJson(header)}.${encodeJson(payload)}`
  return `${signed}.${base64Url(await signer.sign(new TextEncoder().encode(signed)))}`
}

function encodeJson(value: object): string {
  return base64Url(new TextEncoder().encode(JSON.stringify(value)))
}

/** @see RFC 4648, section 5; without padding, as RFC 7515, section 2, has it. */
function base64Url(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  return btoa(binary).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')
}

/** 128 random bits: an id must not repeat, in any process. */
function randomHex(): string {
  const bytes = platform.webCrypto().getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
