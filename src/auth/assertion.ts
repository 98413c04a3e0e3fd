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
  const signature: unknown = await signer.sign(new TextEncoder().encode(signed))
  return `${signed}.${base64Url(checkSignature(header.alg, signature))}`
}

/** How many bytes a signature has, the least and the most. @see RFC 7518, section 3; RFC 8037, section 3.1 */
function signatureBytes(algorithm: string): readonly [number, number] {
  if (algorithm.startsWith('ES')) {
    const bytes = { ES256: 64, ES384: 96, ES512: 132 }[algorithm] ?? 0
    return [bytes, bytes]
  }
  // Ed25519 and Ed448; RSA keys of 2,048 to 16,384 bits.
  return algorithm === 'EdDSA' ? [64, 114] : [256, 2_048]
}

/** The token server would refuse anything else without saying why. */
function checkSignature(algorithm: string, signature: unknown): Uint8Array {
  // Not instanceof: the signer may live in another realm.
  if (Object.prototype.toString.call(signature) !== '[object Uint8Array]') {
    throw new TypeError('the signer did not return a Uint8Array')
  }
  const bytes = signature as Uint8Array
  const [least, most] = signatureBytes(algorithm)
  if (bytes.length >= least && bytes.length <= most) return bytes
  const wanted = least === most ? least : `${least} to ${most}`
  throw new TypeError(`the signer returned ${bytes.length} bytes; a signature of ${algorithm} has ${wanted}`)
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
