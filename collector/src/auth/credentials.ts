export type Credentials =
  | { scheme: 'key'; writeKey: string | undefined }
  | { scheme: 'bearer'; token: string; writeKey: string | undefined }
  | { scheme: 'malformed'; writeKey: undefined }

const MALFORMED: Credentials = { scheme: 'malformed', writeKey: undefined }

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const BEARER_TOKEN = /^[A-Za-z0-9._~+/-]+=*$/

/**
 * Reads the three authentication schemes of the specification, section 3.
 *
 * With Basic, a `writeKey` in the body is ignored. With Bearer, the `writeKey` in the body names the source. The value for
 * Basic is `base64(writeKey + ":")`; a password after the colon is ignored.
 */
export function readCredentials(authorization: string | undefined, bodyKey: unknown): Credentials {
  const writeKey = typeof bodyKey === 'string' && bodyKey !== '' ? bodyKey : undefined
  if (authorization === undefined) return { scheme: 'key', writeKey }
  const space = authorization.indexOf(' ')
  const scheme = (space < 0 ? authorization : authorization.slice(0, space)).toLowerCase()
  const value = space < 0 ? '' : authorization.slice(space + 1).trim()
  if (scheme === 'basic') {
    if (value === '' || !BASE64.test(value)) return MALFORMED
    const text = Buffer.from(value, 'base64').toString('utf8')
    const colon = text.indexOf(':')
    return colon < 1 ? MALFORMED : { scheme: 'key', writeKey: text.slice(0, colon) }
  }
  if (scheme === 'bearer' && BEARER_TOKEN.test(value)) return { scheme: 'bearer', token: value, writeKey }
  return MALFORMED
}
