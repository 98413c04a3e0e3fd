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

export function textUnlessCompressed({
  headers,
  body,
}: HTTPClientRequest<string | Uint8Array>): string | Uint8Array {
  return typeof body === 'string' || headers['Content-Encoding'] !== undefined ? body : read(body)
}

/**
 * An HTTP client that calls the global `fetch`, or a function with the same parameters. Never follows a redirect.
 *
 * @example
 * new Analytics({ writeKey, httpClient: new FetchHTTPClient() }) // calls the global fetch, on Node.js too
 */
export class FetchHTTPClient implements ByteHTTPClient {
  readonly #fetch: HTTPFetchFn | undefined

  /**
   * Makes a client that calls `fetch`.
   *
   * @param fetch Default: the global `fetch`. It is read for each request, so that a replaced global is used.
   */
  constructor(fetch?: HTTPFetchFn) {
    this.#fetch = fetch
  }

  /** Only for compressed bodies. Uncompressed bodies are sent as text, because mocks of `fetch` compare text. */
  takesBytes(isCompressed = false): boolean {
    return isCompressed
  }

  /** Calls `fetch`. Rejects with the error of `fetch`. */
  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse> {
    const send = this.#fetch ?? (globalThis.fetch as unknown as HTTPFetchFn)
    return send(request.url, {
      method: request.method,
      headers: request.headers,
      // The body is bytes only if the user has turned compression on.
      body: request.body as string,
      redirect: 'manual',
      signal: signalOf(request),
    })
  }
}

/** Marks a `makeRequest` function that needs only the members of {@link AbortSignalLike}, not a real `AbortSignal`. */
export const takesPlainSignal: unique symbol = Symbol.for('trackpost.takesPlainSignal')

/**
 * The mark is set on the function and not on the client, so that a subclass that overrides the function, or a wrapper, gets a
 * real signal.
 */
export function takePlainSignal(makeRequest: HTTPClient['makeRequest']): void {
  Object.defineProperty(makeRequest, takesPlainSignal, { value: true })
}

/** If the request has no signal, returns a new one that is aborted after `httpRequestTimeout`. */
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
