import type pg from 'pg'
import type { Clock } from '../../clock.ts'
import { cursorOf } from '../cursor.ts'
import type { StoreListener } from '../event-store.ts'
import type { ChangeFeed, FeedState } from '../ports.ts'
import { CHANNEL } from './functions.ts'

/** How often to check for commits of other processes: notifications do not come through some poolers. */
const POLL_MS = 500
/** Milliseconds from a notification to the query, so that one query covers several notifications. */
const NOTICE_MS = 40

/** The newest numbers of the log. */
export interface LogState {
  last_seq: number
  last_request: number
  epoch: number
  revision: number
}

const STATE =
  'SELECT last_seq, last_request, epoch, (SELECT revision FROM log_revision) AS revision FROM log_head'

/**
 * Follows the log on its own connection. Subscribers hear of commits of this process at once, and of those of other processes
 * when the database notifies of them, at the latest after half a second.
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

  /** Why the last query of the log failed; undefined when it succeeded. */
  get failure(): unknown {
    return this.#failure
  }

  /** Checks for commits of other processes, from now on. */
  start(): void {
    void this.poll().then(() => {
      if (this.#isClosed) return
      this.#cancelPoll = this.#clock.setTimer(() => this.start(), POLL_MS)
    })
  }

  /** Checks now; resolves when that is done. Never rejects. */
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
    // A query that was running while this process committed may return an older state.
    const lastSeq = Math.max(state.last_seq, before.last_seq)
    this.#state = { ...state, last_seq: lastSeq }
    if (isCleared) this.#foreign.cleared()
    this.#foreign.changed()
    this.#tell()
  }

  /** Reports a commit of this process. */
  committed(firstSeq: number | undefined, events: number, requests: number): void {
    const { last_seq, last_request } = this.#state
    // If numbers are missing before this commit, other processes have written them.
    const isForeign = firstSeq !== undefined && firstSeq > last_seq + 1
    const lastSeq = firstSeq === undefined ? last_seq : Math.max(last_seq, firstSeq + events - 1)
    this.#state = { ...this.#state, last_seq: lastSeq, last_request: last_request + requests }
    if (isForeign) this.#foreign.changed()
    if (events > 0) this.#tell()
  }

  /** Reports that this process has deleted all events. */
  cleared(state: LogState): void {
    this.#state = state
    this.#tell()
  }

  /** Reports that destinations have responded; subscribers hear of it after the next query, within milliseconds. */
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
    // Also ends a query that gets no response.
    this.#disconnect()
    await this.#polling
    this.#disconnect()
  }
}

/** The statement that reads the newest numbers of the log. */
export const READ_STATE = STATE
