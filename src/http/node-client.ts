// The default imports, and not `request` by name: mocks (msw, nock) and instrumentation replace it on these objects.
import http from 'node:http'
import https from 'node:https'
import { type ByteHTTPClient, type HTTPClientRequest, type HTTPResponse, takePlainSignal } from './client.ts'
import { NodeRequester } from './node-request.ts'

/**
 * The HTTP client over `node:http` and `node:https`, with connections of its own that are kept alive for 4 s. It takes
 * the least memory, and what is configured for `fetch` (proxies, mocks) does not apply to it. Never follows a redirect.
 *
 * @example
 * import { NodeHTTPClient } from 'trackpost/node'
 * const analytics = new Analytics({ writeKey, httpClient: new NodeHTTPClient() })
 */
export class NodeHTTPClient implements ByteHTTPClient {
  readonly #requester = new NodeRequester({ http, https })

  /** Always `true`. */
  takesBytes(): boolean {
    return true
  }

  /** Makes one request. Rejects with the error of `node:http` when there is no response. */
  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    return this.#requester.makeRequest(request)
  }
}

takePlainSignal(NodeHTTPClient.prototype.makeRequest)
