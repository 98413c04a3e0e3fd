import { HttpProblem } from '../http/reply.ts'

/** The limit for one kind of request. */
export interface PlacesOptions {
  /** Most requests at a time. */
  limit: number
  /** Code and message of the problem for a request over the limit. The message says what to do. */
  code: string
  message: string
  retrySeconds: number
}

/** Limits how many requests of one kind run at a time, and thus the memory of all of them together. */
export class Places {
  readonly #options: PlacesOptions
  /** Places in use, by collector. */
  readonly #taken = new WeakMap<object, number>()

  constructor(options: PlacesOptions) {
    this.#options = options
  }

  /**
   * Runs a function in one of the owner's places, which is free again at the end.
   *
   * @param owner Identifies the collector.
   * @throws HttpProblem 503 when all places are taken.
   */
  async take<T>(owner: object, run: () => Promise<T>): Promise<T> {
    const { limit, code, message, retrySeconds } = this.#options
    const others = this.#taken.get(owner) ?? 0
    if (others >= limit) throw new HttpProblem(503, code, message, { 'retry-after': String(retrySeconds) })
    this.#taken.set(owner, others + 1)
    try {
      return await run()
    } finally {
      this.#taken.set(owner, (this.#taken.get(owner) ?? 1) - 1)
    }
  }
}
