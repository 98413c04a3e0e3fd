import { HttpProblem } from '../http/reply.ts'

/** Queries that run at the same time. They share one thread, or a few connections to a database. */
const PLACES = 4
const MAX_OF_CLIENT = 100
const MAX_TOGETHER = 200
const RETRY_SECONDS = 1

interface Waiting {
  start(): void
}

/** Queries that do not run yet wait in one queue for each client, and the clients take turns. */
export class ClientTurns {
  /** The first client is the next to have its turn. A client whose queue is empty is removed. */
  readonly #queues = new Map<string, Waiting[]>()
  /** Running and waiting queries of each client. */
  readonly #counts = new Map<string, number>()
  #together = 0
  #free = PLACES

  /**
   * @throws HttpProblem 503 when too many queries are running or waiting; the reason of the signal when it was aborted before
   *   the query could start.
   */
  async run<T>(client: string, signal: AbortSignal, query: () => Promise<T>): Promise<T> {
    const own = this.#counts.get(client) ?? 0
    const limit = own >= MAX_OF_CLIENT ? MAX_OF_CLIENT : MAX_TOGETHER
    if (own >= MAX_OF_CLIENT || this.#together >= MAX_TOGETHER) {
      const message = `${limit} queries are running or waiting already: try again later`
      throw new HttpProblem(503, 'too_many_questions', message, { 'retry-after': String(RETRY_SECONDS) })
    }
    this.#together++
    this.#counts.set(client, own + 1)
    try {
      await this.#enter(client, signal)
      try {
        return await query()
      } finally {
        this.#leave()
      }
    } finally {
      this.#together--
      const left = (this.#counts.get(client) ?? 1) - 1
      if (left > 0) this.#counts.set(client, left)
      else this.#counts.delete(client)
    }
  }

  async #enter(client: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#free > 0) {
      this.#free--
      return
    }
    await new Promise<void>((resolve, reject) => {
      const queue = this.#queues.get(client) ?? []
      const cancel = () => {
        queue.splice(queue.indexOf(waiting), 1)
        if (queue.length === 0) this.#queues.delete(client)
        reject(signal.reason)
      }
      const waiting = {
        start() {
          signal.removeEventListener('abort', cancel)
          resolve()
        },
      }
      queue.push(waiting)
      this.#queues.set(client, queue)
      signal.addEventListener('abort', cancel, { once: true })
    })
  }

  #leave(): void {
    const [next] = this.#queues
    if (next === undefined) {
      this.#free++
      return
    }
    const [client, queue] = next
    const waiting = queue.shift()
    // The client moves to the end of the row.
    this.#queues.delete(client)
    if (queue.length > 0) this.#queues.set(client, queue)
    waiting?.start()
  }
}
