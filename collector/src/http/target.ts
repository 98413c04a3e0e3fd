/** Only these paths are cached: nearly all requests have one of a few paths. */
const USUAL = /^\/v1\/[a-z]{1,10}$/
const MAX_KNOWN = 100
const known = new Map<string, URL>()

/**
 * Returns undefined if the target of the request line has no path. The result is shared: do not change it.
 *
 * Repeated slashes count as one, and a slash at the end is removed: in some clients, `host` ends with a slash and the path
 * begins with another.
 */
export function readTarget(target: string): Readonly<URL> | undefined {
  const usual = known.get(target)
  if (usual !== undefined) return usual
  const url = parse(target)
  if (url !== undefined && known.size < MAX_KNOWN && USUAL.test(target)) known.set(target, url)
  return url
}

function parse(target: string): URL | undefined {
  const absolute = /^https?:\/\/[^/?#]*(.*)$/i.exec(target)?.[1] ?? target
  if (!absolute.startsWith('/')) return undefined
  const queryAt = absolute.search(/[?#]/)
  const path = queryAt < 0 ? absolute : absolute.slice(0, queryAt)
  const clean = path.replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1')
  const address = `http://collector${clean}${queryAt < 0 ? '' : absolute.slice(queryAt)}`
  return URL.canParse(address) ? new URL(address) : undefined
}
