/** A request, as an {@link HTTPClient} receives it. */
export interface HTTPClientRequest<Body extends string | Uint8Array = string> {
  /** Absolute URL, for instance `https://api.segment.io/v1/batch`. */
  url: string
  /** Always `POST`. */
  method: 'POST'
  /** Names in their usual spelling, for instance `Content-Type`. */
  headers: Record<string, string>
  /** The body as text. For a {@link ByteHTTPClient}, perhaps as bytes; with `Content-Encoding: gzip`, compressed. */
  body: Body
  /** Time limit for the request and the response together, in milliseconds. */
  httpRequestTimeout: number
  /** Aborted when `httpRequestTimeout` is over, and when `closeAndFlush()` times out. A client may ignore the signal. */
  signal?: AbortSignalOf<typeof globalThis>
}

/** The type `AbortSignal`, or {@link AbortSignalLike} in a project with neither the types of the DOM nor those of Node.js. */
export type AbortSignalOf<Global> = Global extends { AbortSignal: { prototype: infer Signal } }
  ? Signal
  : AbortSignalLike

/** The members of an `AbortSignal` that are used, for projects that do not know this type. */
export interface AbortSignalLike {
  /** Whether the request was aborted. */
  readonly aborted: boolean
  /** Why the request was aborted: an `Error`. */
  readonly reason: unknown
  /** Calls `listener` when the request is aborted. */
  addEventListener(type: 'abort', listener: () => void): void
  /** Removes `listener`. */
  removeEventListener(type: 'abort', listener: () => void): void
}

/** The members of a `Headers` object that are used. */
export interface HeadersLike {
  /** The value of a header; `null` when there is none. */
  get(name: string): string | null
  /** Calls `callback` for each header. */
  forEach(callback: (value: string, name: string) => void): void
}

/** Response headers: a `Headers` object, or a plain object with names in any case. */
// biome-ignore lint/suspicious/noExplicitAny: with `unknown`, objects whose type is an interface or a class are not assignable
export type HTTPHeaders = Record<string, any> | HeadersLike

/** The response of an {@link HTTPClient}, for example a `Response` of `fetch`. */
export interface HTTPResponse {
  /** The HTTP status, an integer. */
  status: number
  /** The reason phrase, for instance `Service Unavailable`. May be empty. */
  statusText: string
  /** The headers. Without them, the client cannot see a `Retry-After` header. */
  headers?: HTTPHeaders
  /** Reads the body, so that the connection becomes free for the next request. Called at most once. */
  text?: () => Promise<string>
}

/** A custom HTTP client. It must not follow redirects, because the credentials are meant for one host. */
export interface HTTPClient {
  /**
   * Sends one request. The promise resolves once the response headers are complete, with any status, and rejects when there is
   * no response.
   */
  makeRequest(request: HTTPClientRequest): Promise<HTTPResponse>
}

/** An HTTP client that takes request bodies as bytes, so that it need not encode text. All other clients get text. */
export interface ByteHTTPClient extends HTTPClient {
  /**
   * Whether the next request may have bytes as its body. The bytes do not change while the request is under way.
   *
   * @param isCompressed Whether the bytes would be compressed (setting `compress`), so that they cannot be turned into text. If
   * `takesBytes(true)` does not return `true`, the body is sent uncompressed.
   */
  takesBytes(isCompressed?: boolean): boolean
  /** Like {@link HTTPClient.makeRequest}, but the body may be bytes. */
  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse>
}

/** The HTTP client that an `Analytics` client makes if the user gives none. Both are closed together. */
export interface OwnHTTPClient extends HTTPClient {
  /**
   * Like {@link HTTPClient.makeRequest}, for bytes, and without the cost of promises and of a signal.
   *
   * @param onResponse Called in a microtask of its own. One of the two functions is called, once, unless the request is stopped.
   * @returns Ends the request. Never throws.
   */
  startOwn?(
    request: OwnRequest,
    onResponse: (response: OwnResponse) => void,
    onError: (cause: unknown) => void,
  ): (cause: Error) => void
  close?(): void
}

/** A request, as a client of this package receives it. Its headers must not be changed. */
export interface OwnRequest {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array
  readonly timeoutMs: number
  /** How many bytes of the body are wanted where the status means success. */
  readonly keptBytes: number
  /** Called when the connection is closed, or free for another request. */
  readonly onClose?: () => void
}

/** A response of a client of this package. */
export interface OwnResponse extends HTTPResponse {
  /** Whether the body has been read, and the connection is free. */
  readonly isFree?: boolean
}

/** The second argument of an {@link HTTPFetchFn}. */
export interface HTTPFetchRequest {
  /** Always `POST`. */
  method: 'POST'
  /** Names in their usual spelling, for instance `Content-Type`. */
  headers: Record<string, string>
  /** The body. With the setting `compress`, perhaps a `Uint8Array` with compressed bytes, which `fetch` also accepts. */
  body: string
  /** Redirects are never followed, because the credentials are meant for one host. */
  redirect: 'manual'
  /** An `AbortSignal`. */
  // biome-ignore lint/suspicious/noExplicitAny: fetch implementations declare incompatible AbortSignal types
  signal: any
}

/** A function with the call signature of `fetch`. */
export type HTTPFetchFn = (url: string, request: HTTPFetchRequest) => Promise<HTTPResponse>
