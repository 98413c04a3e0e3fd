import { BlockList, isIP } from 'node:net'
import { describe } from '../message/describe.ts'
import { readAddress } from './address.ts'

/**
 * Whose `X-Forwarded-*` headers are believed: nobody's (`false`), those of as many proxies as there are between the client
 * and this program (a number, at most 100), or those of proxies with these addresses (`10.0.0.0/8`, `2001:db8::7`).
 */
export type TrustProxy = false | number | readonly string[]

/** How many addresses of a chain, from the peer of the connection on, are those of trusted proxies. */
export type CountTrusted = (chain: readonly (string | undefined)[]) => number

const MAX_HOPS = 100
/** Lists that were read. Programs have one; some build it again for each request. */
const lists = new Map<string, BlockList>()
const MAX_LISTS = 16

/** @throws TypeError when `trust` is none of what it may be. */
export function readTrust(trust: TrustProxy | undefined): CountTrusted {
  if (trust === undefined || trust === false) return () => 0
  if (typeof trust === 'number' && Number.isInteger(trust) && trust >= 0 && trust <= MAX_HOPS) {
    return () => trust
  }
  if (!Array.isArray(trust)) {
    throw new TypeError(
      `trustProxy: expected false, a number of proxies from 0 to ${MAX_HOPS}, or a list of addresses and CIDR ranges, ` +
        `got ${typeof trust === 'object' ? describe(trust) : String(trust)}`,
    )
  }
  const list = readList(trust)
  return (chain) => {
    const first = chain.findIndex((address) => address === undefined || !includes(list, address))
    return first < 0 ? chain.length : first
  }
}

function readList(entries: readonly unknown[]): BlockList {
  const key = entries.map(String).join(' ')
  const known = lists.get(key)
  if (known !== undefined) return known
  const list = new BlockList()
  for (const entry of entries) add(list, entry)
  if (lists.size >= MAX_LISTS) lists.clear()
  lists.set(key, list)
  return list
}

function add(list: BlockList, entry: unknown): void {
  const [text = '', length] = typeof entry === 'string' ? entry.split('/', 2) : []
  const address = isIP(text) > 0 ? readAddress(text) : undefined
  const isMapped = text.includes(':') && address?.includes('.') === true
  const width = address === undefined ? 0 : familyOf(address) === 'ipv4' ? 32 : 128
  const prefix = length === undefined ? width : Number(length) - (isMapped ? 96 : 0)
  const isPrefix = length === undefined || (/^\d{1,3}$/.test(length) && prefix >= 0 && prefix <= width)
  if (address === undefined || !isPrefix) {
    throw new TypeError(`trustProxy: expected an address or a CIDR range, got ${String(entry)}`)
  }
  list.addSubnet(address, prefix, familyOf(address))
}

function includes(list: BlockList, address: string): boolean {
  return list.check(address, familyOf(address))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4'
}
