import type { Clock } from '../../clock.ts'
import { cursorOf } from '../cursor.ts'
import type { StoreListener } from '../event-store.ts'
import type { ChangeFeed, FeedState } from '../ports.ts'
import type { Version } from './sync-store.ts'

const POLL_MS = 250

/** Options of the feed. */
export interface FeedSource {
  version(): Version
  /** Whether the file is still the one that was opened. */
  isInPlace(): boolean
  /** Opens the file that is there now; false when it is not the same database. */
  reopen(): boolean
}

/** Listener for writes of other processes: after these, counts in memory are out of date. */
export interface ForeignChanges extends Pick<StoreListener, 'changed' | 'cleared'> {
  /** Another process has started the file over, and it was opened again. */
  reopened(): void
  /** The file was removed, or replaced by something else. */
  lost(): void
}

/**
 * Follows the log. Subscribers hear of commits of this process at once, and of those of other processes on the same file within a
 * quarter of a second.
 */
export class SqliteFeed implements ChangeFeed {
  readonly #source: FeedSource
  readonly #clock: Clock
  readonly #foreign: ForeignChanges
  readonly #subscribers = new Set<(state: FeedState) => void>()
  #version: Version
  #revision = 0
  #isLost = false
  #cancel = () => {}

  constructor(source: FeedSource, clock: Clock, foreign: ForeignChanges) {
    this.#source = source
    this.#clock = clock
    this.#foreign = foreign
    this.#version = source.version()
  }

  /** Checks for commits of other processes, from now on. A database in memory has none. */
  start(): void {
    this.#cancel = this.#clock.setTimer(() => {
      this.poll()
      this.start()
    }, POLL_MS)
  }

  /** Checks once. */
  poll(): void {
    if (!this.#source.isInPlace()) {
      if (!this.#source.reopen()) {
        if (!this.#isLost) this.#foreign.lost()
        this.#isLost = true
        return
      }
      this.#isLost = false
      this.#foreign.reopened()
    }
    const version = this.#source.version()
    if (version.data === this.#version.data) return
    const isCleared = version.epoch !== this.#version.epoch
    const isQuiet = version.lastSeq === this.#version.lastSeq && !isCleared
    this.#version = version
    // The write was about deliveries, then.
    if (isQuiet) this.#revision++
    if (isCleared) this.#foreign.cleared()
    this.#foreign.changed()
    this.#tell()
  }

  /** Reports a commit of this process. */
  committed(lastSeq: number): void {
    if (lastSeq > this.#version.lastSeq) this.#version = { ...this.#version, lastSeq }
    this.#tell()
  }

  /** Reports that this process has deleted everything. */
  cleared(): void {
    this.#version = this.#source.version()
    this.#tell()
  }

  /** Reports that this process has stored results of deliveries. */
  revised(): void {
    this.#revision++
    this.#tell()
  }

  subscribe(onChange: (state: FeedState) => void): () => void {
    this.#subscribers.add(onChange)
    return () => this.#subscribers.delete(onChange)
  }

  state(): FeedState {
    const { lastSeq, epoch } = this.#version
    return { head: cursorOf(lastSeq), lastSeq, epoch, revision: this.#revision }
  }

  #tell(): void {
    const state = this.state()
    for (const onChange of this.#subscribers) onChange(state)
  }

  close(): void {
    this.#cancel()
    this.#subscribers.clear()
  }
}
