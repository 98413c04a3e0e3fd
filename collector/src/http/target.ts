/**
 * Returns undefined if the target of the request line has no path.
 *
 * Repeated slashes count as one, and a slash at the end is removed: in some clients, `host` ends with a slash and the path
 * begins with another.
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
