import type { HTTPClient, HTTPResponse } from '../http/client.ts'

/** How requests of a test client fail. */
export interface RequestFailure {
  /** The HTTP status of the response. Default: 503, unless there is a `code`. */
  status?: number | undefined
  /** Code of a connection error, for example `ECONNREFUSED` or `ETIMEDOUT`. With a code, there is no response. */
  code?: string | undefined
  /** The `Retry-After` header of the response, in seconds. The test client does not really wait. Default: none. */
  retryAfter?: number | undefined
  /** How many requests fail in this way; `Infinity` for all. Default: 1. */
  times?: number | undefined
}

export class Service implements HTTPClient {
  #failures: { readonly failure: RequestFailure; left: number }[] = []

  /** Failures of earlier calls come first. @throws TypeError when `failure` is invalid. */
  failNext(failure: RequestFailure = {}): void {
    const { times = 1, status, code } = failure
    if (status !== undefined && code !== undefined) {
      throw new TypeError(
        'failNext: give either a status or a code: when the connection fails, there is no status',
      )
    }
    if (status !== undefined && !(Number.isInteger(status) && status >= 300 && status <= 599)) {
      throw new TypeError('failNext: status: expected an integer from 300 to 599')
    }
    if (!(times === Number.POSITIVE_INFINITY || (Number.isInteger(times) && times >= 1))) {
      throw new TypeError('failNext: times: expected an integer from 1 on, or Infinity')
    }
    this.#failures.push({ failure, left: times })
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
