import { channel } from 'node:diagnostics_channel'
import type { ByteHTTPClient, HTTPClientRequest, HTTPResponse, OwnHTTPClient } from './client.ts'
import { type Dispatcher, type DispatchOptions, dispatchRequest, type HeaderLines } from './dispatcher.ts'
import { toAbortSignal } from './exchange.ts'
import { FetchHTTPClient, takePlainSignal, textUnlessCompressed } from './fetch-client.ts'
import { NodeHTTPClient } from './node-client.ts'

/** For settings without `httpClient`. On edge runtimes, `default-client.web.ts` takes the place of this file. */
export function defaultClient(): OwnHTTPClient {
  return new DefaultHTTPClient()
}

/**
 * Chooses for each request how to send it:
 *
 * - If the global `fetch` is not the one of Node.js, it is called: a replacement, or the `fetch` of Bun or Deno.
 * - If the process has used or configured the `fetch` of Node.js, the undici dispatcher below it sends the request, so that its
 *   proxies, mocks and instrumentation apply.
 * - Otherwise, `node:http` sends the request: loading undici only for this client would double the CPU time of a cold start.
 */
class DefaultHTTPClient implements ByteHTTPClient, OwnHTTPClient {
  readonly #fetch = new FetchHTTPClient()
  readonly #node = new NodeHTTPClient()
  /** A URL whose responses the dispatcher cannot read; `node:http` is used instead. */
  #unreadableUrl: string | undefined

  takesBytes(isCompressed = false): boolean {
    return isCompressed || !isFetchOther()
  }

  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    if (isFetchOther()) return this.#callFetch(request)
    const dispatcher = request.url === this.#unreadableUrl ? undefined : fetchDispatcher()
    if (dispatcher === undefined) return this.#node.makeRequest(request)
    return dispatchRequest(dispatcher, request).catch((error: unknown) => {
      if (isUnaskedContinue(error)) this.#unreadableUrl = request.url
      throw error
    })
  }

  close(): void {
    this.#node.close()
  }

  #callFetch(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    const { signal, ...rest } = request
    const body = textUnlessCompressed(request)
    return this.#fetch.makeRequest({ ...rest, body, ...(signal && { signal: toAbortSignal(signal) }) })
  }
}

takePlainSignal(DefaultHTTPClient.prototype.makeRequest)

function isFetchOther(): boolean {
  return typeof globalThis.fetch === 'function' && !isNodeFetch()
}

/** The key of the global variable in which undici up to version 7 keeps the dispatcher of the process. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1')
/** The key that undici 8 uses. Under the older key, it keeps a wrapper that turns HTTP/2 off. */
const GLOBAL_DISPATCHER_2 = Symbol.for('undici.globalDispatcher.2')

type Globals = Record<symbol, Partial<Dispatcher> | undefined>
const globals = globalThis as Globals

/** The diagnostics channels of undici. A subscriber, such as OpenTelemetry, expects to see the requests of this client too. */
const CHANNELS = [
  'undici:request:create',
  'undici:request:headers',
  'undici:request:trailers',
  'undici:request:error',
  'undici:client:sendHeaders',
  'undici:client:connected',
].map((name) => channel(name))

/** Matches the source of `fetch` in Node.js 18 and later. Any other `fetch` must be called. */
const NODE_FETCH =
  /^(?:async )?function fetch\(input, init = undefined\) \{[\s\S]*(?:\/deps\/undici\/|lazyUndici\(\))/

let lastFetch: unknown
let isLastFetchNode = false

export function isNodeFetch(): boolean {
  const { fetch } = globalThis
  if (fetch !== lastFetch) {
    lastFetch = fetch
    isLastFetchNode = typeof fetch === 'function' && NODE_FETCH.test(Function.prototype.toString.call(fetch))
  }
  return isLastFetchNode
}

/**
 * The dispatcher that the `fetch` of Node.js uses. `undefined` while nothing in the process has used or configured `fetch` and
 * nothing has subscribed to its diagnostics channels.
 */
export function fetchDispatcher(): Dispatcher | undefined {
  // Without WebAssembly (`--jitless`), undici cannot parse a response.
  if (!isNodeFetch() || typeof WebAssembly === 'undefined') return undefined
  // Reading `globalThis.Headers` makes Node.js load undici, which sets the dispatcher.
  if (globals[GLOBAL_DISPATCHER] === undefined && isTraced() && typeof globalThis.Headers !== 'function') {
    return undefined
  }
  const older = globals[GLOBAL_DISPATCHER]
  const newer = globals[GLOBAL_DISPATCHER_2]
  if (isWrapper(older) && isDispatcher(newer)) return withOlderHandlers(newer)
  return isDispatcher(older) ? older : undefined
}

function isTraced(): boolean {
  return CHANNELS.some(({ hasSubscribers }) => hasSubscribers)
}

/** Whether this is the wrapper of undici 8, and not a real dispatcher. */
function isWrapper(dispatcher: Partial<Dispatcher> | undefined): boolean {
  return typeof (dispatcher?.constructor as { wrapHandler?: unknown } | undefined)?.wrapHandler === 'function'
}

function isDispatcher(value: Partial<Dispatcher> | undefined): value is Dispatcher {
  return typeof value?.dispatch === 'function'
}

/**
 * Whether a request failed because the service sent an unsolicited `100 Continue`, which undici rejects. `true` only with the
 * default dispatcher: another dispatcher may use a proxy, which `node:http` would bypass.
 */
export function isUnaskedContinue(error: unknown): boolean {
  const { message, stack } = error as Partial<Error>
  if (message !== 'bad response' || stack?.includes('node:internal/deps/undici') !== true) return false
  const older = globals[GLOBAL_DISPATCHER]
  const dispatcher = isWrapper(older) ? globals[GLOBAL_DISPATCHER_2] : older
  // The default dispatcher is a plain `Agent`, without a proxy and without interceptors.
  const type = dispatcher?.constructor as { name: string; prototype: Dispatcher } | undefined
  return type?.name === 'Agent' && dispatcher?.dispatch === type.prototype.dispatch
}

type Headers2 = Record<string, string | string[] | undefined>

/** Lets handlers of the older interface use a dispatcher of undici 8. The wrapper of undici would turn HTTP/2 off. */
function withOlderHandlers(dispatcher: Dispatcher): Dispatcher {
  return {
    isMockActive: dispatcher.isMockActive === true,
    dispatch(options, handler) {
      const newer = {
        onRequestStart: (controller: { abort(reason: Error): void }) =>
          handler.onConnect((reason) => controller.abort(reason)),
        onResponseStart: (_controller: unknown, status: number, headers: Headers2, statusText?: string) =>
          handler.onHeaders(status, toLines(headers), () => {}, statusText ?? ''),
        onResponseData: (_controller: unknown, chunk: Uint8Array) => handler.onData(chunk),
        onResponseEnd: () => handler.onComplete(),
        onResponseError: (_controller: unknown, error: Error) => handler.onError(error),
      }
      return (dispatcher.dispatch as (options: DispatchOptions, handler: object) => unknown)(options, newer)
    },
  }
}

function toLines(headers: Headers2): HeaderLines {
  return Object.entries(headers).flatMap(([name, values]) =>
    [values ?? []].flat().flatMap((value) => [name, value]),
  )
}
