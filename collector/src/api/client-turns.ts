import type { ServerResponse } from 'node:http'
import { goneSignal } from '../http/gone.ts'
import { HttpProblem } from '../http/reply.ts'

/** Queries that run at the same time. They share one thread, or a few connections to a database. */
const PLACES = 4
const MAX_OF_CLIENT = 100
const MAX_OF_ADDRESS = 150
const MAX_TOGETHER = 200
const RETRY_SECONDS = 1
/** Bytes of answers that are in memory because their clients have not read them. */
const MAX_UNREAD_OF_ADDRESS = 32 * 1024 * 1024
const MAX_UNREAD = 4 * MAX_UNREAD_OF_ADDRESS
/** The key of the sum over all addresses. */
const ALL = 'all'

interface Waiting {
  start(): void
}

/**
 * Queries that do not run yet wait in one queue for each client. The addresses take turns, and so do the clients of an address:
 * anybody can be many clients, but not many addresses.
 */
export class ClientTurns {
  /** By address and client. The first is the next to have its turn. One whose queue is empty is removed. */
  readonly #queues = new Map<string, Map<string, Waiting[]>>()
  /** Running and waiting queries of each client, of each address and of all. */
  readonly #counts = new Map<string, number>()
  /** Bytes that are not read, of each address and of all. */
  readonly #unread = new Map<string, number>()
  #free = PLACES

  /**
   * @param address Of the client, or of its network.
   * @param client The name under which the client is known at this address.
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
    const limits = { [`${address} ${client}`]: MAX_OF_CLIENT, [address]: MAX_OF_ADDRESS, [ALL]: MAX_TOGETHER }
    for (const [key, limit] of Object.entries(limits)) {
      if ((this.#counts.get(key) ?? 0) < limit) continue
      throw tooMany(`${limit} queries are running or waiting already: try again later`)
    }
    for (const key of Object.keys(limits)) add(this.#counts, key, 1)
    try {
      await this.#enter(address, client, goneSignal(response))
      try {
        this.#requireRead(address)
        await query()
        this.#countUnread(address, response)
      } finally {
        this.#leave()
      }
    } finally {
      for (const key of Object.keys(limits)) add(this.#counts, key, -1)
    }
  }

  #requireRead(address: string): void {
    const [own = 0, all = 0] = [this.#unread.get(address), this.#unread.get(ALL)]
    if (own < MAX_UNREAD_OF_ADDRESS && all < MAX_UNREAD) return
    throw tooMany('too many answers are not read yet: read them, or try again later')
  }

  #countUnread(address: string, response: ServerResponse): void {
    const bytes = response.destroyed ? 0 : response.writableLength
    if (bytes === 0) return
    for (const key of [address, ALL]) {
      add(this.#unread, key, bytes)
      response.once('close', () => add(this.#unread, key, -bytes))
    }
  }

  async #enter(address: string, client: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#free > 0) {
      this.#free--
      return
    }
    await new Promise<void>((resolve, reject) => {
      const clients = this.#queues.get(address) ?? new Map<string, Waiting[]>()
      const queue = clients.get(client) ?? []
      const cancel = () => {
        queue.splice(queue.indexOf(waiting), 1)
        if (queue.length === 0) clients.delete(client)
        if (clients.size === 0) this.#queues.delete(address)
        reject(signal.reason)
      }
      const waiting = {
        start() {
          signal.removeEventListener('abort', cancel)
          resolve()
        },
      }
      queue.push(waiting)
      clients.set(client, queue)
      this.#queues.set(address, clients)
      signal.addEventListener('abort', cancel, { once: true })
    })
  }

  #leave(): void {
    const [atAddress] = this.#queues
    const [ofClient] = atAddress?.[1] ?? []
    if (atAddress === undefined || ofClient === undefined) {
      this.#free++
      return
    }
    const [address, clients] = atAddress
    const [client, queue] = ofClient
    const waiting = queue.shift()
    // Both move to the end of their row.
    clients.delete(client)
    if (queue.length > 0) clients.set(client, queue)
    this.#queues.delete(address)
    if (clients.size > 0) this.#queues.set(address, clients)
    waiting?.start()
  }
}

function add(counts: Map<string, number>, key: string, more: number): void {
  const sum = (counts.get(key) ?? 0) + more
  if (sum > 0) counts.set(key, sum)
  else counts.delete(key)
}

function tooMany(message: string): HttpProblem {
  return new HttpProblem(503, 'too_many_questions', message, { 'retry-after': String(RETRY_SECONDS) })
}
