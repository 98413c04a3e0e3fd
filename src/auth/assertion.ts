import { encode } from 'jose/base64url'
import { CompactSign } from 'jose/jws/compact/sign'
import { importPKCS8 } from 'jose/key/import'
import { platform } from '../runtime/platform.node.ts'
import type { Signer } from '../settings/signer.ts'
import { type CryptoKey, checkCryptoKey } from './crypto-key.ts'
import type { PrivateKey } from './private-key.ts'

/** The claims of an assertion, apart from its times and its id. */
export interface AssertionClaims {
  /** Issuer and subject. */
  readonly clientId: string
  /** The id of the key, unless the signer has one of its own. */
  readonly keyId: string
  readonly audience: string
}

/** A private key in this process, imported with the first assertion. It signs and cannot be exported. */
export interface LocalKey {
  import(): Promise<CryptoKey>
}

/** How long an assertion is valid. The service accepts at most 60 s. */
const LIFETIME_S = 60
/** `iat` is backdated by this much: servers reject assertions from the future. */
const BACKDATED_S = 5

/** Imports a {@link PrivateKey} with the first assertion, and keeps the imported key. */
export function localKey(key: PrivateKey): LocalKey {
  let imported: CryptoKey | undefined
  const load = async (): Promise<CryptoKey> => {
    // Some runtimes cannot read PEM text in the constructor: there, the size of the key is checked only now.
    const loaded = 'ready' in key ? key.ready : checkCryptoKey(await importPKCS8(key.pem, 'RS256'))
    // jose recognises a key by this tag, which the keys of Node.js 16 do not have.
    if (Object.prototype.toString.call(loaded) === '[object Object]') {
      Object.defineProperty(loaded, Symbol.toStringTag, { value: 'CryptoKey' })
    }
    return loaded
  }
  return {
    // Keeps the key, not the promise: on Cloudflare Workers, a promise from a request that has ended never settles.
    async import() {
      imported ??= await load()
      return imported
    },
  }
}

/**
 * One signed assertion with a unique id, as a JWS in compact form.
 *
 * @param nowMs The token server's time, milliseconds since the epoch; finite.
 * @see RFC 7515, section 3.1; RFC 7523, section 3
 */
export async function signAssertion(
  signer: Signer | LocalKey,
  { clientId, keyId, audience }: AssertionClaims,
  nowMs: number,
): Promise<string> {
  const iat = Math.floor(nowMs / 1_000) - BACKDATED_S
  const payload = JSON.stringify({
    iss: clientId,
    sub: clientId,
    aud: audience,
    iat,
    exp: iat + LIFETIME_S,
    // Must be unique, across processes too.
    jti: platform.randomId(),
  })
  if ('sign' in signer) return signElsewhere(signer, keyId, payload)
  // SignJWT would copy the claims with `structuredClone`, which needs Node.js 17.
  return new CompactSign(new TextEncoder().encode(payload))
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: keyId })
    .sign(await signer.import())
}

/**
 * A `Signer` keeps its key to itself, so jose cannot sign with it: the `Signer` gets the bytes and returns the signature.
 */
async function signElsewhere(signer: Signer, keyId: string, payload: string): Promise<string> {
  const header = { alg: signer.algorithm, typ: 'JWT', kid: signer.keyId ?? keyId }
  const signed = `${encode(JSON.stringify(header))}.${encode(payload)}`
  const signature: unknown = await signer.sign(new TextEncoder().encode(signed))
  return `${signed}.${encode(checkSignature(header.alg, signature))}`
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

/** Throws for anything that cannot be a signature: the token server would refuse it without saying why. */
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
