import type { Clock } from '../../clock.ts'
import type { Feed } from '../feed.ts'
import type { SyncStore } from './sync-store.ts'

const POLL_MS = 250

export interface FileListener {
  /** Another process has replaced the file to clear it, and this process has opened the new one. */
  reopened(): void
  /** The file was removed, or replaced by a file that is not the same database. */
  lost(): void
}

/** Checks for commits of other processes to the same file. */
export class Follower {
  readonly #store: Pick<SyncStore, 'version' | 'isSameFile' | 'reopen'>
  readonly #feed: Feed
  readonly #clock: Clock
  readonly #listener: FileListener
  #dataVersion: number
  #isLost = false
  #cancel = () => {}

  constructor(
    store: Pick<SyncStore, 'version' | 'isSameFile' | 'reopen'>,
    feed: Feed,
    clock: Clock,
    listener: FileListener,
  ) {
    this.#store = store
    this.#feed = feed
    this.#clock = clock
    this.#listener = listener
    this.#dataVersion = store.version().data
  }

  start(): void {
    this.#cancel = this.#clock.setTimer(() => {
      this.#poll()
      this.start()
    }, POLL_MS)
  }

  #poll(): void {
    if (!this.#store.isSameFile()) {
      if (!this.#store.reopen()) {
        if (!this.#isLost) this.#listener.lost()
        this.#isLost = true
        return
      }
      this.#isLost = false
      this.#listener.reopened()
    }
    const { data, lastSeq, epoch } = this.#store.version()
    if (data === this.#dataVersion) return
    this.#dataVersion = data
    const known = this.#feed.state()
    // Without new events and without a clear, the other process has probably stored results of deliveries.
    const isQuiet = lastSeq === known.lastSeq && epoch === known.epoch
    this.#feed.changedElsewhere({ lastSeq, epoch, revision: known.revision + (isQuiet ? 1 : 0) })
  }

  close(): void {
    this.#cancel()
  }
}
