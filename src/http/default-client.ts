import { platform } from '../runtime/platform.node.ts'
import {
  type ByteHTTPClient,
  FetchHTTPClient,
  type HTTPClient,
  type HTTPClientRequest,
  type HTTPResponse,
} from './client.ts'
import { dispatchRequest, fetchDispatcher } from './dispatcher.ts'

/** The client to use when the user gives none: over `fetch`, or over `node:http` where there is no `fetch`. */
export function defaultClient(): HTTPClient {
  const load = platform.loadHTTPClient
  return typeof globalThis.fetch === 'function' || load === undefined
    ? new DefaultHTTPClient()
    : new LazyHTTPClient(load)
}

/** The global `fetch`; where that is the one of Node.js, the dispatcher behind it. Asked anew for each request. */
class DefaultHTTPClient implements ByteHTTPClient {
  readonly #fetch = new FetchHTTPClient()

  takesBytes(): boolean {
    return fetchDispatcher() !== undefined
  }

  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    const dispatcher = fetchDispatcher()
    return dispatcher === undefined
      ? this.#fetch.makeRequest(request as HTTPClientRequest)
      : dispatchRequest(dispatcher, request)
  }
}

/** Loads a client with the first request. */
class LazyHTTPClient implements HTTPClient {
  readonly #load: () => Promise<HTTPClient>
  #client: Promise<HTTPClient> | undefined

  constructor(load: () => Promise<HTTPClient>) {
    this.#load = load
  }

  async makeRequest(request: HTTPClientRequest): Promise<HTTPResponse> {
    this.#client ??= this.#load()
    return (await this.#client).makeRequest(request)
  }
}
