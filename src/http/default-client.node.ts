import {
  type ByteHTTPClient,
  FetchHTTPClient,
  type HTTPClient,
  type HTTPClientRequest,
  type HTTPResponse,
  takePlainSignal,
  textUnlessCompressed,
  toAbortSignal,
} from './client.ts'
import { dispatchRequest, fetchDispatcher, isNodeFetch } from './dispatcher.ts'

/** The client to use when the user gives none. Edge runtimes get `default-client.web.ts` in its place. */
export function defaultClient(): HTTPClient {
  return isFetchUsable() ? new DefaultHTTPClient() : new LazyNodeHTTPClient()
}

/** Whether there is a `fetch`. The one of Node.js needs WebAssembly, which `--jitless` turns off. */
function isFetchUsable(): boolean {
  return typeof globalThis.fetch === 'function' && !(isNodeFetch() && typeof WebAssembly === 'undefined')
}

/** The global `fetch`; where that is the one of Node.js, the dispatcher it uses. Looked up for each request. */
class DefaultHTTPClient implements ByteHTTPClient {
  readonly #fetch = new FetchHTTPClient()

  takesBytes(isCompressed = false): boolean {
    return isCompressed || fetchDispatcher() !== undefined
  }

  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    const dispatcher = fetchDispatcher()
    if (dispatcher !== undefined) return dispatchRequest(dispatcher, request)
    const { signal, ...rest } = request
    const body = textUnlessCompressed(request)
    return this.#fetch.makeRequest({ ...rest, body, ...(signal && { signal: toAbortSignal(signal) }) })
  }
}

takePlainSignal(DefaultHTTPClient.prototype.makeRequest)

/** The client over `node:http`, loaded with the first request. */
class LazyNodeHTTPClient implements ByteHTTPClient {
  #client: ByteHTTPClient | undefined

  takesBytes(): boolean {
    return true
  }

  async makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    // A failed import is not kept: with too few file descriptors one moment, there may be enough the next.
    const { NodeHTTPClient } = await import(/* webpackMode: "eager" */ './node-client.ts')
    this.#client ??= new NodeHTTPClient()
    return this.#client.makeRequest(request)
  }
}
