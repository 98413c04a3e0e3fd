import { read } from '../message/utf8.ts'
import { detectRuntime } from '../runtime/detect.ts'
import type {
  ByteHTTPClient,
  HTTPClientRequest,
  HTTPResponse,
  OwnHTTPClient,
  OwnRequest,
  OwnResponse,
} from './client.ts'
import { abortWith, settled } from './exchange.ts'
import { FetchHTTPClient } from './fetch-client.ts'
import { NodeHTTPClient } from './node-client.ts'

/** For settings without `httpClient`. On edge runtimes, `default-client.web.ts` takes the place of this file. */
export function defaultClient(): OwnHTTPClient {
  return new DefaultHTTPClient()
}

/**
 * Sends over `node:http`, which Node.js loads much faster than `fetch`. Calls the global `fetch` if the process has replaced it
 * since this package was loaded, or given it a proxy, a mock or interceptors, so that these apply to events too.
 *
 * @see docs/spec.md, section 8.2
 */
class DefaultHTTPClient implements ByteHTTPClient, OwnHTTPClient {
  readonly #fetch = new FetchHTTPClient()
  readonly #node = new NodeHTTPClient()

  takesBytes(isCompressed = false): boolean {
    return isCompressed || !usesFetch()
  }

  startOwn(
    request: OwnRequest,
    onResponse: (response: OwnResponse) => void,
    onError: (cause: unknown) => void,
  ): (cause: Error) => void {
    if (!usesFetch()) return this.#node.startOwn(request, onResponse, onError)
    const { url, headers, body, timeoutMs: httpRequestTimeout } = request
    const abortion = new AbortController()
    const { signal } = abortion
    const given = { url, method: 'POST' as const, headers, httpRequestTimeout, signal }
    // Mocks of `fetch` compare text.
    const text = typeof body === 'string' || headers['Content-Encoding'] !== undefined ? body : read(body)
    settled(this.#fetch.makeRequest({ ...given, body: text })).then(onResponse, onError)
    return (cause) => abortWith(abortion, cause)
  }

  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    return usesFetch() ? this.#fetch.makeRequest(request) : this.#node.makeRequest(request)
  }

  close(): void {
    this.#node.close()
  }
}

/** `fetch` when this module was loaded. */
const loadedFetch: unknown = globalThis.fetch

/**
 * Under these keys, undici keeps the dispatcher of the process, which sends the requests of `fetch`: a proxy, a mock, or an
 * `Agent`. undici 8 uses the second key; under the first, it then keeps a wrapper.
 */
const [OLDER, NEWER] = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')]
const globals = globalThis as Record<symbol, object | undefined>

/** The last dispatcher that was looked at and does nothing that `node:http` would not do. */
let plainDispatcher: object | undefined

/**
 * Bun and Deno have a `fetch` of their own, and `NODE_USE_ENV_PROXY` gives that of Node.js a proxy. Not read when this module is
 * loaded: in the build, it may run before the module that knows the runtime.
 */
let isFetchPreferred: boolean | undefined

function usesFetch(): boolean {
  const { fetch } = globalThis as { fetch?: unknown }
  isFetchPreferred ??= detectRuntime().jsRuntime !== 'node' || usesEnvProxy()
  if (fetch !== loadedFetch || isFetchPreferred) return typeof fetch === 'function'
  const dispatcher = globals[OLDER]
  if (dispatcher === plainDispatcher) return false
  if (!isPlain(dispatcher) || !isPlain(globals[NEWER])) return fetch !== undefined
  plainDispatcher = dispatcher
  return false
}

function usesEnvProxy(): boolean {
  const { env, execArgv } = process
  const flags = [...execArgv, ...(env['NODE_OPTIONS'] ?? '').split(' ')]
  return env['NODE_USE_ENV_PROXY'] === '1' || flags.includes('--use-env-proxy')
}

/** Whether this is an `Agent`. One with interceptors is not: it has another method `dispatch` than its class. */
function isPlain(dispatcher: object | undefined): boolean {
  if (dispatcher === undefined) return true
  const { constructor: type, dispatch } = dispatcher as {
    constructor?: { name: string; prototype: { dispatch?: unknown } }
    dispatch?: unknown
  }
  return /^(?:Agent|Dispatcher1Wrapper)$/.test(type?.name ?? '') && dispatch === type?.prototype.dispatch
}
