import { describe } from '../message/describe.ts'
import { bitsOf, readAddress } from './address.ts'

/**
 * The proxies whose forwarding headers are trusted: none (`false`), a number of proxies directly in front of this program (at
 * most 100), or the proxies with these addresses or in these CIDR ranges (`10.0.0.0/8`, `2001:db8::7`).
 */
export type TrustProxy = false | number | readonly string[]

/** Counts the trusted proxies at the start of a chain of addresses, which begins with the peer of the connection. */
export type CountTrusted = (chain: readonly (string | undefined)[]) => number

const MAX_HOPS = 100
const BITS = 128
/** Number of bits before the IPv4 address in an IPv4-mapped IPv6 address. */
const IPV4_PREFIX = 96
/** For each CIDR range, the leading bits that all its addresses have. */
type Ranges = readonly string[]

/** @throws TypeError when the value is invalid. */
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
  const ranges = trust.map(readRange)
  return (chain) => {
    const first = chain.findIndex((address) => address === undefined || !includes(ranges, address))
    return first < 0 ? chain.length : first
  }
}

function readRange(entry: unknown): string {
  const [text = '', length] = typeof entry === 'string' ? entry.split('/', 2) : []
  // Brackets and ports, which `readAddress` accepts, are refused here.
  const address = /[[\s]|\.\d+:/.test(text) ? undefined : readAddress(text)
  const least = address?.includes('.') === true ? IPV4_PREFIX : 0
  const given = length === undefined ? BITS : Number(length) + (text.includes(':') ? 0 : IPV4_PREFIX)
  const isPrefix = length === undefined || (/^\d{1,3}$/.test(length) && given >= least && given <= BITS)
  if (address === undefined || !isPrefix) {
    throw new TypeError(`trustProxy: expected an address or a CIDR range, got ${String(entry)}`)
  }
  return bitsOf(address).slice(0, given)
}

function includes(ranges: Ranges, address: string): boolean {
  const bits = bitsOf(address)
  return ranges.some((range) => bits.startsWith(range))
}
