import { SettingsError } from '../errors/errors.ts'
import { describe } from '../message/describe.ts'
import { platform } from '../runtime/platform.node.ts'

/** The least number of bits of an RSA key. @see RFC 7518, section 3.3 */
const MIN_BITS = 2_048

const KINDS: Record<string, string> = {
  ec: 'an elliptic curve key',
  pkcs1: 'a PKCS#1 key, which this runtime cannot read; convert it with `openssl pkcs8 -topk8 -nodes`',
  short: `a key that is not RSA, or has fewer than ${MIN_BITS} bits`,
}

/**
 * Reads an RSA private key as PEM text (PKCS#8 or PKCS#1), with any white space; line breaks may be the two characters `\n`, as in
 * environment variables.
 *
 * @returns Well-formed PEM text. Runtimes that cannot parse it synchronously know the size of the key only when it has been imported.
 * @throws SettingsError that says why the key cannot be used. The message contains no part of the key.
 */
export function readPrivateKey(value: unknown): string {
  if (typeof value !== 'string') return refuse(describe(value))
  let key: ReturnType<typeof platform.readPem>
  const wellFormed = toWellFormed(value)
  try {
    key = platform.readPem(wellFormed)
  } catch {
    return refuse('PEM text that is truncated or damaged')
  }
  const { type = 'rsa', bits = MIN_BITS, pem } = key
  if (type !== 'rsa') return refuse(KINDS[type] ?? 'a key that is not RSA')
  checkBits(bits)
  return pem
}

/** With lines of 64 characters, which some libraries require. */
function toWellFormed(text: string): string {
  const clean = text.replace(/\\[rn]|\s+/g, ' ')
  const label = /-----BEGIN ([A-Z ]*?PRIVATE KEY) ?-----/.exec(clean)?.[1]?.trim()
  if (label === undefined) {
    refuse(/-----BEGIN [A-Z ]*PUBLIC KEY/.test(clean) ? 'a public key' : 'text without a private key in PEM')
  }
  const [body = ''] = clean.slice(clean.indexOf(label) + label.length).split('-----END')
  // If a key is encrypted, PKCS#8 says so in the label (RFC 7468, section 11), PKCS#1 in a header line (RFC 1421).
  if (label.startsWith('ENCRYPTED') || body.includes('ENCRYPTED')) refuse('an encrypted key')
  const lines = body.replace(/[- ]/g, '').match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n')
}

export function checkBits(bits: number): void {
  if (!(bits >= MIN_BITS)) refuse(`a key of ${bits} bits; it needs ${MIN_BITS} or more`)
}

function refuse(got: string): never {
  throw new SettingsError('oauthSettings.clientKey', `expected an RSA private key as PEM text, got ${got}`)
}
