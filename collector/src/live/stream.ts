import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { HttpProblem, SECURITY_HEADERS } from '../http/reply.ts'
import type { ChangeFeed } from '../store/ports.ts'
import type { Stats } from './stats.ts'

const TICK_MS = 250
/** The page considers the connection lost after 3 s of silence. */
const QUIET_TICKS = 7
const MAX_CLIENTS = 100
/** The limit on unread bytes: a page that reads too slowly gets no further events until it has caught up. */
const MAX_UNREAD_BYTES = 262_144
/** Maximum number of sources in a message, the busiest ones; the others are in `/api/stats`. */
const SOURCES = 50

/**
 * Server-sent events for the page: the sequence number of the newest event and the totals, at most four times a second.
 *
 * The page fetches the events itself, with its filters, so that the stream stays small at any rate of events and filtering is
 * done in one place.
 */
export class LiveStream {
  /** Different in each process, and after each start. */
  readonly process = randomUUID()
  readonly #stats: (sources: number) => Stats
  /** Why the store is unavailable now; null when it is not. */
  readonly storeUnavailable: () => string | null
  readonly #changes: ChangeFeed
  readonly #clock: Clock
  readonly #clients = new Set<ServerResponse>()
  readonly #unsubscribe: () => void
  #cancelTick: (() => void) | undefined
  #hasNews = false
  #ticksSinceSent = 0

  /** @param storeUnavailable Why the store is unavailable now; null when it is not. */
  constructor(
    stats: (sources: number) => Stats,
    storeUnavailable: () => string | null,
    changes: ChangeFeed,
    clock: Clock,
  ) {
    this.#stats = stats
    this.storeUnavailable = storeUnavailable
    this.#changes = changes
    this.#clock = clock
    this.#unsubscribe = changes.subscribe(() => {
      this.#hasNews = true
    })
  }

  /** @throws HttpProblem 503 when too many are open. */
  open(request: IncomingMessage, response: ServerResponse): void {
    if (this.#clients.size >= MAX_CLIENTS) {
      throw new HttpProblem(503, 'too_many_streams', 'ask /api/stats every few seconds instead', {
        'retry-after': '10',
      })
    }
    response.writeHead(200, { ...SECURITY_HEADERS, 'content-type': 'text/event-stream; charset=utf-8' })
    // A HEAD request would otherwise never end.
    if (request.method === 'HEAD') return void response.end()
    response.write(`retry: 1000\n\n${this.#message()}`)
    this.#clients.add(response)
    request.once('close', () => this.#leave(response))
    response.once('close', () => this.#leave(response))
    if (this.#cancelTick === undefined) this.#scheduleTick()
  }

  #leave(response: ServerResponse): void {
    this.#clients.delete(response)
    if (this.#clients.size > 0) return
    this.#cancelTick?.()
    this.#cancelTick = undefined
  }

  #scheduleTick(): void {
    this.#cancelTick = this.#clock.setTimer(() => {
      this.#scheduleTick()
      this.#tick()
    }, TICK_MS)
  }

  #tick(): void {
    this.#ticksSinceSent++
    if (!this.#hasNews && this.#ticksSinceSent < QUIET_TICKS) return
    const text = this.#message()
    this.#hasNews = false
    this.#ticksSinceSent = 0
    for (const client of this.#clients) {
      if (client.writableLength < MAX_UNREAD_BYTES) client.write(text)
    }
  }

  #message(): string {
    const { process } = this
    const now = new Date(this.#clock.now()).toISOString()
    const message = {
      ...this.#changes.state(),
      process,
      now,
      storeUnavailable: this.storeUnavailable(),
      stats: this.#stats(SOURCES),
    }
    return `data: ${JSON.stringify(message)}\n\n`
  }

  close(): void {
    this.#unsubscribe()
    for (const client of [...this.#clients]) client.end()
    this.#cancelTick?.()
  }
}
