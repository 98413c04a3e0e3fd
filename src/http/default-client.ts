import { FetchHTTPClient, type HTTPClient, type HTTPClientRequest, type HTTPResponse } from './client.ts'

/** The client to use when the user gives none: over `fetch`, or over `node:http` where there is no `fetch`. */
export function defaultClient(): HTTPClient {
  return typeof globalThis.fetch === 'function' ? new FetchHTTPClient() : new LazyNodeClient()
}

/** Loads the `node:http` client with the first request: runtimes with `fetch` never need it. */
class LazyNodeClient implements HTTPClient {
  #client: Promise<HTTPClient> | undefined

  async makeRequest(request: HTTPClientRequest): Promise<HTTPResponse> {
    this.#client ??= import('./node-client.ts').then(({ NodeHTTPClient }) => new NodeHTTPClient())
    return (await this.#client).makeRequest(request)
  }
}
