export function isPostgres(address: string): boolean {
  return /^postgres(ql)?:/i.test(address)
}

/** The message contains nothing that might be a part of the password. */
export class AddressError extends Error {
  override readonly name = 'AddressError'
}

/**
 * The part of an address that may be shown: scheme, host, port and database.
 *
 * @throws AddressError when the text is not a URL, or the user or password contains special characters that are not
 *   percent-encoded. A part of the password could then be parsed as the host or path, and would be shown.
 */
export function shownAddress(address: string): string {
  if (!URL.canParse(address)) throw new AddressError(EXPECTED)
  const { host, pathname, search, hash, username, password } = new URL(address)
  if (!isEncoded(username) || !isEncoded(password)) throw new AddressError(EXPECTED)
  const isMisread = hash !== '' || pathname.slice(1).includes('/') || pathname.includes('@')
  if (isMisread || (search.includes('@') && !/[?&][^=]*=/.test(search))) throw new AddressError(EXPECTED)
  return `postgres://${host}${pathname}`
}

// Contains no example with a login, because logins in output are redacted.
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

/** Whether an address is not the path of a file: it is empty, or has a URL scheme, as in `mysql://...` and `file:events.db`. */
export function isForeign(address: string): boolean {
  // SQLite would open a temporary file for an empty path, and the path of a file: URL, which is not found by its name afterwards.
  return address.trim() === '' || /^(?:file:|[a-z][a-z\d+.-]*:\/\/)/i.test(address)
}
