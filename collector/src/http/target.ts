/**
 * Reads the target of a request line as an address.
 *
 * Clients put a slash at the end of their `host`, and their path begins with one: repeated slashes count as one, and
 * one at the end as none. Undefined for what is no path at all.
 */
export function readTarget(target: string): URL | undefined {
  const absolute = /^https?:\/\/[^/?#]*(.*)$/i.exec(target)?.[1] ?? target
  if (!absolute.startsWith('/')) return undefined
  const queryAt = absolute.search(/[?#]/)
  const path = queryAt < 0 ? absolute : absolute.slice(0, queryAt)
  const clean = path.replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1')
  const address = `http://collector${clean}${queryAt < 0 ? '' : absolute.slice(queryAt)}`
  return URL.canParse(address) ? new URL(address) : undefined
}
