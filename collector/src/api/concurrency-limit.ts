import { HttpProblem } from '../http/reply.ts'

/** The limit for one kind of request. */
export interface ConcurrencyLimitOptions {
  /** Maximum number of requests at a time. */
  limit: number
  /** Code and message of the problem for a request over the limit. The message says what to do. */
  code: string
  message: string
  retrySeconds: number
}

/** Limits how many requests of one kind run at a time, and thus the memory of all of them together. */
export class ConcurrencyLimit {
  readonly #options: ConcurrencyLimitOptions
  /** Requests that run at the moment, by collector. */
  readonly #running = new WeakMap<object, number>()

  constructor(options: ConcurrencyLimitOptions) {
    this.#options = options
  }

  /**
   * Runs a function, if the collector has room for one more.
   *
   * @param owner Identifies the collector.
   * @throws HttpProblem 503 when the limit is reached.
   */
  async run<T>(owner: object, work: () => Promise<T>): Promise<T> {
    const { limit, code, message, retrySeconds } = this.#options
    const others = this.#running.get(owner) ?? 0
    if (others >= limit) throw new HttpProblem(503, code, message, { 'retry-after': String(retrySeconds) })
    this.#running.set(owner, others + 1)
    try {
      return await work()
    } finally {
      this.#running.set(owner, (this.#running.get(owner) ?? 1) - 1)
    }
  }
}
