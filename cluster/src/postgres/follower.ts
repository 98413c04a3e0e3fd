import type pg from 'pg'
import type { Clock } from 'trackpost-collector/ports'
import type { Feed } from 'trackpost-collector/sql'
import { CHANNEL } from './functions.ts'

/** Polls are needed because some connection poolers do not pass on notifications. */
const POLL_MS = 500
/** The wait after a notification, so that one query covers several notifications. */
const NOTICE_MS = 40

/** See `FeedState`. `lastRequest` is the sequence number of the newest request. */
export interface LogState {
  lastSeq: number
  lastRequest: number
  epoch: number
  revision: number
}

export const READ_STATE = `SELECT last_seq AS "lastSeq", last_request AS "lastRequest", epoch,
  (SELECT revision FROM log_revision) AS revision FROM log_head`

/** Watches for commits of other processes, on its own connection. */
export class Follower {
  readonly #newClient: () => pg.Client
  readonly #feed: Feed
  readonly #clock: Clock
  #lastRequest: number
  #client: pg.Client | undefined
  #polling: Promise<void> | undefined
  #isAskedAgain = false
  #failure: unknown
  #isClosed = false
  #cancelPoll = () => {}
  #cancelNotice: (() => void) | undefined

  constructor(newClient: () => pg.Client, feed: Feed, lastRequest: number, clock: Clock) {
    this.#newClient = newClient
    this.#feed = feed
    this.#lastRequest = lastRequest
    this.#clock = clock
  }

  get failure(): unknown {
    return this.#failure
  }

  start(): void {
    void this.poll().then(() => {
      if (this.#isClosed) return
      this.#cancelPoll = this.#clock.setTimer(() => this.start(), POLL_MS)
    })
  }

  /** Never rejects. */
  poll(): Promise<void> {
    if (this.#polling !== undefined) {
      // The running query may have begun before the newest commit, so another one follows it.
      this.#isAskedAgain = true
      return this.#polling
    }
    this.#polling = this.#readState().finally(() => {
      this.#polling = undefined
    })
    return this.#polling
  }

  async #readState(): Promise<void> {
    do {
      this.#isAskedAgain = false
      if (this.#isClosed) return
      try {
        this.#client ??= await this.#connect()
        const { rows } = await this.#client.query<LogState>(READ_STATE)
        this.#failure = undefined
        if (rows[0] !== undefined && !this.#isClosed) this.#update(rows[0])
      } catch (cause) {
        this.#failure = cause
        this.#disconnect()
        return
      }
    } while (this.#isAskedAgain)
  }

  async #connect(): Promise<pg.Client> {
    const client = this.#newClient()
    client.on('error', () => {
      if (this.#client === client) this.#disconnect()
    })
    client.on('notification', () => this.pollSoon())
    try {
      await client.connect()
      await client.query(`LISTEN ${CHANNEL}`)
    } catch (cause) {
      void client.end().catch(() => {})
      throw cause
    }
    return client
  }

  #disconnect(): void {
    const client = this.#client
    this.#client = undefined
    void client?.end().catch(() => {})
  }

  pollSoon(): void {
    this.#cancelNotice ??= this.#clock.setTimer(() => {
      this.#cancelNotice = undefined
      void this.poll()
    }, NOTICE_MS)
  }

  #update({ lastRequest, ...numbers }: LogState): void {
    const { lastSeq, epoch, revision } = this.#feed.state()
    const isKnown =
      numbers.epoch === epoch &&
      numbers.lastSeq === lastSeq &&
      numbers.revision === revision &&
      lastRequest === this.#lastRequest
    if (isKnown) return
    this.#lastRequest = lastRequest
    this.#feed.changedElsewhere(numbers)
  }

  committed(requests: number): void {
    this.#lastRequest += requests
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelPoll()
    this.#cancelNotice?.()
    // Ends a query that gets no response, so that the next line does not wait for it.
    this.#disconnect()
    await this.#polling
    this.#disconnect()
  }
}
