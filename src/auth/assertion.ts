import { encode } from 'jose/base64url'
import { CompactSign } from 'jose/jws/compact/sign'
import { importPKCS8 } from 'jose/key/import'
import { platform } from '../runtime/platform.node.ts'
import type { Signer } from '../settings/signer.ts'
import { type CryptoKey, checkCryptoKey } from './crypto-key.ts'
import type { PrivateKey } from './private-key.ts'

/** The claims of an assertion, apart from `iat`, `exp` and `jti`. */
export interface AssertionClaims {
  /** Becomes `iss` and `sub`. */
  readonly clientId: string
  /** Used unless the signer has a `keyId` of its own. */
  readonly keyId: string
  readonly audience: string
}

/** A private key in this process, imported with the first assertion. */
export interface LocalKey {
  import(): Promise<CryptoKey>
}

/** The service accepts at most 60 s. */
const LIFETIME_S = 60
/** `iat` is backdated by this many seconds: a server whose clock is slow would reject an assertion from the future. */
const BACKDATED_S = 5

export function localKey(key: PrivateKey): LocalKey {
  let imported: CryptoKey | undefined
  const load = async (): Promise<CryptoKey> => {
    // Runtimes that cannot parse PEM text synchronously check the size of the key only here.
    const loaded = 'ready' in key ? key.ready : checkCryptoKey(await importPKCS8(key.pem, 'RS256'))
    // jose recognises a key by `Symbol.toStringTag`, which the keys of Node.js 16 do not have.
    if (Object.prototype.toString.call(loaded) === '[object Object]') {
      Object.defineProperty(loaded, Symbol.toStringTag, { value: 'CryptoKey' })
    }
    return loaded
  }
  return {
    // Keeps the key and not the promise: on Cloudflare Workers, a promise that an ended request made never settles.
    async import() {
      imported ??= await load()
      return imported
    },
  }
}

/**
 * Returns a signed assertion in the compact form of a JWS.
 *
 * @param nowMs The token server's time in milliseconds since the epoch; a finite number.
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
    // Must be unique across all processes.
    jti: platform.randomId(),
  })
  if ('sign' in signer) return signElsewhere(signer, keyId, payload)
  // SignJWT would copy the claims with `structuredClone`, which needs Node.js 17.
  return new CompactSign(new TextEncoder().encode(payload))
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: keyId })
    .sign(await signer.import())
}

/** Signs with a `Signer`. jose cannot do that, because it needs the key, which a `Signer` does not hand out. */
async function signElsewhere(signer: Signer, keyId: string, payload: string): Promise<string> {
  const header = { alg: signer.algorithm, typ: 'JWT', kid: signer.keyId ?? keyId }
  const signed = `${encode(JSON.stringify(header))}.${encode(payload)}`
  const signature: unknown = await signer.sign(new TextEncoder().encode(signed))
  return `${signed}.${encode(checkSignature(header.alg, signature))}`
}

/** The least and the greatest length of a signature, in bytes. @see RFC 7518, section 3; RFC 8037, section 3.1 */
function signatureBytes(algorithm: string): readonly [number, number] {
  if (algorithm.startsWith('ES')) {
    const bytes = { ES256: 64, ES384: 96, ES512: 132 }[algorithm] ?? 0
    return [bytes, bytes]
  }
  // EdDSA: Ed25519 has 64 bytes, Ed448 has 114. RSA: keys of 2,048 to 16,384 bits.
  return algorithm === 'EdDSA' ? [64, 114] : [256, 2_048]
}

/** Throws if this cannot be a signature of `algorithm`: the token server would refuse it without a clear reason. */
function checkSignature(algorithm: string, signature: unknown): Uint8Array {
  // Not `instanceof`: the signer may have made the array in another realm.
  if (Object.prototype.toString.call(signature) !== '[object Uint8Array]') {
    throw new TypeError('the signer did not return a Uint8Array')
  }
  const bytes = signature as Uint8Array
  const [least, most] = signatureBytes(algorithm)
  if (bytes.length >= least && bytes.length <= most) return bytes
  const wanted = least === most ? least : `${least} to ${most}`
  throw new TypeError(`the signer returned ${bytes.length} bytes; a signature of ${algorithm} has ${wanted}`)
}
