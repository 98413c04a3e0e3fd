import type { Clock } from '../clock.ts'
import type { EventSummary } from '../record.ts'
import type { Store } from '../store/store.ts'

/** Totals of what is recorded, and how much came in each of the last seconds. */
export interface Stats {
  accepted: number
  rejected: number
  byReason: Record<string, number>
  byType: Record<string, number>
  bySource: Record<string, number>
  /** The last minute, oldest second first; the last entry is the second that is running. */
  perSecond: Array<{ accepted: number; rejected: number }>
}

const SECONDS = 60
const MAX_NAMES = 1000

/** Keeps the totals while events arrive, so that nobody has to count the table. */
export class StatsKeeper {
  readonly #clock: Clock
  #accepted = 0
  #rejected = 0
  #byReason = new Map<string, number>()
  #byType = new Map<string, number>()
  #bySource = new Map<string, number>()
  #seconds = new Map<number, { accepted: number; rejected: number }>()

  constructor(clock: Clock, totals: ReturnType<Store['totals']>) {
    this.#clock = clock
    for (const { source, kind, reason, count } of totals) this.#count(source, kind, reason, count)
  }

  add(events: readonly EventSummary[]): void {
    const second = Math.floor(this.#clock.now() / 1000)
    const now = this.#seconds.get(second) ?? { accepted: 0, rejected: 0 }
    for (const { source, type, reason } of events) {
      this.#count(source, type, reason, 1)
      if (reason === null) now.accepted++
      else now.rejected++
    }
    this.#seconds.set(second, now)
    for (const old of this.#seconds.keys()) {
      if (old > second - SECONDS) break
      this.#seconds.delete(old)
    }
  }

  #count(source: string, kind: string | null, reason: string | null, count: number): void {
    if (reason === null) {
      this.#accepted += count
    } else {
      this.#rejected += count
      increase(this.#byReason, reason, count)
    }
    increase(this.#byType, kind ?? '', count)
    increase(this.#bySource, source, count)
  }

  clear(): void {
    this.#accepted = 0
    this.#rejected = 0
    for (const map of [this.#byReason, this.#byType, this.#bySource, this.#seconds]) map.clear()
  }

  snapshot(): Stats {
    const second = Math.floor(this.#clock.now() / 1000)
    return {
      accepted: this.#accepted,
      rejected: this.#rejected,
      byReason: Object.fromEntries(this.#byReason),
      byType: Object.fromEntries(this.#byType),
      bySource: Object.fromEntries(this.#bySource),
      perSecond: Array.from(
        { length: SECONDS },
        (_, index) => this.#seconds.get(second - SECONDS + 1 + index) ?? { accepted: 0, rejected: 0 },
      ),
    }
  }
}

function increase(counts: Map<string, number>, name: string, by: number): void {
  // Bounded: callers choose the names of sources.
  if (!counts.has(name) && counts.size >= MAX_NAMES) return
  counts.set(name, (counts.get(name) ?? 0) + by)
}
