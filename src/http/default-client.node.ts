import {
  type ByteHTTPClient,
  FetchHTTPClient,
  type HTTPClientRequest,
  type HTTPResponse,
  type OwnHTTPClient,
  takePlainSignal,
  textUnlessCompressed,
} from './client.ts'
import { dispatchRequest } from './dispatcher.ts'
import { toAbortSignal } from './exchange.ts'
import { NodeHTTPClient } from './node-client.ts'
import { fetchDispatcher, isNodeFetch, isUnaskedContinue } from './node-fetch.ts'

/** The client to use when the user gives none. Edge runtimes get `default-client.web.ts` in its place. */
export function defaultClient(): OwnHTTPClient {
  return new DefaultHTTPClient()
}

/**
 * Sends with what the process has loaded, asked for each request. A `fetch` that is not the one of Node.js is called: one
 * that replaced it, and those of Bun and Deno. Where something has used or configured `fetch`, the dispatcher below it
 * sends, with its proxies, mocks and instrumentation; and `node:http` until then. Loading undici for this client alone
 * would double the processor time of a cold start.
 */
class DefaultHTTPClient implements ByteHTTPClient, OwnHTTPClient {
  readonly #fetch = new FetchHTTPClient()
  readonly #node = new NodeHTTPClient()
  /** Where the dispatcher cannot read the responses. */
  #unreadableUrl: string | undefined

  takesBytes(isCompressed = false): boolean {
    return isCompressed || !isFetchOther()
  }

  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    if (isFetchOther()) return this.#callFetch(request)
    const dispatcher = request.url === this.#unreadableUrl ? undefined : fetchDispatcher()
    if (dispatcher === undefined) return this.#node.makeRequest(request)
    return dispatchRequest(dispatcher, request).catch((error: unknown) => {
      if (isUnaskedContinue(error)) this.#unreadableUrl = request.url
      throw error
    })
  }

  close(): void {
    this.#node.close()
  }

  #callFetch(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    const { signal, ...rest } = request
    const body = textUnlessCompressed(request)
    return this.#fetch.makeRequest({ ...rest, body, ...(signal && { signal: toAbortSignal(signal) }) })
  }
}

takePlainSignal(DefaultHTTPClient.prototype.makeRequest)

function isFetchOther(): boolean {
  return typeof globalThis.fetch === 'function' && !isNodeFetch()
}
