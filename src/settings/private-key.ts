import { SettingsError } from '../errors/errors.ts'
import { platform } from '../runtime/platform.node.ts'

/** Web Crypto's `CryptoKey`. The types of Node.js have no global of that name. */
export type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/**
 * A private key: a `CryptoKey` that can sign, or PKCS#8 as PEM text. Runtimes that cannot parse PEM text synchronously check the size
 * of the key only when it has been imported.
 */
export type PrivateKey =
  | { readonly ready: CryptoKey }
  | { readonly pem: string; readonly check: (imported: CryptoKey) => CryptoKey }

/** Longer text is not read: the PEM text of a key of 16,384 bits has less than half of this length. */
const MAX_PEM_LENGTH = 32_768
/** The least number of bits of an RSA key. @see RFC 7518, section 3.3 */
const MIN_BITS = 2_048
const ALGORITHM = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }

/** How error messages describe a key that cannot be used, by its kind. */
const KINDS: Record<string, string> = {
  ec: 'an elliptic curve key',
  pkcs1: 'a PKCS#1 key, which this runtime cannot read; convert it with `openssl pkcs8 -topk8 -nodes`',
  short: `a key that is not RSA, or has fewer than ${MIN_BITS} bits`,
}

/**
 * Reads an RSA private key: PEM text (PKCS#8 or PKCS#1), a `KeyObject` of Node.js, or a `CryptoKey` for RS256. PEM text may
 * have any white space; line breaks may be the two characters `\n`, as in environment variables.
 *
 * @throws SettingsError that says why the key cannot be used. The message contains no part of the key.
 */
export function readPrivateKey(value: unknown): PrivateKey {
  if (typeof value === 'string') return readPem(value)
  const key = value as Partial<CryptoKey> & { export?: (options: object) => unknown }
  if (typeof value !== 'object' || value === null || typeof key.type !== 'string') {
    return refuse(value instanceof Uint8Array ? 'a buffer; pass its text' : typeof value)
  }
  if (key.type !== 'private') return refuse(`a ${key.type} key`)
  if (typeof key.export === 'function') return readPem(String(key.export({ type: 'pkcs8', format: 'pem' })))
  return { ready: checkCryptoKey(value as CryptoKey) }
}

function readPem(text: string): PrivateKey {
  let key: ReturnType<typeof platform.readPem>
  const wellFormed = toWellFormed(text)
  try {
    key = platform.readPem(wellFormed)
  } catch {
    return refuse('PEM text that is truncated or damaged')
  }
  const { type = 'rsa', bits = MIN_BITS, pem } = key
  if (type !== 'rsa') return refuse(KINDS[type] ?? 'a key that is not RSA')
  checkBits(bits)
  return { pem, check: checkCryptoKey }
}

/** Returns the private key in `text` as PEM text with lines of 64 characters, which some libraries require. */
function toWellFormed(text: string): string {
  if (text.length > MAX_PEM_LENGTH) refuse('text that is too long for a key')
  const clean = text.replace(/\\[rn]|\s+/g, ' ')
  const label = /-----BEGIN ([A-Z ]*?PRIVATE KEY) ?-----/.exec(clean)?.[1]?.trim()
  if (label === undefined) {
    if (/-----BEGIN [A-Z ]*PUBLIC KEY/.test(clean)) refuse('a public key')
    refuse(/-----BEGIN /.test(clean) ? 'PEM text without a private key' : 'text that is not PEM')
  }
  const [body = '', ...rest] = clean.slice(clean.indexOf(label) + label.length).split('-----END')
  if (rest.length === 0) refuse('PEM text that is truncated: its END line is missing')
  // If a key is encrypted, PKCS#8 says so in the label (RFC 7468, section 11), PKCS#1 in a header line (RFC 1421).
  if (label.startsWith('ENCRYPTED') || body.includes('ENCRYPTED')) refuse('an encrypted key')
  const base64 = body.replace(/[- ]/g, '')
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) refuse('PEM text whose base64 is damaged')
  if (label.startsWith('EC')) refuse(KINDS['ec'] as string)
  const lines = base64.match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n')
}

function checkCryptoKey(key: CryptoKey): CryptoKey {
  const { name, hash, modulusLength } = (key.algorithm ?? {}) as RsaHashedKeyAlgorithm
  if (name !== ALGORITHM.name || hash?.name !== ALGORITHM.hash || !key.usages?.includes('sign')) {
    return refuse(`a CryptoKey that cannot sign with ${ALGORITHM.name} and ${ALGORITHM.hash}`)
  }
  checkBits(modulusLength)
  return key
}

function checkBits(bits: number): void {
  if (!(bits >= MIN_BITS)) refuse(`a key of ${bits} bits; it needs ${MIN_BITS} or more`)
}

/** @param got Describes the value that was given. */
function refuse(got: string): never {
  throw new SettingsError(
    'oauthSettings.clientKey',
    `expected an RSA private key as PEM text, KeyObject or CryptoKey, got ${got}`,
  )
}
