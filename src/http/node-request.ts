import type * as HTTP from 'node:http'
import type * as HTTPS from 'node:https'
import { urlToHttpOptions } from 'node:url'
import { type HTTPClientRequest, type HTTPResponse, signalOf } from './client.ts'
import { readAll } from './response.ts'

/** The modules of Node.js that requests are made with, as objects: mocks (msw, nock) and instrumentation replace what is on them. */
export interface HTTPModules {
  readonly http: typeof HTTP
  readonly https: typeof HTTPS
}

/** Idle connections are closed before common servers (5 s) and load balancers close them. */
const KEEP_ALIVE_MS = 4_000

/** Makes requests with `node:http` and `node:https`, over connections of its own. */
export class NodeRequester {
  readonly #modules: HTTPModules
  readonly #agents: { readonly http: HTTP.Agent; readonly https: HTTPS.Agent }
  /** The last URL, taken apart: most processes have one endpoint. */
  #target: HTTP.RequestOptions = {}
  #url = ''

  constructor({ http, https }: HTTPModules) {
    this.#modules = { http, https }
    this.#agents = {
      http: new http.Agent({ keepAlive: true, timeout: KEEP_ALIVE_MS }),
      https: new https.Agent({ keepAlive: true, timeout: KEEP_ALIVE_MS }),
    }
  }

  /** Makes one request. Rejects with the error of `node:http` when there is no response. */
  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    const { method, url, closesConnection } = request
    const signal = signalOf(request)
    // An exchange that was over before the modules were loaded.
    if (signal.aborted) return Promise.reject(abortError())
    const body = typeof request.body === 'string' ? Buffer.from(request.body) : request.body
    // With the length given the body goes out in one piece, not in chunks.
    const headers: HTTP.OutgoingHttpHeaders = { ...request.headers, 'Content-Length': body.byteLength }
    if (closesConnection === true) headers['Connection'] = 'close'
    return new Promise((resolve, reject) => {
      if (url !== this.#url) {
        this.#target = urlToHttpOptions(new URL(url))
        this.#url = url
      }
      const scheme = this.#target.protocol === 'https:' ? 'https' : 'http'
      const options = { ...this.#target, method, headers, agent: this.#agents[scheme] }
      const outgoing = this.#modules[scheme].request(options)
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

function abortError(): Error {
  return new Error('the request was aborted')
}

function toResponse(incoming: HTTP.IncomingMessage): HTTPResponse {
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

function readTo(incoming: HTTP.IncomingMessage, add: (chunk: Uint8Array) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    incoming.on('data', (chunk) => {
      try {
        add(chunk)
      } catch (error) {
        reject(error)
        incoming.destroy()
      }
    })
    let isEnded = false
    incoming.on('end', () => {
      isEnded = true
      // By now the socket is back in the pool.
      resolve()
    })
    incoming.on('error', reject)
    // An error is costly to make, and each response closes.
    const onClose = (): void => {
      if (!isEnded) reject(new Error('the response body broke off'))
    }
    incoming.on('close', onClose)
    // It broke off before anybody listened.
    if (incoming.destroyed) onClose()
  })
}
