import type { HTTPClient, HTTPResponse } from '../http/client.ts'

/** How requests of a test client fail. */
export interface RequestFailure {
  /** The HTTP status of the response. Default: 503, unless there is a `code`. */
  status?: number | undefined
  /** Code of a connection error, for example `ECONNREFUSED` or `ETIMEDOUT`. With a code, there is no response, whatever the `status`. */
  code?: string | undefined
  /** The `Retry-After` header of the response, in seconds. The test client does not really wait. Default: none. */
  retryAfter?: number | undefined
  /** How many requests fail in this way; `Infinity` for all. Default: 1. */
  times?: number | undefined
}

export class Service implements HTTPClient {
  #failures: { readonly failure: RequestFailure; left: number }[] = []

  /** Failures of earlier calls come first. */
  failNext(failure: RequestFailure = {}): void {
    this.#failures.push({ failure, left: failure.times ?? 1 })
  }

  recover(): void {
    this.#failures = []
  }

  async makeRequest(): Promise<HTTPResponse> {
    const failure = this.#next()
    if (failure === undefined) return { status: 200, statusText: 'OK', text: async () => '{"success":true}' }
    const { status = 503, code, retryAfter } = failure
    if (code !== undefined) throw Object.assign(new Error(`the connection failed: ${code}`), { code })
    const headers = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }
    return { status, statusText: 'as the test asked for', headers, text: async () => '' }
  }

  #next(): RequestFailure | undefined {
    const [first] = this.#failures
    if (first === undefined) return undefined
    first.left--
    if (first.left <= 0) this.#failures.shift()
    return first.failure
  }
}
