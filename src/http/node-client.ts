import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { ByteHTTPClient, HTTPClientRequest, HTTPResponse } from './client.ts'

// Not the one of client.ts: sharing a value would split the build into one more file, which every import loads.
/** A reply body longer than this is cut off and its socket closed. */
const MAX_REPLY_BYTES = 65_536
/** Idle connections are given up before common servers (5 s) and load balancers close them. */
const KEEP_ALIVE_MS = 4_000

/** The client over `node:http` and `node:https`, with connections kept alive. Never follows a redirect. */
export class NodeHTTPClient implements ByteHTTPClient {
  readonly #http = new HttpAgent({ keepAlive: true, timeout: KEEP_ALIVE_MS })
  readonly #https = new HttpsAgent({ keepAlive: true, timeout: KEEP_ALIVE_MS })

  takesBytes(): boolean {
    return true
  }

  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    const isSecure = request.url.startsWith('https:')
    const send = isSecure ? requestHttps : requestHttp
    const { method, url, signal } = request
    // An exchange that was over before this module was loaded.
    if (signal?.aborted) return Promise.reject(new Error('the request was aborted'))
    const body = typeof request.body === 'string' ? Buffer.from(request.body) : request.body
    // With the length given the body goes out in one piece, not in chunks.
    const headers = { ...request.headers, 'Content-Length': body.byteLength }
    return new Promise((resolve, reject) => {
      const agent = isSecure ? this.#https : this.#http
      const outgoing = send(url, { method, headers, agent }, (incoming) => resolve(toResponse(incoming)))
      outgoing.on('error', reject)
      const abort = (): void => {
        outgoing.destroy(new Error('the request was aborted'))
      }
      if (signal !== undefined) {
        signal.addEventListener('abort', abort, { once: true })
        outgoing.on('close', () => signal.removeEventListener('abort', abort))
      }
      // Also for whoever has no signal: the idle limit of a kept connection is not the limit of an exchange.
      outgoing.setTimeout(request.httpRequestTimeout, abort)
      outgoing.end(body)
    })
  }
}

function toResponse(incoming: IncomingMessage): HTTPResponse {
  return {
    status: incoming.statusCode ?? 0,
    statusText: incoming.statusMessage ?? '',
    headers: incoming.headers,
    text: () => readText(incoming),
  }
}

function readText(incoming: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    incoming.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= MAX_REPLY_BYTES) chunks.push(chunk)
      else incoming.destroy(new Error(`the reply body is longer than ${MAX_REPLY_BYTES} bytes`))
    })
    incoming.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
    incoming.on('error', reject)
    incoming.on('close', () => reject(new Error('the reply body broke off')))
  })
}
