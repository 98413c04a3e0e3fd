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
 * @throws AddressError when it is none, or special characters of a password are not encoded: they would end up in the host, and
 *   with it in messages.
 */
export function shownAddress(address: string): string {
  if (!URL.canParse(address)) throw new AddressError(EXPECTED)
  const { host, pathname, search, hash, username, password } = new URL(address)
  if (!isEncoded(username) || !isEncoded(password)) throw new AddressError(EXPECTED)
  const isMisread = hash !== '' || pathname.slice(1).includes('/') || pathname.includes('@')
  if (isMisread || (search.includes('@') && !/[?&][^=]*=/.test(search))) throw new AddressError(EXPECTED)
  return `postgres://${host}${pathname}`
}

// Without an example of a login: what looks like one is taken out of what is printed.
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

/** Whether an address names something else than a file: `mysql://...`. */
export function isForeign(address: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(address) && !/^file:/i.test(address)
}

/**
 * The address with the name of what the client does: it reads `prefer`, `require` and `verify-ca` as `verify-full`, and prints a
 * warning of many lines that its next version will not.
 */
export function withPlainSslMode(address: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(address)) return address
  return address.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/g, '$1verify-full')
}

/** Takes the password of an address out of a text. */
export function withoutPassword(text: string, address: string): string {
  const given = URL.canParse(address) ? new URL(address).password : ''
  if (given === '') return text
  return [given, decoded(given)].reduce((shown, secret) => shown.replaceAll(secret, '***'), text)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A % that begins nothing: it is meant as it is.
    return text
  }
}
