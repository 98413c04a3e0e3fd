import { SettingsError } from '../errors/errors.ts'

/** Web Crypto's `CryptoKey`: with the types of Node.js alone, there is no global of that name. */
export type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** A private key that has been checked: its PKCS#8 bytes, or one that is ready for signing. */
export type PrivateKey = { readonly pkcs8: Uint8Array<ArrayBuffer> } | { readonly ready: CryptoKey }

/** RSA keys with fewer bits are refused. @see RFC 7518, section 3.3 */
const MIN_BITS = 2_048
/** Longer text is no key: 16,384 bits make less than half of it. */
const MAX_PEM_LENGTH = 32_768

const ALGORITHM = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
const SETTING = 'oauthSettings.clientKey'

/** DER tags. @see X.690, section 8 */
const INTEGER = 0x02
const OCTET_STRING = 0x04
const OBJECT_IDENTIFIER = 0x06
const SEQUENCE = 0x30
/** 1.2.840.113549.1.1.1 and 1.2.840.10045.2.1, as DER has them, in hexadecimal. */
const RSA = '2a864886f70d010101'
const ELLIPTIC_CURVE = '2a8648ce3d0201'

/**
 * Reads an RSA private key: PEM text (PKCS#8 or PKCS#1, any white space, `\n` written out as environment
 * variables have it), a `KeyObject` of Node.js, or a `CryptoKey` for RS256.
 *
 * @throws SettingsError naming what is wrong with it. No message holds a part of the key.
 */
export function readPrivateKey(value: unknown): PrivateKey {
  if (typeof value === 'string') return { pkcs8: readDer(readPem(value)) }
  const key = value as Partial<CryptoKey> & { export?: (options: object) => Uint8Array }
  if (typeof value !== 'object' || value === null || typeof key.type !== 'string') {
    return refuse(value instanceof Uint8Array ? 'a buffer; pass its text' : typeof value)
  }
  if (key.type !== 'private') return refuse(`a ${key.type} key`)
  if (typeof key.export === 'function') {
    return { pkcs8: readDer(new Uint8Array(key.export({ type: 'pkcs8', format: 'der' }))) }
  }
  const { name, hash, modulusLength } = (key.algorithm ?? {}) as RsaHashedKeyAlgorithm
  if (name !== ALGORITHM.name || hash?.name !== ALGORITHM.hash || !key.usages?.includes('sign')) {
    return refuse(`a CryptoKey that cannot sign with ${ALGORITHM.name} and ${ALGORITHM.hash}`)
  }
  checkBits(modulusLength)
  return { ready: value as CryptoKey }
}

/** A key object that signs and cannot be exported. The bytes that it is made of are wiped. */
export async function importPrivateKey(key: PrivateKey): Promise<CryptoKey> {
  if ('ready' in key) return key.ready
  const imported = await crypto.subtle.importKey('pkcs8', key.pkcs8, ALGORITHM, false, ['sign'])
  key.pkcs8.fill(0)
  return imported
}

function refuse(got: string): never {
  throw new SettingsError(
    SETTING,
    `expected an RSA private key as PEM text, KeyObject or CryptoKey, got ${got}`,
  )
}

function readPem(text: string): Uint8Array<ArrayBuffer> {
  if (text.length > MAX_PEM_LENGTH) refuse('text that is too long for a key')
  const clean = text.replace(/\\[rn]|\s+/g, ' ')
  const label = /-----BEGIN ([A-Z ]*?PRIVATE KEY) ?-----/.exec(clean)?.[1]
  if (label === undefined) {
    if (/-----BEGIN [A-Z ]*PUBLIC KEY/.test(clean)) refuse('a public key')
    refuse(/-----BEGIN /.test(clean) ? 'PEM text without a private key' : 'text that is not PEM')
  }
  const [body, ...rest] = clean.slice(clean.indexOf(label) + label.length).split('-----END')
  if (rest.length === 0) refuse('PEM text that is truncated: its END line is missing')
  // PKCS#8 says it in the label, PKCS#1 in a header line: RFC 7468, section 11, and RFC 1421.
  if (label.startsWith('ENCRYPTED') || body?.includes('ENCRYPTED')) refuse('an encrypted key')
  if (label.startsWith('EC')) refuse('an elliptic curve key')
  try {
    const binary = atob((body ?? '').replace(/[- ]/g, ''))
    const der = Uint8Array.from(binary, (character) => character.charCodeAt(0))
    return label.startsWith('RSA') ? wrapPkcs1(der) : der
  } catch {
    return refuse('PEM text whose base64 is damaged')
  }
}

/** Checks a PKCS#8 key and returns it. */
function readDer(pkcs8: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  try {
    // RFC 5208, section 5: version, algorithm, and the key as octets; RFC 8017, A.1.2: version, modulus, ...
    const outer = readElement(pkcs8, 0, SEQUENCE)
    const version = readElement(pkcs8, outer.start, INTEGER)
    const algorithm = readElement(pkcs8, version.end, SEQUENCE)
    const identifier = readElement(pkcs8, algorithm.start, OBJECT_IDENTIFIER)
    const name = hex(pkcs8.subarray(identifier.start, identifier.end))
    if (name !== RSA) refuse(name === ELLIPTIC_CURVE ? 'an elliptic curve key' : 'a key that is not RSA')
    const octets = readElement(pkcs8, algorithm.end, OCTET_STRING)
    const inner = readElement(pkcs8, octets.start, SEQUENCE)
    const innerVersion = readElement(pkcs8, inner.start, INTEGER)
    const modulus = readElement(pkcs8, innerVersion.end, INTEGER)
    checkBits(hex(pkcs8.subarray(modulus.start, modulus.end)).replace(/^0+/, '').length * 4)
    return pkcs8
  } catch (error) {
    if (error instanceof SettingsError) throw error
    return refuse('PEM text that is truncated or damaged')
  }
}

function checkBits(bits: number): void {
  if (!(bits >= MIN_BITS)) refuse(`one of ${bits} bits; it must have ${MIN_BITS} or more`)
}

/** Where the contents of the DER element at `at` are. Throws unless it has that tag and is complete. */
function readElement(bytes: Uint8Array, at: number, tag: number): { start: number; end: number } {
  const short = bytes[at + 1] as number
  // From 0x80 on, the lower bits count the bytes of the length: X.690, section 8.1.3.
  const start = at + 2 + (short > 0x80 ? short - 0x80 : 0)
  const length = short > 0x80 ? Number.parseInt(hex(bytes.subarray(at + 2, start)), 16) : short
  const end = start + length
  if (bytes[at] !== tag || !(end <= bytes.length)) throw new RangeError()
  return { start, end }
}

function wrapPkcs1(pkcs1: Uint8Array): Uint8Array<ArrayBuffer> {
  const octets = [OCTET_STRING, ...lengthOf(pkcs1.length), ...pkcs1]
  const identifier = [...RSA.matchAll(/../g)].map(([byte]) => Number.parseInt(byte, 16))
  const algorithm = [SEQUENCE, identifier.length + 4, OBJECT_IDENTIFIER, identifier.length, ...identifier]
  const body = [INTEGER, 1, 0, ...algorithm, 0x05, 0x00, ...octets]
  return Uint8Array.from([SEQUENCE, ...lengthOf(body.length), ...body])
}

/** Two length bytes hold any key that there is, and are legal in BER for shorter ones. */
function lengthOf(length: number): number[] {
  return [0x82, length >> 8, length & 0xff]
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
