/** Whether the address of a store means PostgreSQL. */
export function isPostgres(address: string): boolean {
  return /^postgres(ql)?:/i.test(address)
}

/** An address that cannot be used. The message contains no part of it. */
export class AddressError extends Error {
  override readonly name = 'AddressError'
}

/**
 * The part of an address that may be shown: neither the user nor the password nor the options.
 *
 * @throws AddressError when the text is no address, or special characters of the user or password are not percent-encoded: part
 *   of the password would then be parsed as the host, and shown.
 */
export function shownAddress(address: string): string {
  if (!URL.canParse(address)) throw new AddressError(EXPECTED)
  const { host, pathname, search, hash, username, password } = new URL(address)
  if (!isEncoded(username) || !isEncoded(password)) throw new AddressError(EXPECTED)
  const isMisread = hash !== '' || pathname.slice(1).includes('/') || pathname.includes('@')
  if (isMisread || (search.includes('@') && !/[?&][^=]*=/.test(search))) throw new AddressError(EXPECTED)
  return `postgres://${host}${pathname}`
}

// Has no example with a login: output is redacted, and the example would be redacted too.
const EXPECTED =
  'expected postgres://host:port/database, with user:password@ before the host, and special characters of the password percent-encoded (# is %23)'

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** Whether an address has a URL scheme other than `file:`, as in `mysql://...`. */
export function isForeign(address: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(address) && !/^file:/i.test(address)
}

/**
 * Replaces the `sslmode` values `prefer`, `require` and `verify-ca` by `verify-full`. The client treats them as `verify-full`
 * too, but prints a long warning that its next version will not.
 */
export function withPlainSslMode(address: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(address)) return address
  return address.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/g, '$1verify-full')
}

/** Replaces the password of an address by `***` wherever a text contains it. */
export function withoutPassword(text: string, address: string): string {
  const given = URL.canParse(address) ? new URL(address).password : ''
  if (given === '') return text
  return [given, decoded(given)].reduce((shown, secret) => shown.replaceAll(secret, '***'), text)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A % that is not part of an escape stands for itself.
    return text
  }
}
