/** The targets of nearly all requests: the same few texts, which need no normalisation. */
const USUAL = /^\/v1\/[a-z]{1,10}$/
const MAX_KNOWN = 100
const known = new Map<string, URL>()

/**
 * Parses the target of a request line. The result is shared: do not change it.
 *
 * Some clients have a slash at the end of their `host` and one at the start of the path: repeated slashes count as one, and one
 * at the end is removed. Undefined if the target has no path.
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

/** Decodes a part of a path. If its encoding is invalid, it stays as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
