import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import type { Faults } from '../faults/rules.ts'
import { HttpProblem, SECURITY_HEADERS } from '../http/reply.ts'
import type { Store } from '../store/store.ts'
import type { Stats } from './stats.ts'

const TICK_MS = 250
/** After this many ticks without news, a message is sent anyway: after 3 s of silence, the page warns that no data arrives. */
const QUIET_TICKS = 7
const MAX_CLIENTS = 100
/** Maximum unread bytes of a client. A page that reads too slowly gets no messages until it has read the earlier ones. */
const MAX_UNREAD_BYTES = 262_144
/** Sources in a message: those with the most events. `/api/stats` has up to 1,000. */
const SOURCES = 50

export interface StreamParts {
  store: Pick<Store, 'changes' | 'whyNotReady'>
  faults: Pick<Faults, 'active'>
  clock: Clock
  /** @param sources Maximum number of sources. */
  stats(sources: number): Stats
}

/**
 * Server-sent events for the page: the sequence number of the newest event, and the counts, at most four times a second.
 *
 * The page fetches the events itself, with its filters. So the stream stays small, and only queries need to filter.
 */
export class LiveStream {
  /** Identifies the process: different after every start. */
  readonly process = randomUUID()
  readonly #parts: StreamParts
  readonly #clients = new Set<ServerResponse>()
  #cancelTick: (() => void) | undefined
  #hasNews = false
  #ticksSinceSent = 0

  constructor(parts: StreamParts) {
    this.#parts = parts
  }

  /** Must be called when what is stored has changed. */
  news(): void {
    this.#hasNews = true
  }

  /** @throws HttpProblem 503 when too many streams are open. */
  open(request: IncomingMessage, response: ServerResponse): void {
    if (this.#clients.size >= MAX_CLIENTS) {
      throw new HttpProblem(503, 'too_many_streams', 'ask /api/stats every few seconds instead', {
        'retry-after': '10',
      })
    }
    response.writeHead(200, { ...SECURITY_HEADERS, 'content-type': 'text/event-stream; charset=utf-8' })
    // Otherwise, the response to a HEAD request would never end.
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
    this.#cancelTick = this.#parts.clock.setTimer(() => {
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

  /** What is in a message, and in `/api/stats`, beside the counts. */
  get state() {
    const { store, faults, clock } = this.#parts
    return {
      ...store.changes.state,
      process: this.process,
      now: new Date(clock.now()).toISOString(),
      storeUnavailable: store.whyNotReady(),
      faults: faults.active,
    }
  }

  #message(): string {
    return `data: ${JSON.stringify({ ...this.state, stats: this.#parts.stats(SOURCES) })}\n\n`
  }

  close(): void {
    for (const client of [...this.#clients]) client.end()
    this.#cancelTick?.()
  }
}
