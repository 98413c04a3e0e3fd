import { nextTurn } from '../runtime/clock.ts'
import { type HTTPClientRequest, type HTTPResponse, MAX_REPLY_BYTES } from './client.ts'

/**
 * What `fetch` of Node.js sends its requests through: connections, proxies, mocks and instrumentation hang on it.
 * Only what is used here.
 *
 * @see https://undici.nodejs.org/#/docs/api/Dispatcher
 */
export interface Dispatcher {
  dispatch(options: DispatchOptions, handler: DispatchHandler): unknown
}

interface DispatchOptions {
  origin: string
  path: string
  method: string
  headers: Record<string, string>
  body: string | Uint8Array
  headersTimeout: number
  bodyTimeout: number
}

interface DispatchHandler {
  onConnect(abort: (reason: Error) => void): void
  onHeaders(status: number, headers: RawHeaderLines, resume: () => void, statusText: string): boolean
  onData(chunk: Uint8Array): boolean
  onComplete(): void
  onError(error: Error): void
}

/** Names and values in turn. */
type RawHeaderLines = readonly (Buffer | string)[]

/** Under which every version of undici, the one inside Node.js included, finds the dispatcher of the process. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1')
/** How Node.js 18 and later write their `fetch`. One that was put in its place must be called itself. */
const NODE_FETCH =
  /^(?:async )?function fetch\(input, init = undefined\) \{[\s\S]*(?:\/deps\/undici\/|lazyUndici\(\))/

let lastFetch: unknown
let isLastFetchNode = false

/**
 * The dispatcher behind the global `fetch`, where that is the one of Node.js. `undefined` elsewhere, and as long
 * as another `fetch` stands in its place.
 */
export function fetchDispatcher(): Dispatcher | undefined {
  const { fetch, Headers } = globalThis
  if (fetch !== lastFetch) {
    lastFetch = fetch
    isLastFetchNode = typeof fetch === 'function' && NODE_FETCH.test(Function.prototype.toString.call(fetch))
  }
  // Node.js loads undici, which sets the dispatcher, when one of its globals is read for the first time.
  if (!isLastFetchNode || typeof Headers !== 'function') return undefined
  const dispatcher = (globalThis as { [GLOBAL_DISPATCHER]?: Partial<Dispatcher> })[GLOBAL_DISPATCHER]
  return typeof dispatcher?.dispatch === 'function' ? (dispatcher as Dispatcher) : undefined
}

/** All requests of a client go to one address. */
let lastTarget = { url: '', origin: '', path: '' }

/**
 * Makes one request as `fetch` would, without the objects and streams of the Fetch standard around it: for a third
 * of the cost. Every status is an answer, redirects included. Rejects with what the dispatcher says when there is none.
 */
export function dispatchRequest(
  dispatcher: Dispatcher,
  request: HTTPClientRequest<string | Uint8Array>,
): Promise<HTTPResponse> {
  const { url, method, headers, body, signal } = request
  if (url !== lastTarget.url) {
    const { origin, pathname, search } = new URL(url)
    lastTarget = { url, origin, path: pathname + search }
  }
  const { origin, path } = lastTarget
  if (signal?.aborted) return Promise.reject(new Error('the request was aborted'))
  return new Promise((resolve, reject) => {
    let end: () => void = () => {}
    let fail: (error: Error) => void = reject
    const ended = new Promise<void>((resolveEnd, rejectEnd) => {
      end = resolveEnd
      fail = (error) => {
        reject(error)
        rejectEnd(error)
      }
    })

    let abortRequest = (_reason: Error): void => {}
    const abort = (reason: Error): void => {
      fail(reason)
      abortRequest(reason)
    }
    const onAbort = (): void => abort(new Error('the request was aborted'))
    const release = (): void => signal?.removeEventListener('abort', onAbort)
    signal?.addEventListener('abort', onAbort)
    // Whoever has the status may not want the body: that it broke off is then no news to anyone.
    void ended.then(release, release)

    const chunks: Uint8Array[] = []
    let bytes = 0
    dispatcher.dispatch(
      // The deadline of the exchange is the only one.
      { origin, path, method, headers, body, headersTimeout: 0, bodyTimeout: 0 },
      {
        onConnect(abortThis) {
          abortRequest = abortThis
          // It was given up while it waited for a connection.
          if (signal?.aborted) onAbort()
        },
        onHeaders(status, rawHeaders, _resume, statusText) {
          // Below 200 it is informational, and the answer follows.
          if (status >= 200) resolve({ status, statusText, headers: new RawHeaders(rawHeaders), text })
          return true
        },
        onData(chunk) {
          bytes += chunk.byteLength
          if (bytes <= MAX_REPLY_BYTES) chunks.push(chunk)
          else abort(new Error(`the reply body is longer than ${MAX_REPLY_BYTES} bytes`))
          return true
        },
        onComplete: end,
        onError: fail,
      },
    )
    async function text(): Promise<string> {
      await ended
      // Only then is the connection free.
      await nextTurn()
      return Buffer.concat(chunks).toString('utf8')
    }
  })
}

/** Reads of the header lines what is asked for; of most answers that is one name that is not there. */
class RawHeaders {
  readonly #raw: RawHeaderLines

  constructor(raw: RawHeaderLines) {
    this.#raw = raw
  }

  /** @param name In lower case. */
  get(name: string): string | null {
    let value: string | null = null
    for (let index = 0; index + 1 < this.#raw.length; index += 2) {
      const line = this.#raw[index]
      if (line?.length !== name.length || toText(line).toLowerCase() !== name) continue
      const text = toText(this.#raw[index + 1])
      value = value === null ? text : `${value}, ${text}`
    }
    return value
  }

  forEach(run: (value: string, name: string) => void): void {
    const names = this.#raw.filter((_, index) => index % 2 === 0).map((name) => toText(name).toLowerCase())
    for (const name of new Set(names)) run(this.get(name) ?? '', name)
  }
}

/** RFC 9110, section 5.5: bytes beyond ASCII have no meaning of their own. */
function toText(raw: Buffer | string | undefined): string {
  return typeof raw === 'object' ? raw.toString('latin1') : (raw ?? '')
}
