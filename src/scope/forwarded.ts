import { readAddress } from './address.ts'
import type { CountTrusted } from './trust.ts'

/** Takes a name in lower case. Joins several lines of one header with commas. */
export type ReadHeader = (name: string) => string | undefined

export interface Client {
  readonly ip: string | undefined
  /** The protocol of the client's request; `undefined` when no proxy is trusted, or no trusted proxy states it. */
  readonly protocol: string | undefined
  readonly host: string | undefined
}

/** The entry of one proxy in a `Forwarded` header. */
interface Hop {
  readonly address: string | undefined
  readonly protocol: string | undefined
  readonly host: string | undefined
}

/** Only so many characters of a header are read: of `X-Forwarded-*` the last ones, because proxies append their values. */
const MAX_LENGTH = 8_192

/**
 * Finds the client of a request behind proxies: each trusted proxy states from which address it received the request, and the
 * first address that is not trusted is the client.
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
 * The value of the trusted proxy that is nearest to the client. A proxy appends its value to the header, or replaces the value
 * of the client.
 */
function fromOutermost<Value>(values: readonly Value[], trusted: number): Value | undefined {
  return values[Math.max(0, values.length - trusted)]
}

/**
 * Reads a `Forwarded` header: one entry for each element. A malformed or too long header counts as one entry without
 * information.
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
  // The text is read character by character, because a regular expression could take quadratic time for malicious text.
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
