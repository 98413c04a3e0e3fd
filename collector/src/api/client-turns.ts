import type { ServerResponse } from 'node:http'
import { goneSignal } from '../http/gone.ts'
import { HttpProblem } from '../http/reply.ts'

/** Queries that run at the same time. They share one thread, or a few connections to a database. */
const PLACES = 4
const MAX_OF_CLIENT = 100
const MAX_TOGETHER = 200
const RETRY_SECONDS = 1
/** Bytes of answers that are in memory because their clients have not read them. */
const MAX_UNREAD_OF_ADDRESS = 32 * 1024 * 1024
const MAX_UNREAD = 4 * MAX_UNREAD_OF_ADDRESS

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
  readonly #unread = new Map<string, number>()
  #unreadTogether = 0
  #free = PLACES

  /**
   * @param client Who asks, at this address.
   * @param query Answers the request too.
   * @throws HttpProblem 503 when too many queries are running or waiting, or too many answers are not read; the reason of a signal
   *   when the client was gone before the query could start.
   */
  async run(
    address: string,
    client: string,
    response: ServerResponse,
    query: () => Promise<void>,
  ): Promise<void> {
    const own = this.#counts.get(client) ?? 0
    const limit = own >= MAX_OF_CLIENT ? MAX_OF_CLIENT : MAX_TOGETHER
    if (own >= MAX_OF_CLIENT || this.#together >= MAX_TOGETHER) {
      const message = `${limit} queries are running or waiting already: try again later`
      throw tooMany(message)
    }
    this.#together++
    this.#counts.set(client, own + 1)
    try {
      await this.#enter(client, goneSignal(response))
      try {
        this.#requireRead(address)
        await query()
        this.#count(address, response)
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

  #requireRead(address: string): void {
    if ((this.#unread.get(address) ?? 0) < MAX_UNREAD_OF_ADDRESS && this.#unreadTogether < MAX_UNREAD) return
    throw tooMany('too many answers are not read yet: read them, or try again later')
  }

  #count(address: string, response: ServerResponse): void {
    const bytes = response.destroyed ? 0 : response.writableLength
    if (bytes === 0) return
    const add = (more: number) => {
      this.#unreadTogether += more
      const sum = (this.#unread.get(address) ?? 0) + more
      if (sum > 0) this.#unread.set(address, sum)
      else this.#unread.delete(address)
    }
    add(bytes)
    response.once('close', () => add(-bytes))
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

function tooMany(message: string): HttpProblem {
  return new HttpProblem(503, 'too_many_questions', message, { 'retry-after': String(RETRY_SECONDS) })
}
