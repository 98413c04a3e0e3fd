import type { Backlog } from '../delivery/backlog.ts'
import { soon } from '../runtime/clock.ts'
import type { Entry } from './entry.ts'

/** Events inside asynchronous plugins: each holds as many bytes of the backlog as it is expected to need. */
export class Reservations {
  readonly #backlog: Backlog<Entry>
  readonly #bytes = new Map<Entry, number>()
  readonly #waiting = new Set<{ readonly entries: Set<Entry>; readonly resolve: () => void }>()

  constructor(backlog: Backlog<Entry>) {
    this.#backlog = backlog
  }

  get size(): number {
    return this.#bytes.size
  }

  has(entry: Entry): boolean {
    return this.#bytes.has(entry)
  }

  add(entry: Entry, bytes: number): void {
    this.#bytes.set(entry, bytes)
    this.#backlog.reserve(bytes)
  }

  /** Does nothing for an event that has none. */
  end(entry: Entry): void {
    const bytes = this.#bytes.get(entry)
    if (bytes === undefined) return
    this.#bytes.delete(entry)
    this.#backlog.unreserve(bytes)
    for (const one of this.#waiting) {
      one.entries.delete(entry)
      if (one.entries.size > 0) continue
      this.#waiting.delete(one)
      // Where it goes next, it goes in this very turn.
      soon(one.resolve)
    }
  }

  /** Ends all, and returns whose they were. */
  endAll(): Entry[] {
    const entries = [...this.#bytes.keys()]
    for (const entry of entries) this.end(entry)
    return entries
  }

  /** Resolves when those that there are now have ended. */
  ended(): Promise<void> {
    if (this.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.add({ entries: new Set(this.#bytes.keys()), resolve }))
  }
}
