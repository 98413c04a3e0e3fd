/** The targets of nearly all requests: they need no mending, and are the same few texts over and over. */
const USUAL = /^\/v1\/[a-z]{1,10}$/
const MAX_KNOWN = 100
const known = new Map<string, URL>()

/**
 * Reads the target of a request line as an address. The result is not to be changed.
 *
 * Clients put a slash at the end of their `host`, and their path begins with one: repeated slashes count as one, and
 * one at the end as none. Undefined for what is no path at all.
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

/** A part of a path as it is meant; one that is no proper encoding stays as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
