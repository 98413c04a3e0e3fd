import { HttpProblem } from '../http/reply.ts'

/** Limits how many requests of one kind are open at the same time, and so how much memory they need together. */
export class Limited {
  readonly #limit: number
  readonly #problem: () => HttpProblem
  #open = 0

  /** @param code For the response to a request over the limit; the message says what the client can do. */
  constructor(limit: number, code: string, message: string) {
    this.#limit = limit
    this.#problem = () => new HttpProblem(503, code, message, { 'retry-after': '1' })
  }

  /** @throws HttpProblem 503 when the limit is reached. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#open >= this.#limit) throw this.#problem()
    this.#open++
    try {
      return await work()
    } finally {
      this.#open--
    }
  }
}
