import { isIP } from 'node:net'

/** The longest address with brackets, zone and port is shorter. */
const MAX_LENGTH = 128

/**
 * The IP address in a field of a forwarding header, or of a socket: without brackets, port and zone, IPv6 in its
 * canonical form, and IPv4 that was mapped into IPv6 as IPv4. `undefined` when there is none: `unknown`, `_hidden`, garbage.
 */
export function readAddress(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length > MAX_LENGTH) return undefined
  const bare = withoutPort(text.trim()).replace(/%.*$/s, '')
  const family = isIP(bare)
  if (family === 4) return bare
  return family === 6 ? canonical(bare) : undefined
}

function withoutPort(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)
  if (bracketed !== null) return bracketed[1] as string
  return /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text
}

function canonical(address: string): string {
  // URLs write every IPv6 address in one way.
  const ipv6 = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const mapped = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(ipv6)
  if (mapped === null) return ipv6
  const [high, low] = [Number.parseInt(mapped[1] as string, 16), Number.parseInt(mapped[2] as string, 16)]
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}
