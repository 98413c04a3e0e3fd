import { gzip } from '../runtime/compress.node.ts'
import type { ByteHTTPClient, HTTPClient, HTTPClientRequest, HTTPResponse } from './client.ts'

/**
 * Wraps an HTTP client so that it sends request bodies compressed with gzip. After a 415, or when a body cannot be compressed,
 * all bodies are sent as they are, this one too.
 *
 * @param onGivenUp Called once, with the reason. Must not throw.
 */
export function compressing(inner: HTTPClient, onGivenUp: (why: string) => void): ByteHTTPClient {
  let isOff = false
  const giveUp = (why: string): void => {
    if (!isOff) onGivenUp(why)
    isOff = true
  }
  const plain = (request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> => {
    const { body } = request
    const isTaken = typeof body === 'string' || takesBytes(inner, false)
    const given = isTaken ? body : new TextDecoder().decode(body)
    return inner.makeRequest({ ...request, body: given } as HTTPClientRequest)
  }
  return {
    takesBytes: () => true,
    async makeRequest(request: HTTPClientRequest<string | Uint8Array>) {
      const { body } = request
      if (!isOff && !takesBytes(inner, true)) {
        giveUp('httpClient takes no bytes: it has no takesBytes() that returns true')
      }
      if (isOff || typeof body === 'string') return plain(request)
      let compressed: Uint8Array
      try {
        compressed = await gzip(body)
      } catch {
        giveUp('a body could not be compressed')
        return plain(request)
      }
      if (request.signal?.aborted) throw request.signal.reason
      // A small body may grow.
      if (compressed.length >= body.length) return plain(request)
      const headers = { ...request.headers, 'Content-Encoding': 'gzip' }
      const response = await inner.makeRequest({ ...request, headers, body: compressed } as never)
      if (response?.status !== 415) return response
      giveUp('the service refused a compressed body with 415')
      response.text?.().catch(() => {})
      return plain(request)
    },
  }
}

function takesBytes(client: Partial<ByteHTTPClient>, isCompressed: boolean): boolean {
  try {
    return client.takesBytes?.(isCompressed) === true
  } catch {
    return false
  }
}
