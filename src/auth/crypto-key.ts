import { SettingsError } from '../errors/errors.ts'

// The client and the separate bundle for OAuth share this file. If it imported the platform, as private-key.ts does, the two
// bundles would import each other.

/** The least number of bits of an RSA key. @see RFC 7518, section 3.3 */
export const MIN_BITS = 2_048

/** Web Crypto's `CryptoKey`. The types of Node.js have no global of that name. */
export type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

const ALGORITHM = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }

/** Returns `key`. @throws SettingsError when the key cannot sign with RS256, or is too short. */
export function checkCryptoKey(key: CryptoKey): CryptoKey {
  const { name, hash, modulusLength } = (key.algorithm ?? {}) as RsaHashedKeyAlgorithm
  if (name !== ALGORITHM.name || hash?.name !== ALGORITHM.hash || !key.usages?.includes('sign')) {
    return refuse(`a CryptoKey that cannot sign with ${ALGORITHM.name} and ${ALGORITHM.hash}`)
  }
  checkBits(modulusLength)
  return key
}

/** @throws SettingsError for a key that is too short. */
export function checkBits(bits: number): void {
  if (!(bits >= MIN_BITS)) refuse(`a key of ${bits} bits; it needs ${MIN_BITS} or more`)
}

/** @param got Describes the value that was given. */
export function refuse(got: string): never {
  throw new SettingsError(
    'oauthSettings.clientKey',
    `expected an RSA private key as PEM text, KeyObject or CryptoKey, got ${got}`,
  )
}
