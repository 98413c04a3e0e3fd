import type { Clock } from '../clock.ts'
import type { EventStatus } from '../record.ts'
import type { Written } from '../store/commit.ts'
import { statusOf } from '../store/summary.ts'
import type { Totals } from '../store/totals.ts'

/** Counts of the stored records, and the number of events in each second of the last minute. */
export interface Stats {
  accepted: number
  /** Without `repeated`. */
  rejected: number
  /** Events that were stored before, with the same content. */
  repeated: number
  byReason: Record<string, number>
  byType: Record<string, number>
  bySource: Record<string, number>
  /** The last minute, beginning with the oldest second. The last entry is the current second. */
  perSecond: Second[]
  /** Number of stored requests. `refused` is the number of those that were refused. */
  requests: number
  refused: number
}

export type Second = Record<EventStatus, number>

const SECONDS = 60
const MAX_NAMES = 1000

export class StatsKeeper {
  readonly #clock: Pick<Clock, 'now'>
  readonly #totals: Totals
  readonly #seconds = new Map<number, Second>()

  constructor(clock: Pick<Clock, 'now'>, totals: Totals) {
    this.#clock = clock
    this.#totals = totals
  }

  committed(events: readonly Written[]): void {
    const second = Math.floor(this.#clock.now() / 1000)
    const now = this.#at(second)
    for (const { reason } of events) now[statusOf(reason)]++
    this.#seconds.set(second, now)
    for (const old of this.#seconds.keys()) {
      if (old > second - SECONDS) break
      this.#seconds.delete(old)
    }
  }

  #at(second: number): Second {
    return this.#seconds.get(second) ?? { accepted: 0, rejected: 0, repeated: 0 }
  }

  /** Must be called when all events were deleted. */
  clear(): void {
    this.#seconds.clear()
  }

  /** @param sources Maximum number of sources. Those with the most events are listed. */
  snapshot(sources = MAX_NAMES): Stats {
    const { accepted, rejected, repeated, requests, refused, byReason, byType, bySource } = this.#totals
    const second = Math.floor(this.#clock.now() / 1000)
    return {
      accepted,
      rejected,
      repeated,
      byReason: Object.fromEntries(byReason),
      byType: Object.fromEntries(byType),
      bySource: largest(bySource, sources),
      perSecond: Array.from({ length: SECONDS }, (_, index) => this.#at(second - SECONDS + 1 + index)),
      requests,
      refused,
    }
  }
}

function largest(counts: ReadonlyMap<string, number>, limit: number): Record<string, number> {
  const entries = [...counts]
  if (entries.length > limit) entries.sort(([, a], [, b]) => b - a)
  return Object.fromEntries(entries.slice(0, limit))
}
