import type { Clock } from '../../clock.ts'
import { cursorOf } from '../cursor.ts'
import type { EventTail, TailNews } from '../ports.ts'
import type { Version } from './sync-store.ts'

const POLL_MS = 250

/** Options of a tail. */
export interface TailSource {
  version(): Version
  /** Whether the database is still where it was. */
  isInPlace(): boolean
  /** Goes on with the file that is there now; false when that is not the same database. */
  reopen(): boolean
}

/** Told of what others did. */
export interface ForeignNews {
  /** Others have written to the file: nothing that is kept in memory can be relied on. */
  changed(): void
  /** Others have cleared it. */
  cleared(): void
  /** Others have begun the file anew, and it was opened again. */
  reopened(): void
  /** The file was removed, or replaced by something else. */
  lost(): void
}

/**
 * Follows the log: what this process commits is told at once, what others write to the same file within a quarter of a second.
 */
export class Tail implements EventTail {
  readonly #source: TailSource
  readonly #clock: Clock
  readonly #foreign: ForeignNews
  readonly #subscribers = new Set<(news: TailNews) => void>()
  #version: Version
  #revision = 0
  #isLost = false
  #cancel = () => {}

  constructor(source: TailSource, clock: Clock, foreign: ForeignNews) {
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

  subscribe(onNews: (news: TailNews) => void): () => void {
    this.#subscribers.add(onNews)
    return () => this.#subscribers.delete(onNews)
  }

  news(): TailNews {
    const { lastSeq, epoch } = this.#version
    return { head: cursorOf(lastSeq), lastSeq, epoch, revision: this.#revision }
  }

  #tell(): void {
    const news = this.news()
    for (const onNews of this.#subscribers) onNews(news)
  }

  close(): void {
    this.#cancel()
    this.#subscribers.clear()
  }
}
