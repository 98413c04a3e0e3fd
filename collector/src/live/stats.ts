import type { Clock } from '../clock.ts'
import type { EventSummary } from '../record.ts'
import type { Totals } from '../store/event-store.ts'
import type { NewRequest } from '../store/ports.ts'
import { StoreUnavailableError } from '../store/unavailable.ts'

/** Counts of the stored records, and the number of events in each second of the last minute. */
export interface Stats {
  accepted: number
  rejected: number
  byReason: Record<string, number>
  byType: Record<string, number>
  bySource: Record<string, number>
  /** The last minute, beginning with the oldest second. The last entry is the current second. */
  perSecond: Array<{ accepted: number; rejected: number }>
  /** Number of stored requests. `refused` is the number of those that were refused. */
  requests: number
  refused: number
}

const SECONDS = 60
const MAX_NAMES = 1000
/** Shortest time between two reads of the counts. */
const REST_MS = 250

/** Keeps the counts up to date while events arrive, so that no query has to count. */
export class StatsKeeper {
  readonly #clock: Clock
  readonly #readTotals: () => Promise<Totals>
  readonly #onFault: (what: string, cause: unknown) => void
  #accepted = 0
  #rejected = 0
  #requests = 0
  #refused = 0
  #byReason = new Map<string, number>()
  #byType = new Map<string, number>()
  #bySource = new Map<string, number>()
  #seconds = new Map<number, { accepted: number; rejected: number }>()
  /**
   * Increases with every change that this process makes. If it increased during a read of the counts, the result may lack that
   * change.
   */
  #version = 0
  #isLoaded = false
  #isStale = false
  #isBusy = false

  constructor(
    clock: Clock,
    readTotals: () => Promise<Totals>,
    onFault: (what: string, cause: unknown) => void,
  ) {
    this.#clock = clock
    this.#readTotals = readTotals
    this.#onFault = onFault
  }

  /** If the store is not available yet, the counts are loaded when the store reports a change. */
  async load(): Promise<void> {
    try {
      this.#replace(await this.#readTotals())
    } catch (cause) {
      if (!(cause instanceof StoreUnavailableError)) throw cause
    }
  }

  /** Reads the counts from the store again soon. Events of other processes count as received in the current second. */
  outdated(): void {
    this.#isStale = true
    if (!this.#isBusy) void this.#refresh()
  }

  async #refresh(): Promise<void> {
    this.#isBusy = true
    this.#isStale = false
    try {
      const version = this.#version
      const totals = await this.#readTotals()
      const [accepted, rejected, wasLoaded] = [this.#accepted, this.#rejected, this.#isLoaded]
      this.#replace(totals)
      // The first read includes events of any age, so they are not counted in the current second.
      if (wasLoaded) {
        this.#countSecond(Math.max(0, this.#accepted - accepted), Math.max(0, this.#rejected - rejected))
      }
      // Events were recorded during the read, and the result may or may not include them.
      if (version !== this.#version) this.#isStale = true
    } catch (cause) {
      this.#onFault('the totals could not be read', cause)
    }
    this.#clock.setTimer(() => {
      this.#isBusy = false
      if (this.#isStale) this.outdated()
    }, REST_MS)
  }

  #replace({ events, requests, refused }: Totals): void {
    this.#isLoaded = true
    this.#forget()
    for (const { source, kind, reason, count } of events) this.#count(source, kind, reason, count)
    this.#requests = requests
    this.#refused = refused
  }

  #forget(): void {
    this.#accepted = 0
    this.#rejected = 0
    this.#requests = 0
    this.#refused = 0
    for (const map of [this.#byReason, this.#byType, this.#bySource]) map.clear()
  }

  add(events: readonly EventSummary[], requests: readonly NewRequest[]): void {
    this.#version++
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

  /** Must be called when all events were deleted. */
  clear(): void {
    this.#version++
    this.#forget()
    this.#seconds.clear()
  }

  /** @param sources Maximum number of sources. Those with the most events are listed. */
  snapshot(sources = MAX_NAMES): Stats {
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
  // Limited, because callers choose the names of sources.
  else if (counts.has(name) || counts.size < MAX_NAMES) counts.set(name, count)
}
