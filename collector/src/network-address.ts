import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** Proxies that are believed when they say for whom they ask. */
export class TrustedProxies {
  readonly #list = new BlockList()

  /** @param entries Addresses and networks (`10.0.0.0/8`), as `isAddressOrNetwork` takes them. */
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

  /**
   * Address of the caller.
   *
   * `X-Forwarded-For` is read from its end, where the nearest proxy writes, and only as far as trusted proxies wrote
   * it: everything before could be the caller's own invention.
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

/** An IPv4 address in IPv6 clothing is written as what it is. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
}

/** The name of a host as sockets take it: `[::1]` of an address is `::1`. */
export function withoutBrackets(host: string): string {
  return /^\[[^\]]*\]$/.test(host) ? host.slice(1, -1) : host
}

/** Whether a text is an IP address, or a network like `10.0.0.0/8`. */
export function isAddressOrNetwork(entry: string): boolean {
  const [address = '', bits, ...more] = entry.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 6 ? 128 : 32))
}
