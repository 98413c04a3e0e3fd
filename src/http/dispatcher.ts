import { nextTurn } from '../runtime/clock.ts'
import type { HTTPClientRequest, HTTPResponse } from './client.ts'
import { textUnlessCompressed } from './fetch-client.ts'
import { readAll } from './response.ts'

/**
 * The object in undici that sends the requests of `fetch` in Node.js. It owns the connections and applies proxies, mocks and
 * instrumentation.
 *
 * @see https://undici.nodejs.org/#/docs/api/Dispatcher
 */
export interface Dispatcher {
  dispatch(options: DispatchOptions, handler: DispatchHandler): unknown
  /** Set by `MockAgent`, whose matchers compare the body as text. */
  readonly isMockActive?: boolean
}

export interface DispatchOptions {
  origin: string
  path: string
  method: string
  headers: Record<string, string>
  body: string | Uint8Array
  headersTimeout: number
  bodyTimeout: number
  /** 0 overrides the setting of an agent or a redirect interceptor, as `fetch` does. */
  maxRedirections: 0
  /** Whether the connection is closed after the response. */
  reset: boolean
}

/** The handler interface of undici up to version 7. */
export interface DispatchHandler {
  onConnect(abort: (reason: Error) => void): void
  onHeaders(status: number, headers: HeaderLines, resume: () => void, statusText: string): boolean
  onData(chunk: Uint8Array): boolean
  onComplete(): void
  onError(error: Error): void
}

/** Name, value, name, value, and so on. */
export type HeaderLines = readonly (Buffer | string)[]

/** The last URL that was parsed: most processes have one endpoint. */
let lastTarget = { url: '', origin: '', path: '' }

/** Like `fetch`, but without the objects and streams of the Fetch standard. Resolves with every status, redirects included. */
export function dispatchRequest(
  dispatcher: Dispatcher,
  request: HTTPClientRequest<string | Uint8Array>,
): Promise<HTTPResponse> {
  const { url, method, headers, signal } = request
  if (url !== lastTarget.url) {
    const { origin, pathname, search } = new URL(url)
    lastTarget = { url, origin, path: pathname + search }
  }
  if (signal?.aborted) return Promise.reject(abortError())
  const { origin, path } = lastTarget
  const options: DispatchOptions = {
    origin,
    path,
    method,
    headers,
    body: dispatcher.isMockActive === true ? textUnlessCompressed(request) : request.body,
    // The time limit of the exchange applies instead.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxRedirections: 0,
    reset: request.closesConnection === true,
  }
  return new Promise((resolve, reject) => {
    dispatcher.dispatch(options, new ResponseHandler(signal, resolve, reject))
  })
}

function abortError(): Error {
  return new Error('the request was aborted')
}

const nothing = (): void => {}

/**
 * A dispatcher keeps the handlers of up to 256 finished requests for each connection, so a handler drops all its references at
 * the end.
 */
class ResponseHandler implements DispatchHandler {
  #signal: AbortSignal | undefined
  readonly #chunks: Uint8Array[] = []
  #resolve: (response: HTTPResponse) => void
  #reject: (error: Error) => void
  #abortRequest: (reason: Error) => void = nothing
  #isEnded = false
  #error: Error | undefined
  /** Called when more of the body has arrived, and at the end of the response. */
  #onProgress: (() => void) | undefined

  constructor(
    signal: AbortSignal | undefined,
    resolve: (response: HTTPResponse) => void,
    reject: (error: Error) => void,
  ) {
    this.#signal = signal
    this.#resolve = resolve
    this.#reject = reject
    signal?.addEventListener('abort', this.#onAbort)
  }

  readonly #onAbort = (): void => this.#abort(abortError())

  #abort(reason: Error): void {
    const abortRequest = this.#abortRequest
    this.onError(reason)
    abortRequest(reason)
  }

  onConnect(abort: (reason: Error) => void): void {
    // The request was aborted while it waited for a connection.
    if (this.#isEnded) abort(abortError())
    else this.#abortRequest = abort
  }

  onHeaders(status: number, lines: HeaderLines, _resume: () => void, statusText: string): boolean {
    if (status >= 200) this.#respond(status, statusText, new RawHeaders(lines))
    return true
  }

  onData(chunk: Uint8Array): boolean {
    this.#chunks.push(chunk)
    this.#onProgress?.()
    return true
  }

  onComplete(): void {
    this.#end()
  }

  onError(error: Error): void {
    this.#error ??= error
    this.#reject(error)
    this.#end()
  }

  #respond(status: number, statusText: string, headers: RawHeaders): void {
    const body = {
      readTo: (add: (chunk: Uint8Array) => void) => this.#readTo(add),
      cancel: async () => this.#abort(new Error('the response body was cancelled')),
    }
    const response = { status, statusText, headers, body, text: () => readAll(response) }
    this.#resolve(response)
  }

  #end(): void {
    this.#isEnded = true
    this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#signal = undefined
    this.#resolve = nothing
    this.#reject = nothing
    this.#abortRequest = nothing
    this.#onProgress?.()
    this.#onProgress = undefined
  }

  #readTo(add: (chunk: Uint8Array) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#onProgress = () => {
        try {
          for (const chunk of this.#chunks.splice(0)) add(chunk)
        } catch (error) {
          reject(error)
          return this.#abort(new Error('the response body was cancelled'))
        }
        if (this.#error !== undefined) reject(this.#error)
        // The connection becomes free only in the next turn.
        else if (this.#isEnded) nextTurn().then(resolve, reject)
      }
      this.#onProgress()
    })
  }
}

/** Looks up a header only when it is read: usually a single header is read, and it is missing. */
class RawHeaders {
  readonly #lines: HeaderLines

  constructor(lines: HeaderLines) {
    this.#lines = lines
  }

  /** @param name The name in lower case. */
  get(name: string): string | null {
    let value: string | null = null
    for (let index = 0; index + 1 < this.#lines.length; index += 2) {
      const line = this.#lines[index]
      if (line?.length !== name.length || toText(line).toLowerCase() !== name) continue
      const text = toText(this.#lines[index + 1])
      value = value === null ? text : `${value}, ${text}`
    }
    return value
  }

  forEach(run: (value: string, name: string) => void): void {
    const names = this.#lines.filter((_, index) => index % 2 === 0).map((name) => toText(name).toLowerCase())
    for (const name of new Set(names)) run(this.get(name) ?? '', name)
  }
}

/** Bytes beyond ASCII have no defined meaning in headers (RFC 9110, section 5.5), so they are read as Latin-1. */
function toText(raw: Buffer | string | undefined): string {
  return typeof raw === 'object' ? raw.toString('latin1') : (raw ?? '')
}
