import type pg from 'pg'
import type { Clock } from '../../clock.ts'
import { cursorOf } from '../cursor.ts'
import type { StoreListener } from '../event-store.ts'
import type { ChangeFeed, FeedState } from '../ports.ts'
import { CHANNEL } from './functions.ts'

/** Others are looked for this often, also where notifications do not come through, as with some poolers. */
const POLL_MS = 500
/** Milliseconds from a notification to the query, which finds what comes meanwhile too. */
const NOTICE_MS = 40

/** Where the log has got to. */
export interface LogState {
  last_seq: number
  last_request: number
  epoch: number
  revision: number
}

const STATE =
  'SELECT last_seq, last_request, epoch, (SELECT revision FROM log_revision) AS revision FROM log_head'

/**
 * Follows the log on a connection of its own: what this process commits is told at once, what others write when the database
 * notifies of it, or half a second later.
 */
export class PostgresFeed implements ChangeFeed {
  readonly #newClient: () => pg.Client
  readonly #clock: Clock
  readonly #foreign: Pick<StoreListener, 'changed' | 'cleared'>
  readonly #subscribers = new Set<(state: FeedState) => void>()
  #state: LogState
  #client: pg.Client | undefined
  #polling: Promise<void> | undefined
  #isAskedAgain = false
  #failure: unknown
  #isClosed = false
  #cancelPoll = () => {}
  #cancelNotice: (() => void) | undefined

  constructor(
    newClient: () => pg.Client,
    state: LogState,
    clock: Clock,
    foreign: Pick<StoreListener, 'changed' | 'cleared'>,
  ) {
    this.#newClient = newClient
    this.#state = state
    this.#clock = clock
    this.#foreign = foreign
  }

  /** Why the log could not be looked at the last time; undefined when it could. */
  get failure(): unknown {
    return this.#failure
  }

  /** Looks for what others write, from now on. */
  start(): void {
    void this.poll().then(() => {
      if (this.#isClosed) return
      this.#cancelPoll = this.#clock.setTimer(() => this.start(), POLL_MS)
    })
  }

  /** Looks now; resolves when that is done. Never rejects. */
  poll(): Promise<void> {
    if (this.#polling !== undefined) {
      // The query that is under way may have begun before the newest event.
      this.#isAskedAgain = true
      return this.#polling
    }
    this.#polling = this.#look().finally(() => {
      this.#polling = undefined
    })
    return this.#polling
  }

  async #look(): Promise<void> {
    do {
      this.#isAskedAgain = false
      if (this.#isClosed) return
      try {
        this.#client ??= await this.#connect()
        const { rows } = await this.#client.query<LogState>(STATE)
        this.#failure = undefined
        if (rows[0] !== undefined && !this.#isClosed) this.#see(rows[0])
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
    client.on('notification', () => this.#notice())
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

  #notice(): void {
    this.#cancelNotice ??= this.#clock.setTimer(() => {
      this.#cancelNotice = undefined
      void this.poll()
    }, NOTICE_MS)
  }

  #see(state: LogState): void {
    const before = this.#state
    const isCleared = state.epoch !== before.epoch
    const isChanged = state.last_seq !== before.last_seq || state.last_request !== before.last_request
    const isRevised = state.revision !== before.revision
    if (!isCleared && !isChanged && !isRevised) return
    // A look that was under way while this process committed may be behind it.
    const lastSeq = Math.max(state.last_seq, before.last_seq)
    this.#state = { ...state, last_seq: lastSeq }
    if (isCleared) this.#foreign.cleared()
    this.#foreign.changed()
    this.#tell()
  }

  /** Tells that this process has written. */
  committed(firstSeq: number | undefined, events: number, requests: number): void {
    const { last_seq, last_request } = this.#state
    // Between what was known and this commit lies what others wrote.
    const isForeign = firstSeq !== undefined && firstSeq > last_seq + 1
    const lastSeq = firstSeq === undefined ? last_seq : Math.max(last_seq, firstSeq + events - 1)
    this.#state = { ...this.#state, last_seq: lastSeq, last_request: last_request + requests }
    if (isForeign) this.#foreign.changed()
    if (events > 0) this.#tell()
  }

  /** Tells that this process has forgotten everything. */
  cleared(state: LogState): void {
    this.#state = state
    this.#tell()
  }

  /** Destinations have reported on events: told with the next look, which is soon. */
  revised(): void {
    this.#notice()
  }

  subscribe(onChange: (state: FeedState) => void): () => void {
    this.#subscribers.add(onChange)
    return () => this.#subscribers.delete(onChange)
  }

  state(): FeedState {
    const { last_seq: lastSeq, epoch, revision } = this.#state
    return { head: cursorOf(lastSeq), lastSeq, epoch, revision }
  }

  #tell(): void {
    const state = this.state()
    for (const onChange of this.#subscribers) onChange(state)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelPoll()
    this.#cancelNotice?.()
    this.#subscribers.clear()
    // Also from under a look that gets no response.
    this.#disconnect()
    await this.#polling
    this.#disconnect()
  }
}

/** Where the log is now. */
export const READ_STATE = STATE
