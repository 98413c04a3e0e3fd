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

/** The body as text, unless it is compressed: then there is no text that stands for it. */
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
 * new Analytics({ writeKey, httpClient: new FetchHTTPClient() }) // the global fetch, without the shortcut on Node.js
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

  /** Text is what mocks of `fetch` compare: only compressed bodies are bytes. */
  takesBytes(isCompressed = false): boolean {
    return isCompressed
  }

  /** Calls `fetch`. Rejects with what it rejects with. */
  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    const send = this.#fetch ?? (globalThis.fetch as unknown as HTTPFetchFn)
    return send(request.url, {
      method: request.method,
      headers: request.headers,
      // Bytes only where they are compressed, which the user has asked for.
      body: request.body as string,
      redirect: 'manual',
      signal: signalOf(request),
    })
  }
}

/** A client that asks no more of a signal than {@link AbortSignalLike}. */
export const takesPlainSignal: unique symbol = Symbol.for('trackpost.takesPlainSignal')

/**
 * Says so of a `makeRequest`. Of the function, and not of the client: a subclass that overrides it, and a wrapper, are
 * given a real signal.
 */
export function takePlainSignal(makeRequest: HTTPClient['makeRequest']): void {
  Object.defineProperty(makeRequest, takesPlainSignal, { value: true })
}

/** The signal of a request; one without a signal of its own is aborted when its time is over. */
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
