// This file does not use `node:net`, which edge functions do not have.

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/
/** The longest address with brackets, zone and port is shorter. */
const MAX_LENGTH = 128

/**
 * Of a socket, or in a forwarding header: without brackets, port and zone, IPv6 in its canonical form, IPv4-mapped IPv6 as IPv4.
 * `undefined` for what is no address, for example `unknown` or `_hidden`.
 */
export function readAddress(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length > MAX_LENGTH) return undefined
  const bare = withoutPort(text.trim()).replace(/%.*$/s, '')
  return IPV4.test(bare) ? bare : canonical(bare)
}

function withoutPort(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)
  if (bracketed !== null) return bracketed[1] as string
  return /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text
}

function canonical(address: string): string | undefined {
  if (!/^[\da-f:.]+$/i.test(address)) return undefined
  let ipv6: string
  try {
    // `URL` writes every IPv6 address in its canonical form.
    ipv6 = new URL(`http://[${address}]`).hostname.slice(1, -1)
  } catch {
    return undefined
  }
  const mapped = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(ipv6)
  if (mapped === null) return ipv6
  const [high, low] = [Number.parseInt(mapped[1] as string, 16), Number.parseInt(mapped[2] as string, 16)]
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}
