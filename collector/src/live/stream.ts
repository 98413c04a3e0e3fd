import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { SECURITY_HEADERS } from '../http/reply.ts'
import type { Stats } from './stats.ts'

const TICK_MS = 250
const QUIET_TICKS = 4
const MAX_CLIENTS = 100
/** A page that does not read is sent no more until it has caught up. */
const MAX_UNREAD_BYTES = 262_144

/**
 * Server-sent events for the page: at most four times a second, the newest `seq` and the totals.
 *
 * The events themselves are fetched by the page, with its filters: the stream stays small at any rate, and the
 * filtering is done in one place.
 */
export class LiveStream {
  readonly #stats: () => Stats
  readonly #clock: Clock
  readonly #clients = new Set<ServerResponse>()
  #cancelTick: (() => void) | undefined
  #lastSeq = 0
  #epoch = 0
  #revision = 0
  #hasNews = false
  #ticksSinceSent = 0

  constructor(stats: () => Stats, clock: Clock) {
    this.#stats = stats
    this.#clock = clock
  }

  /** @param lastSeq Newest record there is. */
  notify(lastSeq: number): void {
    this.#lastSeq = lastSeq
    this.#hasNews = true
  }

  /** Tells pages that what they show is gone. */
  reset(): void {
    this.#epoch++
    this.#hasNews = true
  }

  /** Tells pages that destinations have reported on events they may be showing. */
  revise(): void {
    this.#revision++
    this.#hasNews = true
  }

  open(request: IncomingMessage, response: ServerResponse): void {
    if (this.#clients.size >= MAX_CLIENTS) {
      response.writeHead(503, { ...SECURITY_HEADERS, 'content-length': 0 }).end()
      return
    }
    response.writeHead(200, { ...SECURITY_HEADERS, 'content-type': 'text/event-stream; charset=utf-8' })
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
    // The chart moves on without news, once a second.
    if (!this.#hasNews && this.#ticksSinceSent < QUIET_TICKS) return
    const text = this.#message()
    this.#hasNews = false
    this.#ticksSinceSent = 0
    for (const client of this.#clients) {
      if (client.writableLength < MAX_UNREAD_BYTES) client.write(text)
    }
  }

  #message(): string {
    const message = {
      lastSeq: this.#lastSeq,
      epoch: this.#epoch,
      revision: this.#revision,
      stats: this.#stats(),
    }
    return `data: ${JSON.stringify(message)}\n\n`
  }

  close(): void {
    for (const client of [...this.#clients]) client.end()
    this.#cancelTick?.()
  }
}
