import type { Clock } from '../../clock.ts'
import type { Feed } from '../feed.ts'
import type { SyncStore } from './sync-store.ts'

const POLL_MS = 250

/** Checks for commits of other processes to the same file. */
export class Follower {
  readonly #store: Pick<SyncStore, 'version' | 'isSameFile'>
  readonly #feed: Feed
  readonly #clock: Clock
  readonly #onLost: () => void
  readonly #onFailed: (cause: unknown) => void
  #dataVersion: number
  #cancel = () => {}

  /** @param onLost Called when the file was removed or replaced. */
  constructor(
    store: Pick<SyncStore, 'version' | 'isSameFile'>,
    feed: Feed,
    clock: Clock,
    onLost: () => void,
    onFailed: (cause: unknown) => void,
  ) {
    this.#store = store
    this.#feed = feed
    this.#clock = clock
    this.#onLost = onLost
    this.#onFailed = onFailed
    this.#dataVersion = store.version().data
  }

  start(): void {
    this.#cancel = this.#clock.setTimer(() => {
      if (!this.#store.isSameFile()) return this.#onLost()
      try {
        this.#poll()
      } catch (cause) {
        this.#onFailed(cause)
      }
      this.start()
    }, POLL_MS)
  }

  #poll(): void {
    const { data, lastSeq, epoch } = this.#store.version()
    if (data === this.#dataVersion) return
    this.#dataVersion = data
    // The other process may have stored results of deliveries, also beside new events.
    this.#feed.changedElsewhere({ lastSeq, epoch, revision: this.#feed.state().revision + 1 })
  }

  close(): void {
    this.#cancel()
  }
}
