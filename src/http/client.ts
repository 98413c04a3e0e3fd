/** One request, as a client object receives it. */
export interface HTTPClientRequest<Body = string> {
  /** Absolute address, for instance `https://api.segment.io/v1/batch`. */
  url: string
  method: 'POST'
  headers: Record<string, string>
  body: Body
  /** Longest wait for the whole exchange, in milliseconds. */
  httpRequestTimeout: number
  /** Aborted at the end of that time and when the client is closed. A client may ignore it. */
  signal?: AbortSignal
}

/** Response headers: a `Headers` object, or a plain one with names in any case. */
// biome-ignore lint/suspicious/noExplicitAny: headers of an interface or class type are assignable to `any` only
export type HTTPHeaders = Record<string, any> | Pick<Headers, 'get' | 'forEach'>

/** What a client object answers with; a `Response` of fetch is one. */
export interface HTTPResponse {
  status: number
  statusText: string
  headers?: HTTPHeaders
  text?: () => Promise<string>
}

/** Reply bodies are read up to here: the API's and the token server's are far shorter. Beyond it the socket is closed. */
export const MAX_REPLY_BYTES = 65_536

/** An exchangeable HTTP implementation. Rejects when there is no answer; every status is an answer. */
export interface HTTPClient {
  makeRequest(request: HTTPClientRequest): Promise<HTTPResponse>
}

/** A client of our own. It spares the encoding of a text where it can send bytes as they are. */
export interface ByteHTTPClient extends HTTPClient {
  /** Whether the next request may have its body as UTF-8 bytes. They stay as they are until it is over. */
  takesBytes(): boolean
  makeRequest(request: HTTPClientRequest<string | Uint8Array>): Promise<HTTPResponse>
}

export function isByteClient(client: HTTPClient): client is ByteHTTPClient {
  return typeof (client as Partial<ByteHTTPClient>).takesBytes === 'function'
}

/** What a fetch function is given as its second argument. */
export interface HTTPFetchRequest {
  method: 'POST'
  headers: Record<string, string>
  body: string
  redirect: 'manual'
  // `any`: fetch implementations declare their own, mutually incompatible, AbortSignal types.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  signal: any
}

/** A function with the call signature of `fetch`. */
export type HTTPFetchFn = (url: string, request: HTTPFetchRequest) => Promise<HTTPResponse>

/** The client over `fetch`: the runtime's, or a function of the same shape. Never follows a redirect. */
export class FetchHTTPClient implements HTTPClient {
  readonly #fetch: HTTPFetchFn | undefined

  /** @param fetch Default: the global `fetch`, looked up at each request so that patched ones are used. */
  constructor(fetch?: HTTPFetchFn) {
    this.#fetch = fetch
  }

  makeRequest(request: HTTPClientRequest): Promise<HTTPResponse> {
    const send = this.#fetch ?? (globalThis.fetch as unknown as HTTPFetchFn)
    return send(request.url, {
      method: request.method,
      headers: request.headers,
      body: request.body,
      redirect: 'manual',
      signal: request.signal ?? AbortSignal.timeout(request.httpRequestTimeout),
    })
  }
}

/**
 * The value of one response header, whatever shape the headers have; `undefined` when absent, when not text,
 * and when the headers of a custom client throw.
 *
 * @param name In lower case.
 */
export function headerValue(headers: HTTPHeaders | undefined, name: string): string | undefined {
  if (headers === undefined || headers === null) return undefined
  try {
    if (typeof headers.get === 'function') return textOf(headers.get(name))
    for (const [key, value] of Object.entries(headers)) {
      if (key.toLowerCase() === name) return textOf(value)
    }
  } catch {
    // As if it were absent: the status alone decides.
  }
  return undefined
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  return Array.isArray(value) ? value.join(', ') : undefined
}
