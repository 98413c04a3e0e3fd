/** Whether the address of a store means PostgreSQL. */
export function isPostgres(address: string): boolean {
  return /^postgres(ql)?:/i.test(address)
}

/** An address that cannot be used; what it says has no part of the address in it. */
export class AddressError extends Error {
  override readonly name = 'AddressError'
}

/**
 * What may be shown of an address: neither the user nor the password nor the options.
 *
 * @throws AddressError when it is none, or special characters of a password are not encoded: they would end up in the host, and
 *   with it in messages.
 */
export function shownAddress(address: string): string {
  if (!URL.canParse(address)) throw new AddressError(EXPECTED)
  const { host, pathname, search, hash } = new URL(address)
  const isMisread = hash !== '' || pathname.slice(1).includes('/') || pathname.includes('@')
  if (isMisread || (search.includes('@') && !/[?&][^=]*=/.test(search))) throw new AddressError(EXPECTED)
  return `postgres://${host}${pathname}`
}

const EXPECTED =
  'expected postgres://user:password@host:port/database, with special characters of the password percent-encoded (# is %23)'

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
