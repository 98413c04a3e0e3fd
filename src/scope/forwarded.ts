import { readAddress } from './address.ts'

/** Takes a name in lower case. Joins several lines of one header with commas. */
export type ReadHeader = (name: string) => string | undefined

export interface Client {
  readonly ip: string | undefined
  /** The protocol of the client's request; `undefined` when no proxy is trusted, or no trusted proxy states it. */
  readonly protocol: string | undefined
  readonly host: string | undefined
}

/** Only the last characters of a header are read, because proxies append their values. */
const MAX_LENGTH = 8_192

/** Finds the client of a request behind proxies: each of them states from which address it received the request. */
export function readForwarded(peer: string | undefined, header: ReadHeader, trusted: number): Client {
  if (trusted === 0) return { ip: peer, protocol: undefined, host: undefined }
  const addresses = splitList(header('x-forwarded-for')).map(readAddress)
  const chain = [peer, ...addresses.reverse()]
  return {
    ip: chain[Math.min(trusted, chain.length - 1)],
    protocol: fromOutermost(splitList(header('x-forwarded-proto')), trusted)?.toLowerCase(),
    host: fromOutermost(splitList(header('x-forwarded-host')), trusted),
  }
}

/**
 * The value of the trusted proxy that is nearest to the client. A proxy appends its value to the header, or replaces the value
 * of the client.
 */
function fromOutermost(values: readonly string[], trusted: number): string | undefined {
  return values[Math.max(0, values.length - trusted)]
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
