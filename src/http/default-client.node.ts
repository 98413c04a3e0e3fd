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
import { type HTTPModules, NodeRequester } from './node-request.ts'

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

/** Requests over `node:http`, which is loaded with the first one. */
class LazyNodeHTTPClient implements ByteHTTPClient {
  #requester: NodeRequester | undefined

  takesBytes(): boolean {
    return true
  }

  async makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    // Modules of Node.js alone: they need no file. One of ours that could not be read for want of file descriptors
    // would be missing from then on, since Node.js remembers failed imports.
    this.#requester ??= new NodeRequester(await loadModules())
    return this.#requester.makeRequest(request)
  }
}

takePlainSignal(LazyNodeHTTPClient.prototype.makeRequest)

async function loadModules(): Promise<HTTPModules> {
  const [{ default: http }, { default: https }] = await Promise.all([
    import('node:http'),
    import('node:https'),
  ])
  return { http, https }
}
