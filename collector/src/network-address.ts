import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

export class TrustedProxies {
  readonly #list = new BlockList()

  /** @param entries Addresses and networks (`10.0.0.0/8`) that are valid for `isAddressOrNetwork`. */
  constructor(entries: readonly string[]) {
    for (const entry of entries) {
      const [address = '', bits] = entry.split('/')
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
      if (bits === undefined) this.#list.addAddress(address, family)
      else this.#list.addSubnet(address, Number(bits), family)
    }
  }

  #has(address: string): boolean {
    const version = isIP(address)
    return version !== 0 && this.#list.check(address, version === 6 ? 'ipv6' : 'ipv4')
  }

  /** Whether a trusted proxy reports that the client uses HTTPS. Other clients could make up the header. */
  isSecure(request: IncomingMessage): boolean {
    if (!this.#has(plainAddress(request.socket.remoteAddress ?? ''))) return false
    const header = request.headers['x-forwarded-proto']
    return String(header).split(',').at(-1)?.trim().toLowerCase() === 'https'
  }

  /**
   * Reads `X-Forwarded-For` from the end, where the nearest proxy has added its entry. Stops at the first address that is not a
   * trusted proxy, because the client could have made up all entries before that one.
   */
  callerOf(request: IncomingMessage): string {
    let address = plainAddress(request.socket.remoteAddress ?? '')
    const header = request.headers['x-forwarded-for']
    if (header === undefined) return address
    const forwarded = (typeof header === 'string' ? header : header.join(',')).split(',')
    while (this.#has(address) && forwarded.length > 0) {
      const next = plainAddress((forwarded.pop() ?? '').trim())
      if (isIP(next) === 0) break
      address = next
    }
    return address
  }
}

/** Writes an IPv4-mapped IPv6 address as IPv4. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
}

/** Removes the brackets of an IPv6 address in a URL: `[::1]` becomes `::1`, as sockets need it. */
export function withoutBrackets(host: string): string {
  return /^\[[^\]]*\]$/.test(host) ? host.slice(1, -1) : host
}

export function isAddressOrNetwork(entry: string): boolean {
  const [address = '', bits, ...more] = entry.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 6 ? 128 : 32))
}
