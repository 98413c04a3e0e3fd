import type { Clock } from '../clock.ts'
import type { EventSummary } from '../record.ts'
import type { NewRequest } from '../store/ports.ts'
import type { Total } from '../store/sqlite/store.ts'

/** Totals of what is recorded, and how much came in each of the last seconds. */
export interface Stats {
  accepted: number
  rejected: number
  byReason: Record<string, number>
  byType: Record<string, number>
  bySource: Record<string, number>
  /** The last minute, oldest second first; the last entry is the second that is running. */
  perSecond: Array<{ accepted: number; rejected: number }>
  /** Requests that are kept, and how many of them were refused. */
  requests: number
  refused: number
}

/** Where the totals are kept for good. */
export interface StatsSource {
  totals(): Total[]
  requestTotals(): { requests: number; refused: number }
}

const SECONDS = 60
const MAX_NAMES = 1000

/** Keeps the totals while events arrive, so that nobody has to count. */
export class StatsKeeper {
  readonly #clock: Clock
  readonly #source: StatsSource
  #accepted = 0
  #rejected = 0
  #requests = 0
  #refused = 0
  #byReason = new Map<string, number>()
  #byType = new Map<string, number>()
  #bySource = new Map<string, number>()
  #seconds = new Map<number, { accepted: number; rejected: number }>()
  #isStale = false

  constructor(clock: Clock, source: StatsSource) {
    this.#clock = clock
    this.#source = source
    this.#load()
  }

  /** Takes the totals from the database anew; what others have brought counts as come in this second. */
  reload(): void {
    const { accepted, rejected } = { accepted: this.#accepted, rejected: this.#rejected }
    this.#load()
    this.#countSecond(Math.max(0, this.#accepted - accepted), Math.max(0, this.#rejected - rejected))
  }

  /** Something was deleted: the totals are taken from the database when they are next asked for. */
  outdated(): void {
    this.#isStale = true
  }

  #load(): void {
    this.#isStale = false
    this.#accepted = 0
    this.#rejected = 0
    for (const map of [this.#byReason, this.#byType, this.#bySource]) map.clear()
    for (const { source, kind, reason, count } of this.#source.totals())
      this.#count(source, kind, reason, count)
    const { requests, refused } = this.#source.requestTotals()
    this.#requests = requests
    this.#refused = refused
  }

  add(events: readonly EventSummary[], requests: readonly NewRequest[]): void {
    let accepted = 0
    for (const { source, type, reason } of events) {
      this.#count(source, type ?? '', reason ?? '', 1)
      if (reason === null) accepted++
    }
    this.#countSecond(accepted, events.length - accepted)
    this.#requests += requests.length
    for (const { status } of requests) if (status >= 400) this.#refused++
  }

  #countSecond(accepted: number, rejected: number): void {
    const second = Math.floor(this.#clock.now() / 1000)
    const now = this.#seconds.get(second) ?? { accepted: 0, rejected: 0 }
    now.accepted += accepted
    now.rejected += rejected
    this.#seconds.set(second, now)
    for (const old of this.#seconds.keys()) {
      if (old > second - SECONDS) break
      this.#seconds.delete(old)
    }
  }

  #count(source: string, kind: string, reason: string, count: number): void {
    if (reason === '') {
      this.#accepted += count
    } else {
      this.#rejected += count
      increase(this.#byReason, reason, count)
    }
    increase(this.#byType, kind, count)
    increase(this.#bySource, source, count)
  }

  clear(): void {
    this.#load()
    this.#seconds.clear()
  }

  /** @param sources So many sources at most, the busiest ones. */
  snapshot(sources = MAX_NAMES): Stats {
    if (this.#isStale) this.#load()
    const second = Math.floor(this.#clock.now() / 1000)
    return {
      accepted: this.#accepted,
      rejected: this.#rejected,
      byReason: Object.fromEntries(this.#byReason),
      byType: Object.fromEntries(this.#byType),
      bySource: largest(this.#bySource, sources),
      perSecond: Array.from(
        { length: SECONDS },
        (_, index) => this.#seconds.get(second - SECONDS + 1 + index) ?? { accepted: 0, rejected: 0 },
      ),
      requests: this.#requests,
      refused: this.#refused,
    }
  }
}

function largest(counts: ReadonlyMap<string, number>, limit: number): Record<string, number> {
  const entries = [...counts]
  if (entries.length > limit) entries.sort(([, a], [, b]) => b - a)
  return Object.fromEntries(entries.slice(0, limit))
}

function increase(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by
  if (count === 0) counts.delete(name)
  // Bounded: callers choose the names of sources.
  else if (counts.has(name) || counts.size < MAX_NAMES) counts.set(name, count)
}
