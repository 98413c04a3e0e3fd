import { channel } from 'node:diagnostics_channel'
import type { ByteHTTPClient, HTTPClientRequest, HTTPResponse, OwnHTTPClient } from './client.ts'
import { type Dispatcher, type DispatchOptions, dispatchRequest, type HeaderLines } from './dispatcher.ts'
import { toAbortSignal } from './exchange.ts'
import { FetchHTTPClient, takePlainSignal, textUnlessCompressed } from './fetch-client.ts'
import { NodeHTTPClient } from './node-client.ts'

/** The client to use when the user gives none. Edge runtimes get `default-client.web.ts` in its place. */
export function defaultClient(): OwnHTTPClient {
  return new DefaultHTTPClient()
}

/**
 * Chooses the transport for each request, by what the process has loaded:
 *
 * - a global `fetch` that is not the one of Node.js is called: a replacement, or the one of Bun or Deno
 * - once the process has used or configured the `fetch` of Node.js, the dispatcher below it sends, with its proxies, mocks
 *   and instrumentation
 * - until then `node:http` sends: loading undici for this client alone would double the processor time of a cold start
 */
class DefaultHTTPClient implements ByteHTTPClient, OwnHTTPClient {
  readonly #fetch = new FetchHTTPClient()
  readonly #node = new NodeHTTPClient()
  /** The URL whose responses the dispatcher cannot read. */
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

/** Where undici up to version 7 keeps the dispatcher of the process. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1')
/** Where version 8 keeps it. Under the older symbol there is then a wrapper, which turns HTTP/2 off. */
const GLOBAL_DISPATCHER_2 = Symbol.for('undici.globalDispatcher.2')

type Globals = Record<symbol, Partial<Dispatcher> | undefined>
const globals = globalThis as Globals

/** The diagnostics channels of undici. Whoever listens there, such as OpenTelemetry, expects to see these requests too. */
const CHANNELS = [
  'undici:request:create',
  'undici:request:headers',
  'undici:request:trailers',
  'undici:request:error',
  'undici:client:sendHeaders',
  'undici:client:connected',
].map((name) => channel(name))

/** The source of `fetch` in Node.js 18 and later. A function that replaced it must be called itself. */
const NODE_FETCH =
  /^(?:async )?function fetch\(input, init = undefined\) \{[\s\S]*(?:\/deps\/undici\/|lazyUndici\(\))/

let lastFetch: unknown
let isLastFetchNode = false

/** Whether the global `fetch` is the one of Node.js. */
export function isNodeFetch(): boolean {
  const { fetch } = globalThis
  if (fetch !== lastFetch) {
    lastFetch = fetch
    isLastFetchNode = typeof fetch === 'function' && NODE_FETCH.test(Function.prototype.toString.call(fetch))
  }
  return isLastFetchNode
}

/**
 * The dispatcher that the `fetch` of Node.js uses; `undefined` as long as nothing in the process has used or configured
 * `fetch`, and nobody listens to what it does.
 */
export function fetchDispatcher(): Dispatcher | undefined {
  // Without WebAssembly (`--jitless`) undici cannot parse a response.
  if (!isNodeFetch() || typeof WebAssembly === 'undefined') return undefined
  // Reading one of the globals of `fetch`, such as `Headers`, makes Node.js load undici, which sets the dispatcher.
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

/** Whether this is the wrapper of undici 8, and not a dispatcher that an older undici was given. */
function isWrapper(dispatcher: Partial<Dispatcher> | undefined): boolean {
  return typeof (dispatcher?.constructor as { wrapHandler?: unknown } | undefined)?.wrapHandler === 'function'
}

function isDispatcher(value: Partial<Dispatcher> | undefined): value is Dispatcher {
  return typeof value?.dispatch === 'function'
}

/**
 * Whether a request failed because the service sent an unsolicited `100 Continue`, which undici rejects, and the dispatcher
 * is the default one: one that somebody has set may lead through a proxy, which must not be bypassed.
 */
export function isUnaskedContinue(error: unknown): boolean {
  const { message, stack } = error as Partial<Error>
  if (message !== 'bad response' || stack?.includes('node:internal/deps/undici') !== true) return false
  const older = globals[GLOBAL_DISPATCHER]
  const dispatcher = isWrapper(older) ? globals[GLOBAL_DISPATCHER_2] : older
  // A plain `Agent`: not one for a proxy, and without interceptors.
  const type = dispatcher?.constructor as { name: string; prototype: Dispatcher } | undefined
  return type?.name === 'Agent' && dispatcher?.dispatch === type.prototype.dispatch
}

type Headers2 = Record<string, string | string[] | undefined>

/** Lets handlers of the older interface use the dispatcher. So does the wrapper of undici, but it turns HTTP/2 off. */
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
