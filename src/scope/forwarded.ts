import { readAddress } from './address.ts'

/** Only the last characters of a header are read, because proxies append their values. */
const MAX_LENGTH = 8_192

/** Finds the client of a request behind proxies: each of them states from which address it received the request. */
export function readForwarded(
  peer: string | undefined,
  header: string | undefined,
  trusted: number,
): string | undefined {
  if (trusted === 0 || !header) return peer
  const fields = header.slice(-MAX_LENGTH).split(',')
  // The first field after the cut is incomplete.
  if (header.length > MAX_LENGTH) fields.shift()
  const chain = [peer, ...fields.map(readAddress).reverse()]
  return chain[Math.min(trusted, chain.length - 1)]
}
