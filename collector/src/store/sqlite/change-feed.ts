import type { Clock } from '../../clock.ts'
import { cursorOf } from '../cursor.ts'
import type { StoreListener } from '../event-store.ts'
import type { ChangeFeed, FeedState } from '../ports.ts'
import type { Version } from './sync-store.ts'

const POLL_MS = 250

/** Options of a changes. */
export interface FeedSource {
  version(): Version
  /** Whether the database is still where it was. */
  isInPlace(): boolean
  /** Goes on with the file that is there now; false when that is not the same database. */
  reopen(): boolean
}

/** Told of what others did: they have written or cleared, so that nothing that is kept in memory can be relied on. */
export interface ForeignChanges extends Pick<StoreListener, 'changed' | 'cleared'> {
  /** Others have begun the file anew, and it was opened again. */
  reopened(): void
  /** The file was removed, or replaced by something else. */
  lost(): void
}

/**
 * Follows the log: what this process commits is told at once, what others write to the same file within a quarter of a second.
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

  /** Looks for what others write, from now on. A database in memory has no others. */
  start(): void {
    this.#cancel = this.#clock.setTimer(() => {
      this.poll()
      this.start()
    }, POLL_MS)
  }

  /** Looks once. */
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
    // Not events but their deliveries, then.
    if (isQuiet) this.#revision++
    if (isCleared) this.#foreign.cleared()
    this.#foreign.changed()
    this.#tell()
  }

  /** Tells that this process has written. */
  committed(lastSeq: number): void {
    if (lastSeq > this.#version.lastSeq) this.#version = { ...this.#version, lastSeq }
    this.#tell()
  }

  /** Tells that this process has forgotten everything. */
  cleared(): void {
    this.#version = this.#source.version()
    this.#tell()
  }

  /** Tells that destinations have reported on events. */
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
