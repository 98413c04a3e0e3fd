import { read } from '../message/utf8.ts'
import { systemClock } from '../runtime/clock.ts'
import type {
  AbortSignalLike,
  ByteHTTPClient,
  HTTPClient,
  HTTPClientRequest,
  HTTPFetchFn,
  HTTPResponse,
} from './client.ts'

/** The body as text; compressed bytes are returned as they are. */
export function textUnlessCompressed({
  headers,
  body,
}: HTTPClientRequest<string | Uint8Array>): string | Uint8Array {
  return typeof body === 'string' || headers['Content-Encoding'] !== undefined ? body : read(body)
}

/**
 * The HTTP client over `fetch`: the global one, or a function of the same shape. Never follows a redirect.
 *
 * @example
 * new Analytics({ writeKey, httpClient: new FetchHTTPClient() }) // calls the global fetch, on Node.js too
 */
export class FetchHTTPClient implements ByteHTTPClient {
  readonly #fetch: HTTPFetchFn | undefined

  /**
   * Makes a client over `fetch`.
   *
   * @param fetch Default: the global `fetch`, looked up for each request, so that a patched one is used.
   */
  constructor(fetch?: HTTPFetchFn) {
    this.#fetch = fetch
  }

  /** Mocks of `fetch` compare text, so only compressed bodies are bytes. */
  takesBytes(isCompressed = false): boolean {
    return isCompressed
  }

  /** Calls `fetch`, and rejects with the same error. */
  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    const send = this.#fetch ?? (globalThis.fetch as unknown as HTTPFetchFn)
    return send(request.url, {
      method: request.method,
      headers: request.headers,
      // These are bytes only if the user has turned compression on.
      body: request.body as string,
      redirect: 'manual',
      signal: signalOf(request),
    })
  }
}

/** Marks a `makeRequest` that needs no more of a signal than {@link AbortSignalLike}. */
export const takesPlainSignal: unique symbol = Symbol.for('trackpost.takesPlainSignal')

/**
 * Sets the mark. The function is marked and not the client, so that a subclass that overrides it, or a wrapper,
 * gets a real signal.
 */
export function takePlainSignal(makeRequest: HTTPClient['makeRequest']): void {
  Object.defineProperty(makeRequest, takesPlainSignal, { value: true })
}

/** The signal of a request. If it has none, a new one that is aborted when the time of the request is over. */
export function signalOf({
  signal,
  httpRequestTimeout,
}: HTTPClientRequest<string | Uint8Array>): AbortSignal {
  if (signal !== undefined) return signal
  const controller = new AbortController()
  const abort = (): void => controller.abort(new Error(`no response within ${httpRequestTimeout} ms`))
  systemClock.setTimer(abort, httpRequestTimeout)
  return controller.signal
}
