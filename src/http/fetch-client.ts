import type { ByteHTTPClient, HTTPClientRequest, HTTPFetchFn, HTTPResponse } from './client.ts'

/**
 * An HTTP client that calls the global `fetch`, or a function with the same parameters. Never follows a redirect.
 *
 * @example
 * new Analytics({ writeKey, httpClient: new FetchHTTPClient() }) // calls the global fetch, on Node.js too
 */
export class FetchHTTPClient implements ByteHTTPClient {
  readonly #fetch: HTTPFetchFn | undefined

  /**
   * Makes a client that calls `fetch`.
   *
   * @param fetch Default: the global `fetch`. It is read for each request, so that a replaced global is used.
   */
  constructor(fetch?: HTTPFetchFn) {
    this.#fetch = fetch
  }

  /** Only for compressed bodies. Uncompressed bodies are sent as text, because mocks of `fetch` compare text. */
  takesBytes(isCompressed = false): boolean {
    return isCompressed
  }

  /** Calls `fetch`. Rejects with the error of `fetch`. */
  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    const send = this.#fetch ?? (globalThis.fetch as unknown as HTTPFetchFn)
    return send(request.url, {
      method: request.method,
      headers: request.headers,
      // The body is bytes only if the user has turned compression on.
      body: request.body as string,
      redirect: 'manual',
      signal: request.signal,
    })
  }
}
