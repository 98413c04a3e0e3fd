import { readAddress } from './address.ts'
import type { CountTrusted } from './trust.ts'

/** Reads a header by its name in lower case. Several lines are joined with commas. */
export type ReadHeader = (name: string) => string | undefined

/** The facts about the client of a request, from the trusted proxies. */
export interface Client {
  readonly ip: string | undefined
  /** From the proxies; `undefined` when none is trusted, or none states it. */
  readonly protocol: string | undefined
  readonly host: string | undefined
}

/** One proxy's entry. */
interface Hop {
  readonly address: string | undefined
  readonly protocol: string | undefined
  readonly host: string | undefined
}

/** Of a longer `X-Forwarded-*` header only the end is read: proxies append, and the rest comes from the client. */
const MAX_LENGTH = 8_192

/**
 * Follows the proxies from the peer of the connection back to the client. A trusted proxy is believed about the hop that
 * the request came from; the first hop that is not trusted is the client.
 */
export function readForwarded(
  peer: string | undefined,
  kind: 'x-forwarded' | 'forwarded',
  header: ReadHeader,
  countTrusted: CountTrusted,
): Client {
  const hops = kind === 'forwarded' ? readStandard(header) : undefined
  const addresses =
    hops?.map(({ address }) => address) ?? splitList(header('x-forwarded-for')).map(readAddress)
  const chain = [peer, ...addresses.reverse()]
  const trusted = countTrusted(chain)
  const ip = chain[Math.min(trusted, chain.length - 1)]
  if (trusted === 0) return { ip, protocol: undefined, host: undefined }
  if (hops !== undefined) {
    const { protocol, host } = fromOutermost(hops, trusted) ?? { protocol: undefined, host: undefined }
    return { ip, protocol, host }
  }
  return {
    ip,
    protocol: fromOutermost(splitList(header('x-forwarded-proto')), trusted)?.toLowerCase(),
    host: fromOutermost(splitList(header('x-forwarded-host')), trusted),
  }
}

/**
 * The value of the trusted proxy that is nearest to the client: proxies append to the header, or replace the client's
 * claim.
 */
function fromOutermost<Value>(values: readonly Value[], trusted: number): Value | undefined {
  return values[Math.max(0, values.length - trusted)]
}

/**
 * Reads one hop for each element. A malformed or overlong header counts as one hop without information.
 *
 * @see RFC 7239, section 4
 */
function readStandard(header: ReadHeader): Hop[] {
  const text = header('forwarded') ?? ''
  if (text === '') return []
  const hops: Hop[] = []
  let parameters = new Map<string, string>()
  let [name, value] = ['', '']
  let state: 'name' | 'value' | 'quoted' | 'escaped' = 'name'
  const endParameter = (): void => {
    parameters.set(name.trim().toLowerCase(), value.trim())
    name = ''
    value = ''
    state = 'name'
  }
  const endElement = (): void => {
    endParameter()
    hops.push(toHop(parameters))
    parameters = new Map()
  }
  // Reads character by character: with hostile text, a regular expression could take quadratic time.
  for (const character of text.slice(0, MAX_LENGTH)) {
    if (state === 'escaped') {
      value += character
      state = 'quoted'
    } else if (state === 'quoted') {
      if (character === '\\') state = 'escaped'
      else if (character === '"') state = 'value'
      else value += character
    } else if (character === ',') endElement()
    else if (character === ';') endParameter()
    else if (state === 'name') {
      if (character === '=') state = 'value'
      else name += character
    } else if (character === '"') state = 'quoted'
    else value += character
  }
  const isWhole = text.length <= MAX_LENGTH && (state === 'name' || state === 'value')
  if (!isWhole) return [toHop(new Map())]
  endElement()
  return hops
}

function toHop(parameters: ReadonlyMap<string, string>): Hop {
  const protocol = parameters.get('proto')?.toLowerCase()
  return { address: readAddress(parameters.get('for')), protocol, host: parameters.get('host') }
}

function splitList(value: string | undefined): string[] {
  if (value === undefined || value === '') return []
  if (value.length <= MAX_LENGTH) return value.split(',').map((field) => field.trim())
  // The first field after the cut is incomplete.
  return value
    .slice(-MAX_LENGTH)
    .split(',')
    .slice(1)
    .map((field) => field.trim())
}
