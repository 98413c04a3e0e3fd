import type { Clock } from '../../clock.ts'
import type { Feed } from '../feed.ts'
import type { SyncStore } from './sync-store.ts'

const POLL_MS = 250

/** Who hears that the file is another one. */
export interface FileListener {
  /** Another process has started the file over, and it was opened again. */
  reopened(): void
  /** The file was removed, or replaced by something else. */
  lost(): void
}

/** Looks every quarter of a second for commits of other processes on the same file. */
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

  /** Checks from now on. */
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
    // Without new events or a clear, the write was about deliveries.
    const isQuiet = lastSeq === known.lastSeq && epoch === known.epoch
    this.#feed.changedElsewhere({ lastSeq, epoch, revision: known.revision + (isQuiet ? 1 : 0) })
  }

  close(): void {
    this.#cancel()
  }
}
