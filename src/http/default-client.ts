import { platform } from '../platform/node.ts'
import { FetchHTTPClient, type HTTPClient, type HTTPClientRequest, type HTTPResponse } from './client.ts'

/** The client to use when the user gives none: over `fetch`, or over `node:http` where there is no `fetch`. */
export function defaultClient(): HTTPClient {
  const load = platform.loadHTTPClient
  return typeof globalThis.fetch === 'function' || load === undefined
    ? new FetchHTTPClient()
    : new LazyHTTPClient(load)
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
