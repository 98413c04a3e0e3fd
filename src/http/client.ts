/** One request, as an {@link HTTPClient} receives it. */
export interface HTTPClientRequest<Body extends string | Uint8Array = string> {
  /** Absolute URL, for instance `https://api.segment.io/v1/batch`. */
  url: string
  /** Always `POST`. */
  method: 'POST'
  /** Names in their usual spelling, for instance `Content-Type`. */
  headers: Record<string, string>
  /** Text, or bytes for a {@link ByteHTTPClient} that takes them. With `Content-Encoding: gzip`, compressed bytes. */
  body: Body
  /** Longest time for the whole exchange, in milliseconds. */
  httpRequestTimeout: number
  /** Aborted when that time is over, and when `closeAndFlush()` times out. A client may ignore it. */
  signal?: AbortSignalOf<typeof globalThis>
  /** Set when no request will follow: the connection need not be kept alive. A client may ignore it. */
  closesConnection?: boolean
}

/**
 * The `AbortSignal` of the runtime. A project that has neither the types of the DOM nor those of Node.js sees an {@link
 * AbortSignalLike}.
 */
export type AbortSignalOf<Global> = Global extends { AbortSignal: { prototype: infer Signal } }
  ? Signal
  : AbortSignalLike

/** The part of an `AbortSignal` that is used, where its own type is not known. */
export interface AbortSignalLike {
  /** Whether the request was aborted. */
  readonly aborted: boolean
  /** Why: an `Error`. */
  readonly reason: unknown
  /** Calls `listener` when the request is aborted. */
  addEventListener(type: 'abort', listener: () => void): void
  /** Removes `listener`. */
  removeEventListener(type: 'abort', listener: () => void): void
}

/** The part of a `Headers` object that is used. */
export interface HeadersLike {
  /** The value of a header; `null` when there is none. */
  get(name: string): string | null
  /** Calls `callback` for each header. */
  forEach(callback: (value: string, name: string) => void): void
}

/** Response headers: a `Headers` object, or a plain object with names in any case. */
// biome-ignore lint/suspicious/noExplicitAny: headers of an interface or class type are assignable to `any` only
export type HTTPHeaders = Record<string, any> | HeadersLike

/** The response of an {@link HTTPClient}. A `Response` of `fetch` is one. */
export interface HTTPResponse {
  /** The HTTP status, an integer. */
  status: number
  /** The reason phrase, for instance `Service Unavailable`. May be empty. */
  statusText: string
  /** The headers. If they are missing, a `Retry-After` is not seen. */
  headers?: HTTPHeaders
  /** Reads the body. It is called once, so that the connection is free for the next request. */
  text?: () => Promise<string>
}

/**
 * A pluggable HTTP client. It resolves with every status, and rejects when there is no response. It never follows a
 * redirect: the credentials are meant for one host.
 */
export interface HTTPClient {
  /** Sends one request. Resolves once the response headers are complete; rejects when there is no response. */
  makeRequest(request: HTTPClientRequest): Promise<HTTPResponse>
}

/**
 * An HTTP client that takes request bodies as bytes. An {@link HTTPClient} whose `takesBytes()` returns `true` is
 * given the UTF-8 bytes of the body, which spares it the encoding of a text; every other client is given text.
 */
export interface ByteHTTPClient extends HTTPClient {
  /**
   * Whether the next request may have bytes as its body. They do not change while the request is under way.
   *
   * @param isCompressed Whether the bytes would be compressed (setting `compress`), and thus cannot be turned into text. If
   * the client does not return `true`, the body is sent uncompressed.
   */
  takesBytes(isCompressed?: boolean): boolean
  /** As for {@link HTTPClient}; the body may be bytes. */
  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse>
}

/** The HTTP client that an `Analytics` makes if the user gives none, and closes when it is closed itself. */
export interface OwnHTTPClient extends HTTPClient {
  close?(): void
}

/** The second argument of an {@link HTTPFetchFn}. */
export interface HTTPFetchRequest {
  /** Always `POST`. */
  method: 'POST'
  /** Names in their usual spelling, for instance `Content-Type`. */
  headers: Record<string, string>
  /** The request body. With the setting `compress` it is compressed bytes (a `Uint8Array`), which `fetch` takes as well. */
  body: string
  /** Redirects are never followed: the credentials are meant for one host. */
  redirect: 'manual'
  /** An `AbortSignal`. */
  // biome-ignore lint/suspicious/noExplicitAny: fetch implementations declare their own, incompatible, AbortSignal
  signal: any
}

/** A function with the call signature of `fetch`. */
export type HTTPFetchFn = (url: string, request: HTTPFetchRequest) => Promise<HTTPResponse>
