import { HttpProblem } from '../http/reply.ts'

export interface ConcurrencyLimitOptions {
  limit: number
  /** For the response to a request over the limit. The message says what the client can do. */
  code: string
  message: string
  retrySeconds: number
}

/** Limits how many requests of one kind run at the same time, and so how much memory they need together. */
export class ConcurrencyLimit {
  readonly #options: ConcurrencyLimitOptions
  /** Number of running requests for each collector. */
  readonly #running = new WeakMap<object, number>()

  constructor(options: ConcurrencyLimitOptions) {
    this.#options = options
  }

  /**
   * @param owner An object that identifies the collector.
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
