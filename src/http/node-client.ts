// The default imports, and not `request` by name: mocks (msw, nock) and instrumentation replace it on these objects.
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { urlToHttpOptions } from 'node:url'
import {
  type ByteHTTPClient,
  type HTTPClientRequest,
  type HTTPResponse,
  signalOf,
  takePlainSignal,
} from './client.ts'
import { readAll } from './response.ts'

/** Idle connections are closed before common servers (5 s) and load balancers close them. */
const KEEP_ALIVE_MS = 4_000

/**
 * The HTTP client over `node:http` and `node:https`, with connections of its own that are kept alive for 4 s. It takes
 * the least memory, and what is configured for `fetch` (proxies, mocks) does not apply to it. Never follows a redirect.
 *
 * @example
 * import { NodeHTTPClient } from 'trackpost/node'
 * const analytics = new Analytics({ writeKey, httpClient: new NodeHTTPClient() })
 */
export class NodeHTTPClient implements ByteHTTPClient {
  readonly #http = new http.Agent({ keepAlive: true, timeout: KEEP_ALIVE_MS })
  readonly #https = new https.Agent({ keepAlive: true, timeout: KEEP_ALIVE_MS })

  /** The last URL, taken apart: most processes have one endpoint. */
  #target: http.RequestOptions = {}
  #url = ''

  /** Always `true`. */
  takesBytes(): boolean {
    return true
  }

  /** Makes one request. Rejects with the error of `node:http` when there is no response. */
  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    const { method, url, closesConnection } = request
    const signal = signalOf(request)
    // An exchange that was over before this module was loaded.
    if (signal.aborted) return Promise.reject(abortError())
    const body = typeof request.body === 'string' ? Buffer.from(request.body) : request.body
    // With the length given the body goes out in one piece, not in chunks.
    const headers: http.OutgoingHttpHeaders = { ...request.headers, 'Content-Length': body.byteLength }
    if (closesConnection === true) headers['Connection'] = 'close'
    return new Promise((resolve, reject) => {
      if (url !== this.#url) {
        this.#target = urlToHttpOptions(new URL(url))
        this.#url = url
      }
      const outgoing =
        this.#target.protocol === 'https:'
          ? https.request({ ...this.#target, method, headers, agent: this.#https })
          : http.request({ ...this.#target, method, headers, agent: this.#http })
      outgoing.on('response', (incoming) => resolve(toResponse(incoming)))
      outgoing.on('error', reject)
      const abort = (): void => {
        reject(abortError())
        // Not with the error: a socket that has just gone back to the pool has nobody who listens for it.
        outgoing.destroy()
      }
      signal.addEventListener('abort', abort, { once: true })
      outgoing.on('close', () => signal.removeEventListener('abort', abort))
      outgoing.end(body)
    })
  }
}

takePlainSignal(NodeHTTPClient.prototype.makeRequest)

function abortError(): Error {
  return new Error('the request was aborted')
}

function toResponse(incoming: IncomingMessage): HTTPResponse {
  const response = {
    status: incoming.statusCode ?? 0,
    statusText: incoming.statusMessage ?? '',
    headers: incoming.headers,
    body: {
      readTo: (add: (chunk: Uint8Array) => void) => readTo(incoming, add),
      destroy: () => incoming.destroy(),
    },
    text: () => readAll(response),
  }
  return response
}

function readTo(incoming: IncomingMessage, add: (chunk: Uint8Array) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    incoming.on('data', (chunk) => {
      try {
        add(chunk)
      } catch (error) {
        reject(error)
        incoming.destroy()
      }
    })
    // By then the socket is back in the pool.
    incoming.on('end', resolve)
    incoming.on('error', reject)
    const onClose = (): void => reject(new Error('the response body broke off'))
    incoming.on('close', onClose)
    // It broke off before anybody listened.
    if (incoming.destroyed) onClose()
  })
}
