import { HttpProblem } from '../http/reply.ts'

/** How requests of one sort are limited. */
export interface PlacesOptions {
  /** So many are handled at a time. */
  limit: number
  /** Code and message of the problem that one more gets. The message says what to do. */
  code: string
  message: string
  retrySeconds: number
}

/** Places for requests of one sort: what one holds while it is handled is so bounded for all together. */
export class Places {
  readonly #options: PlacesOptions
  /** Taken places, of each collector. */
  readonly #taken = new WeakMap<object, number>()

  constructor(options: PlacesOptions) {
    this.#options = options
  }

  /**
   * Runs in a place of the owner's, until it ends.
   *
   * @param owner Stands for the collector.
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
