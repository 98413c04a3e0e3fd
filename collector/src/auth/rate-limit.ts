import type { Clock } from '../clock.ts'

const WINDOW_MS = 1000
const MAX_SOURCES = 10_000

/**
 * Limits the requests of each source in a sliding window: no interval of one second has more requests than the rate allows, and the
 * returned wait is exact.
 */
export class RateLimit {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #times = new Map<string, number[]>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Counts one request. Returns undefined if the rate allows it; otherwise the milliseconds until the rate allows one. */
  take(source: string, requestsPerSecond: number): number | undefined {
    const nowMs = this.#clock.monotonic()
    const before = this.#times.get(source) ?? []
    const times = before.filter((timeMs) => timeMs > nowMs - WINDOW_MS)
    if (before.length === 0 && this.#times.size >= MAX_SOURCES) this.#times.clear()
    this.#times.set(source, times)
    if (times.length >= requestsPerSecond) return (times[0] as number) + WINDOW_MS - nowMs
    times.push(nowMs)
    return undefined
  }
}
